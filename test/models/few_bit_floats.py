#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats of 8 and 4 bits, as quantizers write them, against ONNX's own
evaluator: on the CPU, and on a simulated GPU. Products of such numbers have to
be multiplied in bf16, which is exact.

    few_bit_floats.py TENON DRIVER
"""
import sys
import tempfile

import ml_dtypes
import numpy
from one_block import kernels, verified, written
from onnx import TensorProto

DEPTH, COLUMNS = 96, 80
TYPES = {
    "e4m3fn": (ml_dtypes.float8_e4m3fn, TensorProto.FLOAT8E4M3FN),
    "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, TensorProto.FLOAT8E4M3FNUZ),
    "e5m2": (ml_dtypes.float8_e5m2, TensorProto.FLOAT8E5M2),
    "e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, TensorProto.FLOAT8E5M2FNUZ),
}


def spread(g, count):
    """Numbers of every size that a type has, halves between two of them, and
    some beyond."""
    powers = numpy.float32(2) ** numpy.arange(-20, 18)
    steps = numpy.arange(8, 16.5, 0.25, numpy.float32) / 8
    all_ = numpy.outer(powers, steps).ravel()
    all_ = numpy.concatenate([all_, -all_, [0, numpy.inf, -numpy.inf, numpy.nan]])
    return numpy.resize(all_, count).astype(numpy.float32)


def cast(number, saturates):
    def build(g):
        x = g.input("x", ["N"], spread(g, 3000), g.noise(5))
        g.output(g("Cast", g("Cast", x, to=number, saturate=saturates),
                   to=TensorProto.FLOAT))
    return build


def rounded(g, x, dtype, scale):
    """x, quantized and dequantized."""
    scale, zero = numpy.float32(scale), numpy.array(0, dtype)
    return g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero)


def codes(g, dtype, *shape):
    """Finite numbers of a type."""
    return g.constant(numpy.clip(g.noise(*shape) * 40, -200, 200).astype(dtype))


def product(dtype, turned=False, per_column=True):
    def build(g):
        x = rounded(g, g.input("x", ["B", "S", DEPTH], g.noise(2, 37, DEPTH),
                               g.noise(1, 1, DEPTH)), dtype, 0.02)
        shape = (COLUMNS, DEPTH) if turned else (DEPTH, COLUMNS)
        count = [COLUMNS] if per_column else []
        scales = numpy.abs(g.noise(*count)) / 99 + numpy.float32(1e-3)
        w = g("DequantizeLinear", codes(g, dtype, *shape), scales,
              numpy.zeros(count, dtype), axis=0 if turned else 1)
        w = g("Transpose", w, perm=[1, 0]) if turned else w
        g.output(g("Add", g("MatMul", x, w), g.noise(COLUMNS)))
    return build


def attended(g):
    """Both factors are computed, as those of attention."""
    f8 = ml_dtypes.float8_e4m3fn
    q = rounded(g, g.input("q", ["B", 2, "S", 32], g.noise(2, 2, 30, 32)), f8, 0.01)
    k = rounded(g, g.input("k", ["B", 2, "T", 32], g.noise(2, 2, 41, 32)), f8, 0.02)
    k = g("Transpose", k, perm=[0, 1, 3, 2])
    weights = g("Softmax", g("MatMul", q, k), axis=-1)
    v = rounded(g, g.input("v", ["B", 2, "T", 32], g.noise(2, 2, 41, 32)), f8, 0.03)
    g.output(g("MatMul", rounded(g, weights, f8, 1 / 448), v))


def convolved(channels, maps, taps, relu=False):
    def build(g):
        f8 = ml_dtypes.float8_e4m3fn
        x = rounded(g, g.input("x", ["N", channels, 14, 14],
                               g.noise(2, channels, 14, 14)), f8, 0.01)
        scales = numpy.abs(g.noise(maps)) / 999 + numpy.float32(1e-4)
        w = g("DequantizeLinear", codes(g, f8, maps, channels, taps, taps),
              scales, numpy.zeros(maps, f8), axis=0)
        y = g("Conv", x, w, g.noise(maps), pads=[taps // 2] * 4)
        g.output(g("Relu", y) if relu else y)
    return build


def halves(g):
    """A model in f16 around the pairs."""
    f8, half = ml_dtypes.float8_e4m3fn, numpy.float16
    x = g.input("x", ["N", DEPTH], g.noise(37, DEPTH).astype(half))
    scale, zero = half(0.02), numpy.array(0, f8)
    x = g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero)
    w = g("DequantizeLinear", codes(g, f8, DEPTH, COLUMNS), half(0.003), zero)
    g.output(g("Cast", g("MatMul", x, w), to=TensorProto.FLOAT))


def weights_alone(g):
    """Four bits in blocks of 16, whose scales are in 8 with one over all."""
    f4, f8 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn
    x = g.input("x", ["N", DEPTH], g.noise(37, DEPTH))
    numbers = numpy.clip(g.noise(DEPTH, COLUMNS) * 2, -6, 6).astype(f4)
    scales = (numpy.abs(g.noise(DEPTH // 16, COLUMNS)) + 1).astype(f8)
    scales = g("DequantizeLinear", g.constant(scales), numpy.float32(0.02))
    w = g("DequantizeLinear", g.constant(numbers), scales, axis=0, block_size=16)
    g.output(g("MatMul", x, w))


def moved(g):
    """Codes are turned and reshaped, and what others are like them is rounded."""
    f8 = ml_dtypes.float8_e5m2
    x = g.input("x", [4, "N"], g.noise(4, 6) * 99)
    turned = g("Transpose", codes(g, f8, 6, 4), perm=[1, 0])
    like = g("CastLike", x, g("Reshape", turned, numpy.array([4, 6])))
    g.output(g("Add", g("Cast", like, to=TensorProto.FLOAT),
               g("Cast", turned, to=TensorProto.FLOAT)))


CASES = {
    f"cast_{name}_{'saturates' if saturates else 'overflows'}":
        cast(number, saturates)
    for name, (_, number) in TYPES.items() for saturates in (0, 1)
} | {
    "product": product(ml_dtypes.float8_e4m3fn),
    "product_turned": product(ml_dtypes.float8_e4m3fn, turned=True),
    "product_one_scale": product(ml_dtypes.float8_e5m2, per_column=False),
    "product_e5m2fnuz": product(ml_dtypes.float8_e5m2fnuz),
    "attended": attended,
    "conv": convolved(32, 48, 3),
    "conv_1x1": convolved(128, 96, 1, relu=True),
    "halves": halves,
    "weights_alone": weights_alone,
    "moved": moved,
}
# What has to be multiplied in pairs of bf16, and by which schedules.
EXACT = [("product", "PackedMatmul"), ("product_turned", "PackedMatmul"),
         ("product_one_scale", "PackedMatmul"), ("conv", "WinogradPairs"),
         ("conv", "LineConv", "--winograd=off"), ("conv_1x1", "LineConv"),
         ("halves", "PackedMatmul")]


def multiplies_pairs(tenon, folder, schedule, *how):
    found = {each["name"]: each["schedule"]
             for each in kernels(tenon, folder, *how)}
    good = any(each == schedule and "cast_cast" in name
               for name, each in found.items())
    if not good:
        print(f"{folder.name}: multiplies no bf16 by {schedule}: {found}")
    return good


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch, opset=23)
        named = {folder.name: folder for folder in folders}
        for name, schedule, *how in EXACT:
            bad += not multiplies_pairs(tenon, named[name], schedule, *how)
        bad += not verified(tenon, folders, driver)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
