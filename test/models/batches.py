#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that take a batch, run some items at a time where that may be, against
ONNX's own evaluator: items in many places, and graphs that mix them.

    batches.py TENON [FAKE_CUDA]
"""
import subprocess
import sys
import tempfile

import numpy
from one_block import written

SIZES = (1, 2, 5, 7)
CASES, APART = {}, set()


def apart(function):
    """A case whose items do not depend on each other."""
    APART.add(function.__name__)
    return mixed(function)


def mixed(function):
    CASES[function.__name__] = function
    return function


def ints(*values):
    return numpy.array(values, numpy.int64)


def batch(g, *shape, name="x"):
    return g.input(name, ["batch", *shape], *[g.noise(n, *shape) for n in SIZES])


# Items that are apart.


@apart
def images(g):
    x = batch(g, 3, 9, 9)
    x = g("Relu", g("Conv", x, g.noise(8, 3, 3, 3), g.noise(8),
                    strides=[2, 2], pads=[1, 1, 1, 1]))
    y = g("Conv", x, g.noise(8, 1, 3, 3), group=8, pads=[1, 1, 1, 1])
    x = g("Concat", x, y, axis=1)
    x = g("MaxPool", x, kernel_shape=[2, 2])
    x = g("ReduceMean", x, ints(2, 3), keepdims=0)
    g.output(g("Gemm", x, g.noise(16, 10), g.noise(10)))


@apart
def upsampled(g):
    x = g("ConvTranspose", batch(g, 4, 5, 5), g.noise(4, 6, 2, 2),
          strides=[2, 2])
    x = g("Resize", x, "", numpy.array([1, 1, 2, 2], numpy.float32),
          mode="linear")
    g.output(g("Pad", x, ints(0, 0, 1, 1, 0, 0, 1, 1)))


@apart
def sequences_first(g):
    # As torch.nn.MultiheadAttention has them: the batch behind the tokens.
    x = g("Transpose", batch(g, 6, 8), perm=[1, 0, 2])
    rows = g("Reshape", x, ints(-1, 8))
    y = g("Reshape", g("MatMul", rows, g.noise(8, 8)), ints(6, -1, 2, 4))
    y = g("Transpose", y, perm=[1, 2, 0, 3])
    scores = g("MatMul", y, g("Transpose", y, perm=[0, 1, 3, 2]))
    scores = g("Mul", scores, numpy.float32(0.25))
    y = g("MatMul", g("Softmax", scores, axis=-1), y)
    y = g("Reshape", g("Transpose", y, perm=[2, 0, 1, 3]), ints(6, -1, 8))
    g.output(g("Transpose", g("Add", x, y), perm=[1, 0, 2]))


@apart
def windows(g):
    # Four windows of an image, each with a bias of its own.
    x = g("Reshape", batch(g, 4, 4, 6), ints(-1, 2, 2, 2, 2, 6))
    x = g("Reshape", g("Transpose", x, perm=[0, 1, 3, 2, 4, 5]), ints(-1, 4, 6))
    scores = g("MatMul", x, g("Transpose", x, perm=[0, 2, 1]))
    scores = g("Add", g("Reshape", scores, ints(-1, 4, 4, 4)),
               g.noise(1, 4, 4, 4))
    scores = g("Softmax", g("Reshape", scores, ints(-1, 4, 4)), axis=-1)
    x = g("Reshape", g("MatMul", scores, x), ints(-1, 2, 2, 2, 2, 6))
    x = g("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
    g.output(g("Reshape", x, ints(-1, 4, 4, 6)))


@apart
def tokens(g):
    ids = g.input("ids", ["batch", 5], *[
        g.random.integers(0, 11, (n, 5)) for n in SIZES])
    first = g("Expand", g.constant(g.noise(1, 1, 8)),
              g("Concat", g("Shape", ids, end=1), ints(1, 8), axis=0))
    x = g("Concat", first, g("Gather", g.noise(11, 8), ids), axis=1)
    x = g("LayerNormalization", g("Add", x, g.noise(6, 8)), numpy.ones(8))
    best = g("ArgMax", g("MatMul", x, g.noise(8, 7)), axis=-1, keepdims=0)
    g.output(x, best, g("Gather", g.noise(7, 3), best))


@apart
def picked(g):
    x = batch(g, 9, 4)
    values, where = g("TopK", g("ReduceSum", x, ints(2), keepdims=0), ints(3),
                      outputs=2, axis=1)
    where = g("Expand", g("Unsqueeze", where, ints(2)), ints(1, 1, 4))
    g.output(values, g("GatherElements", x, where, axis=1))
    g.output(g("CumSum", x, numpy.int64(1)))


@apart
def pairs(g):
    # Two results to an item, and one that all of them share.
    y = g.input("y", [3], *[g.noise(3) for _ in SIZES])
    x = g("Reshape", g("Add", batch(g, 2, 3), y), ints(-1, 3))
    g.output(g("Tanh", x), g("Exp", y))


@apart
def rows_of_others(g):
    # Columns of a product, and a product for each item.
    x = batch(g, 4, 5)
    columns = g("MatMul", g.noise(6, 20),
                g("Transpose", g("Reshape", x, ints(-1, 20)), perm=[1, 0]))
    each = g("MatMul", g.noise(3, 4), x)
    g.output(g("Transpose", columns, perm=[1, 0]), each)


# Items that are mixed.


@mixed
def softmax_of_all(g):
    g.output(g("Softmax", batch(g, 5), axis=0))


@mixed
def mean_of_all(g):
    x = batch(g, 5)
    g.output(g("Sub", x, g("ReduceMean", x, ints(0), keepdims=1)))


@mixed
def normalized_by_all(g):
    x = batch(g, 3, 4)
    flat = g("Reshape", x, ints(1, -1))
    flat = g("Sub", flat, g("ReduceMax", flat, ints(1), keepdims=1))
    g.output(g("Reshape", flat, ints(-1, 3, 4)))


@mixed
def similarities(g):
    x = batch(g, 5)
    g.output(g("MatMul", x, g("Transpose", x, perm=[1, 0])))


@mixed
def outer_sums(g):
    x = batch(g, 1)
    g.output(g("Add", x, g("Transpose", x, perm=[1, 0])))


@mixed
def rolled(g):
    x = batch(g, 5)
    last = g("Slice", x, ints(-1), ints(2**62), ints(0))
    g.output(g("Concat", last, g("Slice", x, ints(0), ints(-1), ints(0)),
               axis=0))


@mixed
def reversed_items(g):
    g.output(g("Slice", batch(g, 5), ints(-1), ints(-2**62), ints(0), ints(-1)))


@mixed
def numbered(g):
    x = batch(g, 5)
    count = g("Squeeze", g("Shape", x, end=1), ints(0))
    numbers = g("Range", numpy.int64(0), count, numpy.int64(1))
    g.output(g("Add", x, g("Unsqueeze", g("Cast", numbers, to=1), ints(1))))


@mixed
def counted(g):
    x = batch(g, 5)
    g.output(g("Div", x, g("Cast", g("Shape", x, end=1), to=1)))


@mixed
def columns(g):
    g.output(g("Transpose", g("Exp", batch(g, 5)), perm=[1, 0]))


@mixed
def items_behind(g):
    x = g("Transpose", batch(g, 2, 3), perm=[1, 0, 2])
    g.output(g("Reshape", g("Exp", x), ints(-1, 3)))


@mixed
def summed_up(g):
    g.output(g("CumSum", batch(g, 5), numpy.int64(0)))


@mixed
def quantized(g):
    codes, scale, zero = g("DynamicQuantizeLinear", batch(g, 5), outputs=3)
    g.output(g("DequantizeLinear", codes, scale, zero))


@mixed
def cells(g):
    x = g("Transpose", batch(g, 4, 3), perm=[1, 0, 2])
    _, last = g("GRU", x, g.noise(1, 15, 3), g.noise(1, 15, 5), outputs=2,
                hidden_size=5)
    g.output(g("Squeeze", last, ints(0)))


@mixed
def flags(g):
    # A bias for each two items.
    x = g("Reshape", batch(g, 6), ints(-1, 3, 2))
    g.output(g("Where", g("Greater", g("ReduceMax", x, ints(0, 1, 2),
                                       keepdims=0), numpy.float32(0)),
               x, g("Neg", x)))


def isSplit(tenon, folder):
    program = subprocess.run(
        [tenon, "compile", folder / "model.onnx", "--emit=exec", "-o", "-"],
        capture_output=True, text=True, check=True)
    return "exec.pieces" in program.stdout


def main():
    tenon, failures = sys.argv[1], []
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        failures += [
            f"{folder.name} runs {'whole' if folder.name in APART else 'split'}"
            for folder in folders
            if isSplit(tenon, folder) != (folder.name in APART)]
        for how in ["--batch-at-once=1"], ["--batch-at-once=2"], [
                "--batch-at-once=3", "--precision=bf16"], ["--generic"]:
            result = subprocess.run([tenon, "verify", *how, *folders],
                                    capture_output=True, text=True)
            last = result.stdout.strip().split("\n")[-1]
            if last != f"{len(folders)} passed, 0 failed, 0 unsupported":
                failures += [" ".join(how), result.stdout, result.stderr]
    print("\n".join(failures) or f"ok {len(CASES)} graphs")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
