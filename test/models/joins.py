#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that join what others compute, in the ways of many families of image
models, against ONNX's own evaluator: on CPUs nothing is left of a join whose
parts are computed where they belong.

    joins.py TENON FAKE_CUDA
"""
import sys
import tempfile

import numpy
from one_block import kernels, verified, written

CASES, MOVED = {}, set()
OPEN = []  # Names of what of an image is open.


def gone(function):
    """A case in which nothing is moved."""
    CASES[function.__name__] = function
    return function


def moved(function):
    """A case in which something is."""
    MOVED.add(function.__name__)
    return gone(function)


def image(g, channels, size=9, name="x"):
    height, width = OPEN or (size, size)
    return g.input(name, [1, channels, height, width],
                   g.noise(1, channels, size, size))


def conv(g, x, channels, maps, size=1, **attributes):
    x = g("Conv", x, g.noise(maps, channels, size, size) / size, g.noise(maps),
          pads=[size // 2] * 4, **attributes)
    return g("Mul", x, g("Sigmoid", x))


def pooled(g, op, x):
    return g(op, x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def join(g, *parts):
    return g("Concat", *parts, axis=1)


@gone
def inception(g):
    x = conv(g, image(g, 6), 6, 16)
    parts = [conv(g, x, 16, 8), conv(g, conv(g, x, 16, 4), 4, 12, 3),
             conv(g, pooled(g, "AveragePool", x), 16, 20),
             pooled(g, "MaxPool", x)]
    x = join(g, *parts)
    g.output(conv(g, pooled(g, "AveragePool", x), 56, 8), conv(g, x, 56, 10))


@gone
def odd(g):
    # Of channels that no vector has, and fewer than a line of memory.
    x = image(g, 3)
    x = join(g, conv(g, x, 3, 5), conv(g, x, 3, 7, 3), conv(g, x, 3, 1))
    g.output(conv(g, x, 13, 3))


@gone
def halves(g):
    # C2f of YOLO: both halves and what follows the second one.
    x = conv(g, image(g, 8, 16), 8, 32)
    low, high = g("Split", x, axis=1, num_outputs=2, outputs=2)
    parts = [low, high]
    for _ in range(2):
        y = conv(g, conv(g, parts[-1], 16, 16, 3), 16, 16, 3)
        parts.append(g("Add", parts[-1], y))
    g.output(conv(g, join(g, *parts), 64, 8))


@gone
def dense(g):
    # VoVNet, HGNet: each is read by the next one, too.
    parts = [conv(g, image(g, 4), 4, 16)]
    for _ in range(3):
        parts.append(conv(g, parts[-1], 16, 16, 3))
    g.output(conv(g, join(g, *parts), 64, 8))


@gone
def pyramid(g):
    # Windows over windows, and another level at twice the size.
    x = conv(g, image(g, 4, 6), 4, 16)
    parts = [x]
    for _ in range(2):
        parts.append(pooled(g, "MaxPool", parts[-1]))
    x = conv(g, join(g, *parts), 48, 16)
    up = g("Resize", x, "", numpy.array([1, 1, 2, 2], numpy.float32))
    skip = g("Resize", conv(g, x, 16, 16, 3), "",
             numpy.array([1, 1, 2, 2], numpy.float32), mode="linear")
    g.output(conv(g, join(g, up, skip), 32, 8))


@gone
def heads(g):
    # Positions of two levels, one behind the other.
    x = conv(g, image(g, 4, 8), 4, 16)
    small = conv(g, x, 16, 16, 3, strides=[2, 2])
    levels = [g("Conv", level, g.noise(20, 16, 1, 1) / 16, g.noise(20))
              for level in (x, small)]
    rows = numpy.array([0, -1, 20], numpy.int64)
    g.output(g("Softmax", join(g, *[
        g("Reshape", g("Transpose", level, perm=[0, 2, 3, 1]), rows)
        for level in levels])))


@gone
def depthwise(g):
    # Ghost modules: features, and cheap ones made of them.
    x = conv(g, image(g, 4, 16), 4, 16)
    x = join(g, x, conv(g, x, 1, 16, 3, group=16))
    g.output(conv(g, x, 32, 8))


@moved
def appended(g):
    # A dense block; the first two are moved to where there is room for all.
    x = conv(g, image(g, 4), 4, 16)
    for i in range(3):
        y = g("Relu", g("Add", x, g.noise(16 + 8 * i, 1, 1)))
        x = join(g, x, conv(g, y, 16 + 8 * i, 8, 3))
    g.output(conv(g, x, 40, 8))


@moved
def returned(g):
    # The caller has a part in memory of its own, and what is joined.
    x = image(g, 4)
    part, other = conv(g, x, 4, 16), conv(g, x, 4, 8)
    g.output(join(g, part, other), part)


@moved
def given(g):
    # A part is the caller's, or is joined twice.
    x = image(g, 8)
    y = conv(g, x, 8, 8)
    g.output(join(g, y, x), join(g, y, y))


@gone
def any_size(g):
    x = g.input("x", ["batch", 4, "height", "width"], g.noise(3, 4, 8, 10),
                g.noise(1, 4, 5, 7))
    x = conv(g, x, 4, 16)
    x = join(g, conv(g, x, 16, 8), conv(g, x, 16, 24, 3))
    x = join(g, conv(g, x, 32, 8), pooled(g, "MaxPool", x))
    g.output(conv(g, x, 40, 8))


def main():
    tenon, driver = sys.argv[1:3]
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        for folder in folders:
            joins = [name for name in map(str, kernels(tenon, folder))
                     if "concat" in name or "append" in name]
            if bool(joins) != (folder.name in MOVED):
                failures.append(f"{folder.name}: {joins or 'nothing'} is left")
        good = verified(tenon, folders, driver)
        good &= verified(tenon, folders, driver, "--batch-at-once=1")
    OPEN[:] = ["height", "width"]  # Large, for all that the compiler knows.
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        good &= verified(tenon, folders, driver)
        good &= verified(tenon, folders, driver, "--precision=bf16")
    print("\n".join(failures) or f"ok {len(CASES)} graphs")
    return bool(failures) or not good


if __name__ == "__main__":
    sys.exit(main())
