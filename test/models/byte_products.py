#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions of bytes with all kinds of zero points, as
quantizers write them, against ONNX's own evaluator: on the CPU, and on a
simulated GPU, where tensor cores have to be what multiplies them.

    byte_products.py TENON DRIVER
"""
import subprocess
import sys
import tempfile

import numpy
from one_block import kernels, verified, written

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


def convolved(image, zero, channels=8, **attributes):
    """ConvInteger: of an image whose zero point is an input unless it is given,
    around which windows reach."""
    def build(g):
        x = g.input("x", ["B", channels, "H", "W"],
                    numbers(g, image, 2, channels, 9, 11),
                    numbers(g, image, 1, channels, 6, 5))
        of_x = (g.input("zero", [], numbers(g, image), numbers(g, image))
                if zero is None else numpy.array(zero, image))
        attributes.setdefault("pads", [1, 1, 1, 1])
        g.output(g("ConvInteger", x, g.constant(numbers(g, numpy.int8, 40,
                                                        channels, 3, 3)),
                   of_x, **attributes))
    return build


def convolved_pairs(zero, maps=(32, 16)):
    """QDQ: two layers whose filters have a scale for each map, and a residual
    in bytes between them."""
    def build(g):
        x = g.input("x", ["N", 3, 12, 12], g.noise(2, 3, 12, 12),
                    g.noise(1, 3, 12, 12))
        scale, middle = numpy.float32(0.03), numpy.uint8(zero)

        def rounded(x):
            return g("DequantizeLinear",
                     g("QuantizeLinear", x, scale, middle), scale, middle)

        def layer(x, count, channels, taps):
            scales = numpy.abs(g.noise(count)) / 99 + numpy.float32(1e-3)
            filters = g.constant(numbers(g, numpy.int8, count, channels, taps,
                                         taps))
            filters = g("DequantizeLinear", filters, scales,
                        numpy.zeros(count, numpy.int8), axis=0)
            return g("Conv", x, filters, g.noise(count),
                     pads=[taps // 2] * 4)

        first = rounded(g("Relu", layer(rounded(x), maps[0], 3, 3)))
        second = layer(first, maps[0], maps[0], 3)
        both = rounded(g("Relu", g("Add", second, first)))
        g.output(layer(both, maps[1], maps[0], 1))
    return build


def calibrated(g):
    """Products and convolutions of f32 that calibration makes bytes of: the
    first image counts from a zero point, what a Relu gives from 0."""
    x = g.input("x", ["N", 8, 14, 14], *(g.noise(n, 8, 14, 14) for n in (2, 3)))
    for channels, maps in ((8, 48), (48, 32)):
        filters = g.noise(maps, channels, 3, 3) / numpy.float32(channels)
        x = g("Relu", g("Conv", x, filters, g.noise(maps), pads=[1] * 4))
    x = g("Transpose", g("Reshape", x, numpy.array([0, 32, 196])),
          perm=[0, 2, 1])
    g.output(g("MatMul", x, g.noise(32, 128)))


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
    "conv_u8": convolved(numpy.uint8, 0),
    "conv_u8_zero": convolved(numpy.uint8, 131),
    "conv_u8_dynamic": convolved(numpy.uint8, None, 36, strides=[2, 1],
                                 pads=[0, 2, 1, 3]),
    "conv_i8": convolved(numpy.int8, 0, 16, dilations=[1, 2],
                         pads=[2, 1, 0, 4]),
    "conv_i8_zero": convolved(numpy.int8, -77, 4),
    "conv_pairs": convolved_pairs(0),
    "conv_pairs_zero": convolved_pairs(119),
}


def schedules(tenon, folder, *how):
    return {each["schedule"]
            for each in kernels(tenon, folder, "--target=cuda", *how)}


def check_calibrated(tenon, driver, scratch):
    """Whether a GPU multiplies what calibration made bytes of, as CPUs do."""
    [folder] = written({"calibrated": calibrated}, scratch)
    how = ["--precision=int8", "--calibrate", folder]
    found = schedules(tenon, folder, *how)
    multiplies = {"ConvMmaInt8", "MatmulMmaInt8"} <= {
        name.removesuffix("Small") for name in found}
    if not multiplies:
        print(f"calibrated: tensor cores multiply no bytes: {sorted(found)}")
    result = subprocess.run(
        [tenon, "verify", folder, *how, "--max-error=3e-2", "--device", "cuda",
         "--cuda-driver", driver], capture_output=True, text=True, timeout=300)
    print(result.stdout, result.stderr)
    return multiplies and result.returncode == 0


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        for folder in folders:
            kind = "Conv" if "conv" in folder.name else "Matmul"
            if not any(name.startswith(f"{kind}MmaInt8")
                       for name in schedules(tenon, folder)):
                print(f"{folder.name}: no tensor core multiplies its bytes")
                bad += 1
        bad += not check_calibrated(tenon, driver, scratch)
        bad += not verified(tenon, folders, driver)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
