# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pads in front of windows: those that are the windows' border, and others."""
import numpy
from one_block import INFINITY, variants

CASES = {}
cases = variants(CASES)
CORNER = [0, 0, 1, 1]  # What Keras puts behind images, for a stride of 2.


def padded(g, x, low, high, value=0.0, mode="constant"):
    """The axes behind the second are padded."""
    pads = [0, 0, *low, 0, 0, *high]
    return g("Pad", x, numpy.array(pads, numpy.int64), numpy.float32(value),
             mode=mode)


def image(g, *shape):
    return g.input("x", list(shape), g.noise(*shape))


# Borders.


@cases("corner", of_colours=(3, 32, 3, 1), of_maps=(16, 32, 3, 1),
       of_depths=(32, 32, 3, 32), of_large_depths=(32, 32, 5, 32),
       of_groups=(32, 32, 3, 4), of_few=(5, 7, 3, 1))
def corner(g, sizes):
    channels, maps, taps, groups = sizes
    x = padded(g, image(g, 2, channels, 14, 13), CORNER[:2], CORNER[2:])
    weights = g.noise(maps, channels // groups, taps, taps)
    g.output(g("Relu", g("Conv", x, weights, strides=[2, 2], group=groups)))


@cases("sides", all=([1, 1], [1, 1]), of_rows=([1, 0], [1, 0]),
       of_one=([0, 2], [0, 0]), and_a_border=([1, 1], [0, 0], [0, 0, 1, 1]),
       beyond_windows=([3, 0], [0, 4]),
       of_ones=([1, 1], [1, 1], [0, 0, 0, 0], 1.0),
       that_reflect=([1, 1], [1, 1], [0, 0, 0, 0], 0.0, "reflect"))
def sides(g, how):
    low, high, own, value, mode = [*how, *[[0, 0, 0, 0], 0.0, "constant"]
                                   [len(how) - 2:]]
    x = padded(g, image(g, 1, 16, 9, 11), low, high, value, mode)
    g.output(g("Conv", x, g.noise(16, 16, 3, 3), pads=own))


@cases("steps", of_one=1, of_four=4)
def steps(g, dilation):
    # Causal, of any length, as an image of one row.
    lengths = (19, 6, 1)
    g.input("x", ["N", "L", 8], *[g.noise(2, n, 8) for n in lengths])
    x = g("Pad", "x", numpy.array([0, 2 * dilation, 0, 0, 0, 0]),
          numpy.float32(0))
    x = g("Unsqueeze", g("Transpose", x, perm=[0, 2, 1]), numpy.array([2]))
    how = dict(dilations=[1, dilation])
    gate = g("Sigmoid", g("Conv", x, g.noise(16, 8, 1, 3), **how))
    y = g("Mul", g("Tanh", g("Conv", x, g.noise(16, 8, 1, 3), **how)), gate)
    g.output(g("Squeeze", y, numpy.array([2])))


@cases("volume", of_maps=1, of_depths=8)
def volume(g, groups):
    x = padded(g, image(g, 1, 8, 5, 6, 7), [0, 1, 1], [1, 0, 1])
    g.output(g("Conv", x, g.noise(8, 8 // groups, 2, 3, 3), group=groups))


# Bytes.


@cases("rounded", zero=(128, 128), other_zero=(128, 120), in_between=(7, 7))
def rounded(g, points):
    # A border that is rounded, and one of bytes that are not what 0 becomes.
    zero, filler = [numpy.uint8(point) for point in points]
    scale = numpy.float32(0.05)
    if filler == zero:
        x = padded(g, image(g, 1, 8, 9, 9), [0, 0], [1, 1])
        x = g("QuantizeLinear", x, scale, zero)
    else:
        x = g("QuantizeLinear", image(g, 1, 8, 9, 9), scale, zero)
        x = g("Pad", x, numpy.array([0, 0, 0, 0, 0, 0, 1, 1]), filler)
    x = g("DequantizeLinear", x, scale, zero)
    g.output(g("Conv", x, g.noise(16, 8, 3, 3), strides=[2, 2]))


# Pools.


@cases("means", of_zeros={}, with_a_border={"pads": [1, 1, 1, 1]},
       that_count={"pads": [1, 1, 1, 1], "count_include_pad": 1},
       rounded_up={"ceil_mode": 1})
def means(g, how):
    x = padded(g, image(g, 1, 6, 8, 8), [1, 0], [0, 1])
    g.output(g("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], **how))


@cases("largest", of_any=("Identity", 0.0), of_relu=("Relu", 0.0),
       of_negative=("Neg", 0.0), of_nothing=("Identity", -INFINITY),
       of_a_number=("Relu", 0.5))
def largest(g, how):
    op, value = how
    x = g("Sub", image(g, 1, 6, 8, 8), numpy.float32(1))
    x = g("Neg", g("Exp", x)) if op == "Neg" else g(op, x)
    x = padded(g, x, [1, 1], [1, 1], value)
    g.output(g("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]))
