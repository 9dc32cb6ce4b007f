# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ptxas made of asynchronous matrix products (sm_90a).

The assembler may move waits, and has reused registers that a product in
flight still reads; neither shows in PTX, so the machine code is read.
"""

PRODUCTS = {"HGMMA", "IGMMA", "QGMMA"}
A_FROM_REGISTERS = 6
A_REGISTERS = 4
WRITES_NO_REGISTER = {
    *"NOP BRA EXIT BAR STG STS STL ST STSM UTMALDG UTMASTG WARPGROUP".split(),
    *"0x148 0x141 0x145 0x00c 0x00b 0x1b2 0x15d".split(),
}


def is_wait(instruction):
    return instruction.name == "WARPGROUP" and instruction.low >> 47 & 1


def still_running(instruction):
    """How many groups a wait leaves in flight."""
    return instruction.high >> 8 & 7


def structure(instructions):
    """Products, special functions and waits in their order, as text:

    "8 products | wait 1 | 66 mufu | wait 0"
    """
    steps, products, mufu = [], 0, 0

    def flush():
        counts = [(products, "products"), (mufu, "mufu")]
        text = ", ".join(f"{count} {what}" for count, what in counts if count)
        if text:
            steps.append(text)

    for instruction in instructions:
        products += instruction.name in PRODUCTS
        mufu += instruction.name == "MUFU"
        if is_wait(instruction):
            flush()
            products = mufu = 0
            steps.append(f"wait {still_running(instruction)}")
    flush()
    return " | ".join(steps)


def hazards(instructions):
    """(index, register) of writes to what a product in flight reads."""
    found, groups, current = [], [], set()
    for index, instruction in enumerate(instructions):
        if instruction.name in PRODUCTS:
            if instruction.form == A_FROM_REGISTERS:
                first = instruction.first
                current |= set(range(first, first + A_REGISTERS))
        elif is_wait(instruction):
            groups.append(current)
            current = set()
            kept = still_running(instruction)
            groups = groups[len(groups) - kept :] if kept else []
        elif instruction.name not in WRITES_NO_REGISTER:
            if instruction.target in current.union(*groups):
                found.append((index, instruction.target))
    return found
