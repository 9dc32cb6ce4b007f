#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bytes with all kinds of zero points, as quantizers write them,
against ONNX's own evaluator: on the CPU, and on a simulated GPU, where tensor
cores have to be what multiplies them.

    byte_products.py TENON DRIVER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from one_block import Block

DEPTH, COLUMNS = 96, 80


def numbers(g, dtype, *shape):
    """All of a type's, up to both ends."""
    limits = numpy.iinfo(dtype)
    return g.random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def integer(lhs, rhs, zero):
    """MatMulInteger: lhs of a zero point that is an input, by a weight."""
    def build(g):
        x = g.input("x", ["B", "S", DEPTH], numbers(g, lhs, 2, 37, DEPTH),
                    numbers(g, lhs, 1, 1, DEPTH))
        of_x = g.input("zero", [], numbers(g, lhs), numbers(g, lhs))
        of_w = (numbers(g, rhs, COLUMNS) if zero is None
                else numpy.array(zero, rhs))
        g.output(g("MatMulInteger", x, g.constant(numbers(g, rhs, DEPTH,
                                                          COLUMNS)),
                   of_x, of_w))
    return build


def between_pairs(turned, zero):
    """QDQ: a weight with a scale for each column, perhaps stored turned."""
    def build(g):
        x = g.input("x", ["N", DEPTH], g.noise(37, DEPTH), g.noise(1, DEPTH))
        scale, middle = numpy.float32(0.03), numpy.uint8(117)
        x = g("DequantizeLinear", g("QuantizeLinear", x, scale, middle), scale,
              middle)
        shape = (COLUMNS, DEPTH) if turned else (DEPTH, COLUMNS)
        scales = numpy.abs(g.noise(COLUMNS)) / 99 + numpy.float32(1e-3)
        zeros = numpy.full(COLUMNS, zero, numpy.int8)
        weight = g("DequantizeLinear", g.constant(numbers(g, numpy.int8,
                                                          *shape)),
                   scales, zeros, axis=0 if turned else 1)
        g.output(g("Gemm", x, weight, g.noise(COLUMNS), transB=1) if turned
                 else g("Add", g("MatMul", x, weight), g.noise(COLUMNS)))
    return build


CASES = {
    "i8": integer(numpy.uint8, numpy.int8, 0),
    "i8_zero": integer(numpy.uint8, numpy.int8, -5),
    "i8_columns": integer(numpy.uint8, numpy.int8, None),
    "u8": integer(numpy.uint8, numpy.uint8, 0),
    "u8_middle": integer(numpy.uint8, numpy.uint8, 128),
    "u8_columns": integer(numpy.uint8, numpy.uint8, None),
    "signed": integer(numpy.int8, numpy.int8, 0),
    "signed_columns": integer(numpy.int8, numpy.uint8, None),
    "pairs": between_pairs(False, 0),
    "pairs_zero": between_pairs(False, 7),
    "pairs_turned": between_pairs(True, 0),
}


def schedules(tenon, folder):
    artifact = folder / "model.tenon"
    subprocess.run([tenon, "compile", folder / "model.onnx", "--target=cuda",
                    "-o", artifact], check=True, capture_output=True)
    held = subprocess.run([tenon, "inspect", "--json", artifact], check=True,
                          capture_output=True, text=True)
    return {each["schedule"] for each in json.loads(held.stdout)["kernels"]}


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = [pathlib.Path(scratch, name) for name in CASES]
        for folder in folders:
            block = Block()
            CASES[folder.name](block)
            block.write(folder)
            if "MatmulMmaInt8" not in schedules(tenon, folder):
                print(f"{folder.name}: no tensor core multiplies its bytes")
                bad += 1
        for device in ([], ["--device", "cuda", "--cuda-driver", driver]):
            result = subprocess.run([tenon, "verify", *device, *folders],
                                    capture_output=True, text=True, timeout=300)
            print(result.stdout, result.stderr)
            wanted = f"{len(CASES)} passed, 0 failed, 0 unsupported"
            bad += result.returncode != 0 or wanted not in result.stdout
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
