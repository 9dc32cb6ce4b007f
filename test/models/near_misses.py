#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of one block that look like what a pass rewrites and are not, or are
and must keep what they mean: compiled, they compute what ONNX's evaluator does.

    near_misses.py TENON [NAME...]

docs/reference/recognisers.md says which of them stands for which mistake.
"""
import subprocess
import sys
import tempfile

import near_miss_masks
import near_miss_pads
import numpy
from onnx import TensorProto
from one_block import variants, written

CASES = {**near_miss_masks.CASES, **near_miss_pads.CASES}


def case(function):
    CASES[function.__name__] = function
    return function


cases = variants(CASES)


def ints(*values):
    return numpy.array(values, numpy.int64)


def noise_input(g, name, *shape):
    return g.input(name, list(shape), g.noise(*shape))


# Identities and sizes.


@cases("choices", by_one="Not", by_two="Xor", by_numbers="Sub")
def choices(g, other):
    # m a + (1 - m) b, of bools, of bools that are not opposite, of numbers.
    a, b = noise_input(g, "a", 3, 5), noise_input(g, "b", 3, 5)
    if other == "Sub":
        m = noise_input(g, "m", 1, 5)
        rest = g("Sub", numpy.float32(1), m)
    else:
        flags = g.input("m", [1, 5], g.random.random((1, 5)) > 0.5)
        rest = (g("Not", flags) if other == "Not" else
                g("Xor", flags, numpy.array([True, False, True, True, False])))
        m, rest = [g("Cast", x, to=TensorProto.FLOAT) for x in (flags, rest)]
    g.output(g("Add", g("Mul", m, a), g("Mul", rest, b)))


@case
def cast_that_rounds(g):
    x = g.input("x", [4, 8], g.noise(4, 8) * 1000)
    half = g("Cast", x, to=TensorProto.FLOAT16)
    g.output(g("Sub", x, g("Cast", half, to=TensorProto.FLOAT)))


@case
def casts_that_wrap(g):
    x = g.input("x", [5], ints(1, 300, -200, 128, -1))
    narrow = g("Cast", x, to=TensorProto.INT8)
    truth = g("Cast", x, to=TensorProto.BOOL)
    g.output(g("Cast", narrow, to=TensorProto.INT64),
             g("Cast", truth, to=TensorProto.INT64))


# Rows that are moved, and what only looks like it.


def expanded(g, shape, to, below):
    """Indices of `shape` below a number, some counted from the end, as `to`."""
    indices = g.random.integers(-below, below, shape)
    return g("Expand", g.input("i", list(shape), indices), ints(*to))


@cases("gathered", rows=(2, 3, 1), same_rows=(1, 3, 1), along_rows=(2, 1, 4), one_row=(2, 1, 1))
def gathered(g, shape):
    x = noise_input(g, "x", 2, 5, 4)
    g.output(g("GatherElements", x, expanded(g, shape, (2, 3, 4), 5), axis=1))


@cases("scattered", rows=((3, 1, 1), 0, "add"), assigned=((3, 1, 1), 0, "none"),
       parts_of_rows=((3, 1, 1), 2, "add"), columns=((1, 4, 1), 0, "add"),
       one_row=((1, 1, 1), 0, "mul"))
def scattered(g, variant):
    shape, less, kind = variant
    x, y = noise_input(g, "x", 5, 4, 2 + less), noise_input(g, "y", 3, 4, 2)
    at = expanded(g, shape, (3, 4, 2), 5)
    g.output(g("ScatterElements", x, at, y, axis=0, reduction=kind))


@cases("picked", added=0, of_columns=1, twice=2, by_softmax=3, turned=4)
def picked(g, variant):
    # Rows of a table computed with where they are read.
    x, i = noise_input(g, "x", 7, 7, 40), g.input("i", [7], ints(3, -1, 0, 6, -5, 2, 2))
    y = g("Gather", x, i, axis=1 if variant != 1 else 2)
    other = noise_input(g, "y", 7, 7, 7 if variant == 1 else 40)
    if variant == 4:
        other = g("Transpose", other, perm=[1, 0, 2])
    y = g("Mul", y, other)
    if variant == 2:
        y = g("Add", y, g("Gather", x, g("Sub", ints(1), i), axis=1))
    if variant == 3:
        y = g("Softmax", y, axis=-1)
    g.output(y)


@cases("broadcasting", zero=("Add", 0), one=("Mul", 1), divisor=("Div", 1))
def broadcasting(g, variant):
    op, neutral = variant
    x = noise_input(g, "x", 1, 8)
    g.output(g(op, x, numpy.full((3, 1), neutral, numpy.float32)))


@case
def broadcasting_truth(g):
    x = g.input("x", [1, 8], g.noise(1, 8) > 0)
    g.output(g("And", x, numpy.ones((3, 1), bool)))


@case
def two_free_sizes(g):
    sizes = [(1, 3), (3, 1), (3, 3)]
    x = g.input("x", ["N", 8], *[g.noise(n, 8) for n, _ in sizes])
    y = g.input("y", ["M", 8], *[g.noise(m, 8) for _, m in sizes])
    g.output(g("Add", x, y))


@cases("allowzero", of_a_size=([3, 0], [2, 4]), given=([0, 0], None))
def allowzero(g, variant):
    rows, rest = variant
    width = 8 if rest else 0
    x = g.input("x", ["N", width], *[g.noise(n, width) for n in rows])
    count = g("Gather", g("Shape", x), ints(0))
    target = g("Concat", count, ints(*rest), axis=0) if rest else ints(0, 4)
    g.output(g("Reshape", x, target, allowzero=1))


@case
def inexact_division(g):
    x = g.input("x", ["N", 4], g.noise(3, 4), g.noise(4, 4), g.noise(1, 4))
    half = g("Div", g("Gather", g("Shape", x), ints(0)), ints(2))
    g.output(g("Slice", x, ints(0), half, ints(0)), g("Mul", half, ints(2)))


@case
def constants_of_f16(g):
    x = g.input("x", [8], g.noise(8).astype(numpy.float16))
    big = numpy.full(8, 2048, numpy.float16)
    one = numpy.ones(8, numpy.float16)
    g.output(g("Add", x, g("Sub", g("Add", big, one), big)))


# Quantize and dequantize.


@cases("requantized", scale=(0.05, 128, 0.07, 128), zero=(0.05, 128, 0.05, 100),
       relu=(0.05, 128, 0.05, 0), same=(0.05, 128, 0.05, 128))
def requantized(g, variant):
    x = g.input("x", [4, 8], g.noise(4, 8) * 3)
    for scale, zero in (variant[:2], variant[2:]):
        scale, zero = numpy.float32(scale), numpy.uint8(zero)
        x = g("DequantizeLinear", g("QuantizeLinear", x, scale, zero),
              scale, zero)
    g.output(x)


@case
def relu_of_quantized(g):
    scale, zero = numpy.float32(0.05), numpy.uint8(100)
    x = g.input("x", [4, 8], g.noise(4, 8) * 3)
    x = g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero)
    zero = numpy.uint8(5)
    x = g("QuantizeLinear", g("Relu", x), scale, zero)
    g.output(g("DequantizeLinear", x, scale, zero))


# Activations.


def erf_gelu(g, x, gate=None, root=1.4142135, one=1.0, half=0.5):
    erf = g("Erf", g("Div", x, numpy.float32(root)))
    inner = g("Mul", gate or x, g("Add", erf, numpy.float32(one)))
    return g("Mul", inner, numpy.float32(half))


@cases("erf_gelu", root=dict(root=1.4), one=dict(one=0.99), half=dict(half=0.51),
       right={})
def erf_gelus(g, constants):
    g.output(erf_gelu(g, noise_input(g, "x", 3, 8), **constants))


@case
def erf_gelu_of_another(g):
    x = noise_input(g, "x", 3, 8)
    g.output(erf_gelu(g, x, gate=g("Abs", x)))


@cases("tanh_gelu", cube=(0.0445, 3.0), power=(0.044715, 2.0),
       right=(0.044715, 3.0))
def tanh_gelu(g, variant):
    factor, power = map(numpy.float32, variant)
    x = g.input("x", [3, 8], numpy.abs(g.noise(3, 8)))
    cubic = g("Add", x, g("Mul", factor, g("Pow", x, power)))
    tanh = g("Tanh", g("Mul", numpy.float32(0.7978845608), cubic))
    half = g("Mul", x, numpy.float32(0.5))
    g.output(g("Mul", half, g("Add", tanh, numpy.float32(1))))


@cases("quick_gelu", right=1.702, off=1.7, negative=-1.702)
def quick_gelu(g, slope):
    x = noise_input(g, "x", 3, 8)
    g.output(g("Mul", x, g("Sigmoid", g("Mul", x, numpy.float32(slope)))))


@case
def sigmoid_of_another(g):
    x = noise_input(g, "x", 3, 8)
    g.output(g("Mul", g("Sigmoid", x), g("Neg", x)))


# Norms.


def norm(g, x, axis=-1, of=None, epsilon=1e-5, power=2.0, outside=False,
         centre=-1, divided=None):
    mean = g("ReduceMean", x, ints(centre))
    difference = g("Sub", x, mean)
    square = g("Pow", of or difference, numpy.float32(power))
    variance = g("ReduceMean", square, ints(axis))
    epsilon = numpy.asarray(epsilon, numpy.float32)
    root = (g("Add", g("Sqrt", variance), epsilon) if outside
            else g("Sqrt", g("Add", variance, epsilon)))
    return g("Div", divided or difference, root)


@cases("norm", right={}, axis=dict(axis=0), centre=dict(centre=0),
       outside=dict(outside=True), fourth=dict(power=4.0),
       epsilon_of_rows=dict(epsilon=[[1], [2], [3], [4]]),
       epsilon_of_batches=dict(epsilon=[[[1]], [[2]]]),
       epsilon_of_columns=dict(epsilon=range(1, 9)))
def norms(g, options):
    g.output(norm(g, noise_input(g, "x", 4, 8), **options))


@case
def norm_of_two(g):
    x, z = noise_input(g, "x", 4, 8), noise_input(g, "z", 4, 8)
    g.output(norm(g, x, of=z), norm(g, x, divided=z))


@case
def norm_without_kept_axis(g):
    # The means lie along the columns of the square.
    x = noise_input(g, "x", 8, 8)
    difference = g("Sub", x, g("ReduceMean", x, ints(-1), keepdims=0))
    variance = g("ReduceMean", g("Mul", difference, difference), ints(-1))
    root = g("Sqrt", g("Add", variance, numpy.float32(1e-5)))
    g.output(g("Div", difference, root))


# Rotations.


@cases("rotation", right=(4, 0, False), second_negated=(4, 1, False),
       first_negated=(4, 2, False), unequal=(3, 0, False),
       two_tables=(4, 0, True))
def rotation(g, variant):
    split, order, is_two = variant
    x = noise_input(g, "x", 2, 3, 5, 8)
    angles = noise_input(g, "a", 1, 1, 5, 4)
    others = noise_input(g, "b", 1, 1, 5, 4) if is_two else angles
    table = g("Concat", angles, others, axis=-1)
    first = g("Slice", x, ints(0), ints(split), ints(3))
    second = g("Slice", x, ints(split), ints(8), ints(3))
    halves = [[g("Neg", second), first], [first, g("Neg", second)],
              [g("Neg", first), second]][order]
    turned = g("Concat", *halves, axis=-1)
    g.output(g("Add", g("Mul", x, g("Cos", table)),
               g("Mul", turned, g("Sin", table))))


@cases("partial_rotation", right=4, overlapping=3, again=0)
def partial_rotation(g, rest):
    x = noise_input(g, "x", 2, 3, 5, 8)
    angles = noise_input(g, "a", 1, 1, 5, 2)
    table = g("Concat", angles, angles, axis=-1)

    def part(of, begin, end):
        return g("Slice", of, ints(begin), ints(end), ints(3))

    head = part(x, 0, 4)
    turned = g("Concat", g("Neg", part(head, 2, 4)), part(head, 0, 2), axis=-1)
    rotated = g("Add", g("Mul", head, g("Cos", table)),
                g("Mul", turned, g("Sin", table)))
    g.output(g("Concat", rotated, part(x, rest, rest + 4), axis=-1))


# Products, their epilogues and merges.


def product(g, x, columns=8):
    return g("MatMul", x, g.noise(8, columns))


def layer_norm(g, x):
    return g("LayerNormalization", x, g.noise(8), g.noise(8), axis=-1)


@cases("residual", of_one_batch=(1, 5, 8), of_one_row=(2, 1, 8),
       of_one_column=(2, 5, 1), of_more_axes=(3, 1, 1, 1))
def residual(g, shape):
    x, other = noise_input(g, "x", 2, 5, 8), noise_input(g, "r", *shape)
    g.output(g("Add", product(g, x), other))


@case
def residual_is_the_norm(g):
    x = layer_norm(g, noise_input(g, "x", 2, 5, 8))
    g.output(g("Add", product(g, x), x))


@case
def norm_of_the_sum(g):
    x = noise_input(g, "x", 2, 5, 8)
    added = g("Add", x, product(g, x))
    g.output(layer_norm(g, added), g("Add", layer_norm(g, x), added))


@case
def product_read_twice(g):
    y = product(g, noise_input(g, "x", 2, 5, 8))
    g.output(g("Relu", y), g("Add", g("Sigmoid", y), g("Tanh", y)))


@case
def product_meets_itself_reversed(g):
    y = product(g, noise_input(g, "x", 2, 5, 8))
    back = g("Slice", y, ints(-1), ints(-100), ints(1), ints(-1))
    g.output(g("Add", y, back))


def heads(g, x, count=2):
    width = 8 // count
    return g("Transpose", g("Reshape", x, ints(0, 5, count, width)),
             perm=[0, 2, 1, 3])


def attend(g, query, key, value):
    scores = g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2]))
    return g("MatMul", g("Softmax", scores, axis=-1), value)


@case
def merged_after_different_quantizations(g):
    x, zero = noise_input(g, "x", 2, 5, 8), numpy.uint8(128)
    parts = []
    for scale in map(numpy.float32, (0.02, 0.05, 0.02)):
        quantized = g("QuantizeLinear", x, scale, zero)
        parts.append(product(g, g("DequantizeLinear", quantized, scale, zero)))
    g.output(attend(g, *[heads(g, part) for part in parts]))


@case
def merged_with_biases_of_other_shapes(g):
    x = noise_input(g, "x", 2, 5, 8)
    shapes = (8,), (5, 1), (5, 8)
    g.output(attend(g, *[
        heads(g, g("Add", product(g, x), g.noise(*shape))) for shape in shapes
    ]))


@case
def merged_with_another_order_of_heads(g):
    # Columns of the query alternate between heads, those of the key do not.
    x = noise_input(g, "x", 2, 5, 8)
    query = g("Transpose", g("Reshape", product(g, x), ints(0, 5, 4, 2)),
              perm=[0, 3, 1, 2])
    g.output(attend(g, query, heads(g, product(g, x)),
                    heads(g, product(g, x))))


@case
def merged_with_a_shared_weight(g):
    x, weight = noise_input(g, "x", 2, 5, 8), g.constant(g.noise(8, 8))
    key = heads(g, g("MatMul", x, weight))
    g.output(attend(g, heads(g, product(g, x)), key, key),
             g("MatMul", weight, g("Transpose", weight)))


# Movement.


def roll(g, x, begin, end, axis):
    return g("Concat", g("Slice", x, ints(begin), ints(100), ints(axis)),
             g("Slice", x, ints(0), ints(end), ints(axis)), axis=axis)


@cases("roll", right=(4, 4, 1), mismatched=(3, 3, 1), other_axis=(4, 4, 2),
       short=(4, 3, 1), long=(3, 4, 1))
def rolls(g, back):
    x = noise_input(g, "x", 2, 6, 6, 4)
    g.output(roll(g, roll(g, x, 2, 2, 1), *back))


@cases("windows", of_rows=[0, 1, 3, 2, 4, 5], turned=[0, 3, 1, 2, 4, 5],
       of_columns=[0, 1, 3, 4, 2, 5])
def windows(g, axes):
    x = noise_input(g, "x", 2, 6, 6, 8)
    parts = g("Transpose", g("Reshape", x, ints(2, 3, 2, 3, 2, 8)), perm=axes)
    g.output(layer_norm(g, g("Reshape", parts, ints(18, 4, 8))))


@case
def transpose_read_twice(g):
    turned = g("Transpose", noise_input(g, "x", 2, 8, 5), perm=[0, 2, 1])
    g.output(product(g, turned), g("Relu", turned), turned)


@cases("behind_convolution", rows=(6,), channels=(4, 1, 1), all=(4, 6, 6))
def behind_convolution(g, shape):
    x = g("Transpose", noise_input(g, "x", 2, 6, 6, 3), perm=[0, 3, 1, 2])
    y = g("Conv", x, g.noise(4, 3, 3, 3), pads=[1, 1, 1, 1])
    y = g("Add", y, g.noise(*shape))
    g.output(y, g("Softmax", y, axis=3), g("Softmax", y, axis=1))


# One row.


@cases("row", first=0, last=-1)
def row(g, at):
    y = layer_norm(g, product(g, noise_input(g, "x", 2, 5, 8)))
    g.output(g("Gather", y, numpy.int64(at), axis=1))


@case
def row_of_an_output(g):
    y = layer_norm(g, product(g, noise_input(g, "x", 2, 5, 8)))
    g.output(g("Gather", y, numpy.int64(0), axis=1), y)


@case
def row_of_attention(g):
    x = noise_input(g, "x", 2, 5, 8)
    y = attend(g, *[heads(g, product(g, x)) for _ in range(3)])
    g.output(g("Gather", y, numpy.int64(0), axis=2))


@case
def row_of_a_softmax_of_columns(g):
    y = g("Softmax", product(g, noise_input(g, "x", 2, 5, 8)), axis=1)
    g.output(g("Gather", y, numpy.int64(0), axis=1))


# Matrices that a product's batches choose.


@cases("chosen", along_rows=(1, (3, 8, 9), (8,)),
       along_columns=(2, (3, 8, 9), (7,)), by_a_matrix=(0, (5, 8, 6), (2, 3)),
       one_for_all=(0, (5, 8, 6), (1,)), one_by_a_scalar=(0, (5, 8, 6), ()),
       rows_of_one=(0, (5, 6), (8,)), of_four_axes=(0, (5, 2, 8, 6), (3,)),
       read_by_two=(0, (5, 8, 6), (3,)))
def chosen(g, form):
    axis, table, where = form
    lead = {(2, 3): (2, 3), (8,): (3,), (): (3,)}.get(where, (3,))
    lead = (3, 2) if len(table) == 4 else lead
    x = noise_input(g, "x", *lead, 4, 8)
    at = g.input("at", list(where), *(
        numpy.array(g.random.integers(-table[axis], table[axis], where))
        for _ in g.feeds))
    matrices = g("Gather", g.noise(*table), at, axis=axis)
    g.output(g("MatMul", x, matrices))
    # Of other shapes, and read by another as well.
    g.output(g("Neg", matrices))


# Branches.


@cases("branches", of_other_sizes=False, without_elements=True)
def branches(g, is_empty):
    rows = (3, 3, 1, 0)
    x = g.input("x", ["N", 4], *[g.noise(n, 4) for n in rows])
    flag = g.input("flag", [], *[numpy.array(i % 2 > 0) for i in range(4)])
    weight, bias = g.constant(g.noise(4, 4)), g.constant(g.noise(4))

    def then(body):
        if not is_empty:
            return [body("Concat", x, x, axis=0), body("Neg", weight)]
        nothing = numpy.zeros((0, 4), numpy.float32)
        return [body("Identity", nothing), body("Identity", weight)]

    def otherwise(body):
        return [body("Add", body("MatMul", x, weight), bias),
                body("Relu", weight)]

    g.output(*g("If", flag, outputs=2, then_branch=g.branch("yes", then),
                else_branch=g.branch("no", otherwise)))


def main():
    tenon, names = sys.argv[1], sys.argv[2:] or sorted(CASES)
    with tempfile.TemporaryDirectory() as folder:
        models = written(CASES, folder, names)
        result = subprocess.run(
            [tenon, "verify", *models], capture_output=True, text=True,
            timeout=300)
    lines = result.stdout.splitlines()
    print("\n".join(x for x in lines if not x.startswith("ok ")), result.stderr)
    wanted = f"{len(names)} passed, 0 failed, 0 unsupported"
    sys.exit(result.returncode != 0 or wanted not in result.stdout)


if __name__ == "__main__":
    main()
