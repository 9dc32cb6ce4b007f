#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions by groups, of one and three spatial axes, of dense blocks, over
images of a pixel and with borders that are cut off again, against ONNX's own
evaluator: in f32 and bf16, on the CPU and on a simulated GPU. Those that have
kernels of bf16 have to run by them.

    convolutions.py TENON DRIVER
"""
import sys
import tempfile

import numpy
from one_block import kernels, variants, verified, written

CASES = {}
cases = variants(CASES)
# What has to be among the schedules of models whose names begin so: on CPUs in
# f32 and in bf16, and on GPUs in bf16.
SCHEDULES = {"groups_of_24": ("DirectConv", "LineConv", "ConvMma"),
             "groups": ("GroupTiles", "LineConv", "ConvMma"),
             "line": ("DirectConv", "LineConv", "ConvMma"),
             "depths": ("DirectConv", "LineConv", "ConvMma"),
             "dense": ("DirectConv", "LineConv", "ConvMma"),
             "causal": ("DirectConv", "LineConv", "ConvMma"),
             "pixel": (None, None, None),
             "few_channels_of_2": ("GroupTiles", "GroupTiles", None),
             "few_channels_of_3": ("DirectConv", "LineConv", None),
             "few_channels": ("GroupTiles", "LineConv", None)}


def convolved(g, x, maps, channels, *taps, **how):
    """With a bias, its numbers about as large as those of x."""
    weights = g.noise(maps, channels, *taps)
    scale = numpy.float32(channels * numpy.prod(taps)) ** numpy.float32(-0.5)
    return g("Conv", x, weights * scale, g.noise(maps), **how)


def image(g, *sizes):
    return g.input("x", ["N", *sizes], g.noise(2, *sizes), g.noise(1, *sizes))


@cases("groups", of_8=(12, 8), of_16=(4, 16), of_24=(2, 24), odd=(13, 8))
def groups(g, sizes):
    count, channels = sizes
    maps = count * channels
    x = image(g, maps, 28, 28)
    x = g("Relu", convolved(g, x, maps, channels, 3, 3, group=count, pads=[1] * 4))
    g.output(convolved(g, x, maps, channels, 3, 3, group=count, strides=[2, 2],
                       pads=[1] * 4))


# Too few maps of a group for a matrix instruction of a GPU.
@cases("few_channels", of_4=(16, 4), of_2=(32, 2), of_3=(16, 3))
def few_channels(g, sizes):
    count, channels = sizes
    x = image(g, count * channels, 40, 40)
    g.output(g("Relu", convolved(g, x, count * channels, channels, 3, 3,
                                 group=count, pads=[1] * 4)))


@cases("line", of_groups=(4, 24, 16), dilated=(1, 64, 3))
def line(g, sizes):
    count, channels, taps = sizes
    x = image(g, count * channels, 200)
    g.output(convolved(g, x, count * channels, channels, taps, group=count,
                       dilations=[3], pads=[3 * taps // 2, 3 * (taps - 1) // 2]))


@cases("depths", padded=([1] * 6, [1, 1, 1]), strided=([0, 1, 2, 1, 1, 0], [2, 1, 2]))
def depths(g, how):
    pads, strides = how
    x = image(g, 32, 5, 14, 17)
    x = g("Relu", convolved(g, x, 48, 32, 3, 3, 3, pads=pads, strides=strides))
    g.output(convolved(g, x, 32, 48, 1, 1, 1))


@cases("dense", block=3)
def dense(g, layers):
    """Each layer scales and reads what all before it made."""
    x = image(g, 32, 28, 28)
    for i in range(layers):
        channels = 32 + 16 * i
        scale, shift = g.noise(channels, 1, 1), g.noise(channels, 1, 1)
        y = g("Relu", g("Add", g("Mul", x, scale), shift))
        y = convolved(g, y, 16, channels, 3, 3, pads=[1] * 4)
        x = g("Concat", x, y, axis=1)
    y = g("Relu", g("Mul", x, g.noise(32 + 16 * layers, 1, 1)))
    g.output(convolved(g, y, 24, 32 + 16 * layers, 1, 1))


@cases("causal", by_one=1, by_four=4)
def causal(g, dilation):
    x = image(g, 64, 250)
    for _ in range(2):
        x = convolved(g, x, 64, 64, 3, dilations=[dilation],
                      pads=[2 * dilation] * 2)
        x = g("Relu", g("Slice", x, numpy.array([0]), numpy.array([250]),
                        numpy.array([2])))
    g.output(x)


# One tap of nine reads the image, or three.
@cases("pixel", alone=(1, 1, 1), in_a_line=(1, 6, 1), dilated=(5, 6, 6))
def pixel(g, sizes):
    high, wide, dilation = sizes
    x = image(g, 32, high, wide)
    x = g("Relu", convolved(g, x, 64, 32, 3, 3, pads=[dilation] * 4,
                            dilations=[dilation] * 2))
    g.output(convolved(g, x, 16, 64, 3, 3, pads=[1] * 4, strides=[2, 2]))


def wanted(name):
    return next(found for prefix, found in SCHEDULES.items()
                if name.startswith(prefix))


def runs_as_wanted(tenon, folder):
    good = True
    hows = (["--target=cpu"], ["--target=cpu", "--precision=bf16"],
            ["--target=cuda", "--precision=bf16"])
    for how, schedule in zip(hows, wanted(folder.name)):
        held = kernels(tenon, folder, *how)
        found = {each["schedule"].removesuffix("Small") for each in held}
        if schedule and schedule not in found:
            print(f"{folder.name}: no {schedule} with {how}: {sorted(found)}")
            good = False
    return good


def main():
    tenon, driver = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        bad = sum(not runs_as_wanted(tenon, folder) for folder in folders)
        for how in ([], ["--precision=bf16"]):
            bad += not verified(tenon, folders, driver, *how)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
