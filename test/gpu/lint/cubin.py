# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the instructions of a cubin, as far as a lint needs them.

Machine code since sm_70 is words of 128 bits. The low nine bits name the
instruction; what else is read here was found by assembling small kernels for
sm_80, 90, 100 and 120 and comparing the words. No disassembler is needed.
"""

import collections
import struct

NAMES = {
    0x002: "MOV",
    0x010: "IADD3",
    0x011: "LEA",
    0x012: "LOP3",
    0x019: "SHF",
    0x020: "FMUL",
    0x021: "FADD",
    0x023: "FFMA",
    0x024: "IMAD",
    0x025: "IMAD.WIDE",
    0x037: "IMMA",
    0x03B: "LDSM",
    0x03C: "HMMA",
    0x03E: "F2FP",
    0x03F: "DMMA",
    0x044: "STSM",
    0x07A: "QMMA",
    0x108: "MUFU",
    0x118: "NOP",
    0x119: "S2R",
    0x11A: "DEPBAR",
    0x11D: "BAR",
    0x147: "BRA",
    0x14D: "EXIT",
    0x180: "LD",
    0x181: "LDG",
    0x182: "LDC",
    0x183: "LDL",
    0x184: "LDS",
    0x185: "ST",
    0x186: "STG",
    0x187: "STL",
    0x188: "STS",
    0x18E: "RED",
    0x1A6: "RED",
    0x1A8: "ATOMG",
    0x1A9: "ATOMG.CAS",
    0x1AE: "LDGSTS",
    0x1AF: "LDGDEPBAR",
    0x1B4: "UTMALDG",
    0x1B5: "UTMASTG",
    0x1C5: "WARPGROUP",
    0x1F0: "HGMMA",
    0x1F1: "IGMMA",
    0x1F3: "QGMMA",
}
TENSOR = {"HMMA", "IMMA", "DMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA"}
LOCAL = {"LDL", "STL"}
WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)  # Bytes, by the size field of a memory op.
NO_REGISTER = 255


class Instruction:
    """One word of machine code."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.number = low & 0x1FF
        self.name = NAMES.get(self.number, f"0x{self.number:03x}")

    @property
    def form(self):
        """Where the operands come from; 6: the first from registers."""
        return self.low >> 9 & 7

    @property
    def target(self):
        return self.low >> 16 & 0xFF

    @property
    def first(self):
        return self.low >> 24 & 0xFF

    @property
    def width(self):
        """Bytes per thread; of memory instructions alone."""
        return WIDTHS[self.high >> 9 & 7]


class NotACubin(Exception):
    pass


def sections(image):
    """Name and bytes of each ELF section."""
    if image[:4] != b"\x7fELF" or len(image) < 64:
        raise NotACubin("this is no ELF file")
    try:
        (table,) = struct.unpack_from("<Q", image, 40)
        size, count, names = struct.unpack_from("<HHH", image, 58)
        rows = [
            struct.unpack_from("<IIQQQQIIQQ", image, table + i * size)
            for i in range(count)
        ]
        for row in rows:
            start = rows[names][4] + row[0]
            name = image[start : image.index(b"\0", start)].decode()
            stored = row[1] != 8  # Not one that only takes room.
            yield name, image[row[4] : row[4] + row[5]] if stored else b""
    except (struct.error, LookupError, OverflowError, ValueError) as error:
        raise NotACubin(f"the ELF file is damaged: {error}") from error


def kernels(image):
    """The instructions of each kernel, by its name."""
    result = {}
    for name, data in sections(image):
        if name.startswith(".text."):
            result[name[len(".text.") :]] = [
                Instruction(*struct.unpack_from("<QQ", data, at))
                for at in range(0, len(data) - 15, 16)
            ]
    return result


def histogram(instructions):
    return collections.Counter(i.name for i in instructions if i.name != "NOP")
