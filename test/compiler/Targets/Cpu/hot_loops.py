#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at the machine code of the loops that most time is spent in.

    hot_loops.py TENON LLVM-OBJDUMP TEST-MODELS

Compiles models for each CPU level and reads every function that computes a
tile of sums: matmul_tile_8x48, amx_tile_2x3, conv_tile_14x16of16...,
depthwise_tile_14x16of32..., attention_scores_8x32.
Each of its innermost loops with multiply-adds must hold all of its sums in
registers: a multiply-add for each vector of sums and step, no vector that comes
from or goes to the stack, and nothing stored.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

TILE = re.compile(r"(matmul|amx|conv|depthwise|attention|quantized)_(tile|few|stream|scores|values)\D*?[._]?"
                  r"(?:x86-64-v\d_)?(\d+)x(\d+)(?!\d*x)")
# What each model must have, so that a new name does not pass unseen: the
# largest tile of a schedule on each level.
EXPECTED = {
    ("bert_ts17", "fp32"): {  # PackedMatmul, Attention
        "x86-64-v3": ["matmul_tile_6x16", "matmul_stream_6x16",
                      "matmul_stream_1x48", "attention_scores", "attention_values"],
        "x86-64-v4": ["matmul_tile_8x48", "matmul_few_8x48",
                      "matmul_stream_8x48",
                      "attention_scores", "attention_values"],
    },
    ("bert_ts17", "bf16"): {  # Pairs, and where those are widened
        "x86-64-v3": ["matmul_tile_4x16_widened", "matmul_stream_4x16_widened",
                      "matmul_stream_1x48_widened"],
        "x86-64-v4": ["matmul_tile_6x48_widened", "matmul_stream_6x48_widened",
                      "matmul_tile_8x48_widened_kept"],
        "x86-64-v4-bf16": ["matmul_tile_8x48_pairs", "matmul_stream_8x48_pairs"],
        # In registers of 16 rows and 16 columns.
        "x86-64-v4-amx": ["amx_tile_2x3_pairs", "amx_stream_2x3_pairs",
                          "amx_stream_1x3_pairs"],
    },
    ("bert_ts17", "fp16"): {  # Widened as it is loaded, or before
        "x86-64-v3": ["matmul_tile_6x16_f16", "matmul_stream_6x16_f16",
                      "matmul_tile_6x16_f16_kept", "matmul_tile_6x16.x86-64-v3"],
        "x86-64-v4": ["matmul_tile_8x48_f16", "matmul_few_8x48_f16",
                      "matmul_stream_8x48_f16", "matmul_tile_8x48_f16_kept",
                      "matmul_tile_8x48.x86-64-v4"],
        "x86-64-v4-fp16": ["matmul_tile_8x48_f16_pairs"], # Added up in f16
    },
    ("bert_int8dynamic", "fp32"): {  # PackedMatmulInt8
        "x86-64-v3": ["matmul_tile_6x16_words"],
        "x86-64-v4": ["matmul_tile_8x48_words"],
        "x86-64-v3-vnni": ["matmul_tile_6x16_quads", "matmul_stream_6x16_quads"],
        "x86-64-v4-vnni": ["matmul_tile_8x48_quads", "matmul_stream_8x48_quads"],
        "x86-64-v4-amx": ["amx_tile_2x3_quads", "amx_stream_2x3_quads"],
    },
    ("bert_ts17", "int4-weights"): {  # QuantizedRow
        "x86-64-v3": ["quantized_tile_1x48_whole"],
    },
    ("resnet_ts17", "fp32"): {  # DirectConv, PackedConv
        "x86-64-v3": ["conv_tile_6x16of16", "conv_tile_6x16of32"],
        "x86-64-v4": ["conv_tile_14x16of16", "conv_tile_12x32of32"],
    },
    ("convnext_ts17", "fp32"): {  # DepthwiseTiles
        "x86-64-v3": ["depthwise_tile_6x8of32_taps7"],
        "x86-64-v4": ["depthwise_tile_8x16of32_taps7"],
    },
    # GroupTiles. With AVX2 LLVM spills some of ten sums beside three taps; tiles of
    # eight have none of that, and take a fifth longer for lines of 28 pixels.
    **{(f"groups_of_{members}", "fp32"): {
        "x86-64-v4": [f"depthwise_tile_14x16of32_members{members}_taps3"],
    } for members in (4, 8, 16)},
    ("batched", "fp32"): {  # BatchedMatmul, of two inputs
        "x86-64-v3": ["matmul_tile_6x16"],
        "x86-64-v4": ["matmul_tile_8x48"],
    },
    ("lines", "bf16"): {  # LineConv, whose tiles at borders leave out products
        "x86-64-v4-bf16": [f"conv_tile_14x32of48_at32_run96_3x1824_{taps}pairs_counted"
                           for taps in ("", "reach3ffe_reach3fff_reach3fff_",
                                        "reach3fff_reach3fff_reach1fff_")],
        # Winograd's tiles, of what other levels widen.
        "x86-64-v3,x86-64-v4-bf16": ["conv_tile_6x16of48_at64_run64"],
        "x86-64-v4,x86-64-v4-bf16": ["conv_tile_8x32of48_at64_run64"],
        # One level alone that has no products of bf16 leaves convolutions in f32.
        "x86-64-v4-fp16,x86-64-v4-bf16": [
            "conv_tile_14x32of48_at32_run96_3x1824_f16_pairs_counted"],
    },
    ("image", "fp32"): {  # Whose neighbouring pixels share elements of their windows
        "x86-64-v3": ["conv_tile_6x16of32_at3_run9"],
        "x86-64-v4": ["conv_tile_12x32of32_at3_run9"],
    },
    ("small", "bf16"): {  # LineConv, whose filter is widened tap by tap
        "x86-64-v3,x86-64-v4-bf16": [
            "conv_tile_6x16of48_at512_run1536_from1of7_4096_reach3f_reach3f_reach1f_more"],
    },
}
# A pointer or a stride may come from the stack once a loop: x86 has 16
# registers for them, and a load has room beside a tile's multiply-adds.
MAX_RELOADS = 1


class Instruction:
    def __init__(self, address, name, operands):
        self.address, self.name = address, name
        self.operands = [o.strip() for o in re.split(r",(?![^\[]*\])", operands)]

    def is_multiply_add(self):
        # Products of words, or of quads that are widened in registers, are added
        # by the second instruction.
        return self.name in ("vdpbf16ps", "vpdpbusd", "tdpbf16ps", "tdpbusd", "vpaddd") or (
            self.name.startswith("vfmadd") and self.name.endswith(("ps", "ph")))

    def is_vector(self):
        return any(re.match(r"[xyzt]mm\d", o) for o in self.operands)

    def uses_stack(self, frame_pointer):
        base = "r[sb]p" if frame_pointer else "rsp"
        return any(re.search(rf"\[{base}\b", o) for o in self.operands)

    def stores(self):
        reads = self.name.startswith(("prefetch", "cmp", "test", "vcomi", "vucomi"))
        return self.operands[0].endswith("]") and not reads

    def target(self):
        found = re.match(r"0x([0-9a-f]+)", self.operands[0])
        return int(found[1], 16) if self.name.startswith("j") and found else None


def functions(listing):
    """Instructions by function of a listing in Intel's syntax."""
    found, code = {}, None
    for line in listing.splitlines():
        if start := re.match(r"[0-9a-f]+ <(.+)>:", line):
            code = found.setdefault(start[1], [])
        elif code is not None and (
            parts := re.match(r" *([0-9a-f]+):\s+(?:\{vex\}\s)?(\S+)\s*(.*?)(?:\s*[#<].*)?$", line)
        ):
            code.append(Instruction(int(parts[1], 16), parts[2], parts[3]))
    return found


def innermost_loops(code):
    """Of those that do not only fetch: others may hold one that does."""
    positions = {instruction.address: i for i, instruction in enumerate(code)}
    loops = set()
    for i, instruction in enumerate(code):
        first = positions.get(instruction.target())
        if first is None or first > i:
            continue
        loop = code[first : i + 1]
        if any(j.is_multiply_add() for j in loop) or not any(
            j.name.startswith("prefetch") for j in loop
        ):
            loops.add((first, i))
    for first, last in sorted(loops):
        if not any(
            (first, last) != (f, l) and first <= f and l <= last for f, l in loops
        ):
            yield code[first : last + 1]


def complaints(name, code, lanes):
    """What is wrong with the loops of a function that computes a tile."""
    height, width = map(int, TILE.search(name).groups()[2:])
    vectors = width if name.startswith("amx") else -(-width // lanes)
    # Loops of taps that some pixels of a tile do not have.
    reached = {height} | {int(pixels, 16).bit_count() or height
                          for pixels in re.findall(r"_reach([0-9a-f]+)", name)}
    frame_pointer = any(
        i.name == "mov" and i.operands == ["rbp", "rsp"] for i in code
    )
    steps = []
    for loop in innermost_loops(code):
        multiply_adds = [i for i in loop if i.is_multiply_add()]
        if not multiply_adds:
            continue
        registers = len({i.operands[0] for i in multiply_adds})
        sums = vectors * max((pixels for pixels in reached
                              if len(multiply_adds) % (pixels * vectors) == 0
                              and registers >= pixels * vectors),
                             default=height)
        # Near borders, some sums of a depthwise tile have fewer taps.
        if len(multiply_adds) % sums and not name.startswith("depthwise"):
            yield f"{len(multiply_adds)} multiply-adds for {sums} vectors of sums"
        steps.append(len(multiply_adds) // sums)
        if registers < sums:
            yield f"{sums} vectors of sums share registers"
        # The whole numbers that a row is made of lie there, and nothing else.
        own = "vpbroadcastd" if "_whole" in name else None
        stack = [i for i in loop if i.uses_stack(frame_pointer) and i.name != own]
        if any(i.is_vector() for i in stack):
            yield "vectors are spilled"
        elif len(stack) > MAX_RELOADS:
            yield f"{len(stack)} pointers are spilled"
        # The first of many tiles stores what it widened for the others.
        widened = steps[-1] * -(-width // lanes) if "_kept" in name else 0
        if sum(i.stores() for i in loop) > widened:
            yield "sums are stored"
    if not steps:
        yield "no loop of multiply-adds"


def check(listing, level, expected):
    """Problems of a listing; every expected name must occur."""
    tiles = {n: c for n, c in functions(listing).items() if TILE.search(n)}
    for wanted in expected:
        if not any(name.startswith(wanted) for name in tiles):
            yield f"there is no function {wanted}"
    for name, code in tiles.items():
        for complaint in complaints(name, code, 8 if "x86-64-v3" in level else 16):
            yield f"{name}: {complaint}"


GOOD = """
0000000000000000 <matmul_tile_2x16.x86-64-v4>:
       0:      \tvxorps\txmm0, xmm0, xmm0
       4:      \tvmovups\tzmm2, zmmword ptr [rsi]
       8:      \tvfmadd231ps\tzmm0, zmm2, dword ptr [rdi]{1to16}
       c:      \tvfmadd231ps\tzmm1, zmm2, dword ptr [rdi + 0x40]{1to16}
      10:      \tadd\trdi, qword ptr [rsp + 0x8]
      14:      \tjne\t0x4 <matmul_tile_2x16.x86-64-v4+0x4>
      18:      \tvmovups\tzmmword ptr [rdx], zmm0
      1c:      \tret
"""


def planted_failures():
    """The check must accept GOOD and refuse each of its damaged forms."""
    one = "vfmadd231ps\tzmm1, zmm2, dword ptr [rdi + 0x40]{1to16}"
    damage = {
        "vectors are spilled": [("[rsi]", "[rsp + 0x40]")],
        "pointers are spilled": [(one, one + "\n      e:\tmov\trax, qword ptr [rsp]")],
        "sums are stored": [("add\trdi, qword ptr [rsp + 0x8]",
                             "vmovups\tzmmword ptr [rcx], zmm0")],
        "1 multiply-adds for 2": [(one, "nop")],
        "share registers": [(one, one.replace("zmm1", "zmm0"))],
        "no loop": [("jne\t0x4", "jne\t0x18")],
        "there is no function": [("matmul_tile_2x16", "product_2x16")],
    }
    if problems := list(check(GOOD, "x86-64-v4", ["matmul_tile_2x16"])):
        yield f"a good loop is refused: {problems}"
    for sentence, changes in damage.items():
        bad = GOOD
        for before, after in changes:
            bad = bad.replace(before, after)
        problems = list(check(bad, "x86-64-v4", ["matmul_tile_2x16"]))
        if not any(sentence in problem for problem in problems):
            yield f"a planted failure, '{sentence}', is not seen: {problems}"


def write_model(path, node, inputs, result, weights=()):
    def tensor(name, dims):
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = onnx.helper.make_graph(
        [node], "one_node", [tensor(*value) for value in inputs], [tensor(*result)],
        initializer=weights)
    opsets = [onnx.helper.make_opsetid("", 20)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.save(model, path)


def write_batched(path):
    """[b, m, 768] x [b, 768, n]"""
    write_model(path, onnx.helper.make_node("MatMul", ["x", "y"], ["z"]),
                [("x", ["b", "m", 768]), ("y", ["b", 768, "n"])], ("z", ["b", "m", "n"]))


def write_conv(path, channels, side, groups=1):
    """3x3 taps with a border around images of so many pixels."""
    shape = (64, channels // groups, 3, 3)
    filters = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, group=groups)
    write_model(path, node, [("x", ["n", channels, side, side])],
                ("y", ["n", 64, side, side]), [onnx.numpy_helper.from_array(filters, "w")])


WRITTEN = {
    "batched": write_batched,
    "lines": lambda path: write_conv(path, 64, 56),
    "small": lambda path: write_conv(path, 512, 7),
    "image": lambda path: write_conv(path, 3, 224),
    **{f"groups_of_{members}": lambda path, members=members:
       write_conv(path, 64, 70, groups=64 // members) for members in (4, 8, 16)},
}


def main():
    tenon, objdump, models = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    problems = list(planted_failures())
    with tempfile.TemporaryDirectory() as folder:
        for (model, precision), levels in EXPECTED.items():
            source = models / model / "model.onnx"
            if model in WRITTEN:
                source = pathlib.Path(folder) / "model.onnx"
                WRITTEN[model](source)
            for level, expected in levels.items():
                target = pathlib.Path(folder) / "a.o"
                subprocess.run(
                    [tenon, "compile", source, "--cpu", level, "--precision", precision,
                     "--emit=object", "-o", target], check=True)
                listing = subprocess.run(
                    [objdump, "-d", "--no-show-raw-insn",
                     "--x86-asm-syntax=intel", target],
                    check=True, capture_output=True, text=True).stdout
                problems += [f"{model} for {level}: {problem}"
                             for problem in check(listing, level, expected)]
    print("\n".join(problems) or "hot loops ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
