#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that nobody thought of: nodes drawn at random over values drawn at
random, so that kernels are cut, fused and moved in ways that no exporter's
habits give. Compiled for the CPU and for a GPU that is simulated, each computes
what ONNX's evaluator does, for two sets of sizes where they are symbols.

    random_graphs.py TENON FAKE_CUDA [FIRST [COUNT]]

Each seed is a graph of its own; --keep FOLDER writes the models there.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy
from one_block import Block, verified
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

UNARY = ("Abs Atan Cos Elu Erf Gelu HardSigmoid HardSwish LeakyRelu Neg Relu "
         "Sigmoid Sin Softplus Tanh").split()
BINARY = "Add Sub Mul Mul Max Min".split()
REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceSumSquare".split()
# Of a value's largest element: where more is made smaller, and what is less is
# not asked for, as rounding errors are no longer small beside it.
LARGEST, LEAST = 4, 1e-2
MARGIN = 1e-4  # Between what is compared, for the same reason.


def ints(*values):
    return numpy.array(values, numpy.int64)


def is_below(least, value):
    return (value.dtype == numpy.float32 and value.size > 0 and
            numpy.abs(value).max() < least)


class Walk:
    """A graph that grows node by node, with what each value is in each set."""
    MOST_ELEMENTS = 20000
    LENGTHS = (4, 40)
    SHOWN = 0.07  # Of the values that others read, too.

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.block = Block()
        self.block.random = self.random
        self.values = {}  # By name, a value per set; inputs first.
        self.sets = 1

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return options[self.random.integers(len(options))]

    def inputs(self):
        sizes = [{"b": b, "m": m} for b, m in ((2, 5), (1, 9))]
        last = self.choose(4, 6, 8, 17, 48)
        self.sets = self.choose(1, 2, 2)
        for i in range(self.choose(1, 2, 3)):
            dims = self.choose(["b", "m", last], ["b", "m", last], ["m", last],
                               ["b", 1, last], ["b", "m", 1],
                               ["b", 6, "m", last])
            if self.sets == 1:
                dims = [sizes[0].get(d, d) for d in dims]
            values = [self.block.noise(*[of.get(d, d) for d in dims])
                      for of in sizes[:self.sets]]
            self.values[self.block.input(f"x{i}", dims, *values)] = values

    def pick(self, dtype=numpy.float32, rank=0):
        """A value, a late one more often; None where there is none."""
        found = [name for name, values in self.values.items()
                 if values[0].dtype == dtype and values[0].ndim >= rank]
        if not found:
            return None
        return found[-1 - min(int(self.random.exponential(3)), len(found) - 1)]

    def shape(self, name):
        return self.values[name][0].shape

    def axis(self, name):
        return int(self.random.integers(len(self.shape(name))))

    def computed(self, op, operands, outputs, attributes, least=LEAST):
        """What a node gives in each set; None where it is not defined, or gives
        less than is asked for."""
        names = [f"i{i}" for i in range(len(operands))]
        graph = helper.make_graph(
            [helper.make_node(op, names, [f"o{i}" for i in range(outputs)],
                              **attributes)], "node",
            [helper.make_value_info(n, helper.make_tensor_type_proto(1, None))
             for n in names],
            [helper.make_value_info(f"o{i}",
                                    helper.make_tensor_type_proto(1, None))
             for i in range(outputs)])
        node = ReferenceEvaluator(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.block.opset)],
            ir_version=10))
        found = []
        for i in range(self.sets):
            feed = {n: self.values[x][i] if isinstance(x, str) else x
                    for n, x in zip(names, operands)}
            try:
                with numpy.errstate(all="ignore"):
                    found.append([numpy.asarray(x)
                                  for x in node.run(None, feed)])
            except (ValueError, IndexError, RuntimeError, TypeError):
                return None
            if any(x.size > self.MOST_ELEMENTS or x.ndim > 5 or is_below(least, x)
                   for x in found[-1]):
                return None
        return found

    def add(self, op, *operands, outputs=1, **attributes):
        """A node, and one that keeps its result small; None where it has no
        meaning, or an operand is None."""
        if any(x is None for x in operands):
            return None
        found = self.computed(op, operands, outputs, attributes)
        if not found:
            return None
        names = self.block(op, *operands, outputs=outputs, **attributes)
        names = [names] if outputs == 1 else names
        for i, name in enumerate(names):
            self.values[name] = [each[i] for each in found]
            if found[0][i].dtype == numpy.float32 and any(
                    each[i].size and numpy.abs(each[i]).max() > LARGEST
                    for each in found):
                names[i] = self.add(self.choose("Tanh", "Atan"), name)
        return names[0]

    # What a step adds. Each may add nothing.

    def unary(self):
        self.add(self.choose(*UNARY), self.pick())

    def binary(self):
        self.add(self.choose(*BINARY), self.pick(), self.pick())

    def by_constant(self):
        x = self.pick()
        shape = self.choose((), (1,), self.shape(x)[-1:])
        self.add(self.choose(*BINARY), x, self.block.noise(*shape))

    def quotient(self):
        above = self.add("Add", self.add("Abs", self.pick()),
                         numpy.float32(0.5))
        self.add("Div", self.pick(), above)

    def square_root(self):
        square = self.add("Mul", *[self.pick()] * 2)
        self.add("Sqrt", self.add("Add", square, numpy.float32(0.1)))

    def choice(self):
        a, b = self.pick(), self.pick()
        if self.chance(0.5):
            b = numpy.float32(self.random.normal())
        apart = self.computed("Sub", [a, b], 1, {})
        if not apart or any(numpy.abs(x).min(initial=1) < MARGIN
                            for x, in apart):
            return
        flag = self.add(self.choose("Less", "GreaterOrEqual"), a, b)
        self.add("Where", flag, self.pick(), self.pick())

    def integers(self):
        x = self.pick(numpy.int64)
        if not x:
            x = self.add("Shape", self.pick())
            self.add("Cast", x, to=TensorProto.FLOAT)
        self.add(self.choose("Add", "Mul", "Sub"), x, ints(3))

    def product(self):
        x = self.pick(rank=2)
        if x and self.shape(x)[-1] > 0:
            k, n = self.shape(x)[-1], self.choose(1, 4, 8, 33)
            self.add("MatMul", x, self.block.noise(k, n) / float(k) ** 0.5)

    def own_product(self):
        x = self.pick(rank=2)
        if x:
            order = list(range(len(self.shape(x))))
            order[-2:] = reversed(order[-2:])
            scaled = self.add("Mul", x, numpy.float32(0.2))
            self.add("MatMul", scaled, self.add("Transpose", x, perm=order))

    def reduction(self):
        x = self.pick()
        rank = len(self.shape(x))
        if rank:
            axis = int(self.random.integers(-rank, rank))
            self.add(self.choose(*REDUCTIONS), x, ints(axis),
                     keepdims=int(self.chance(0.7)))

    def norm(self):
        x = self.pick(rank=1)
        n = self.shape(x)[-1] if x else 0
        if n > 1 and self.chance(0.5):
            self.add("LayerNormalization", x, self.block.noise(n),
                     self.block.noise(n), axis=-1, epsilon=1e-2)
        elif n:
            self.add(self.choose("Softmax", "Softmax", "LogSoftmax"), x,
                     axis=-1)

    def running_sum(self):
        x = self.pick(rank=1)
        if x:
            self.add("CumSum", x, numpy.int64(-1))

    def turned(self):
        x = self.pick(rank=2)
        if x:
            order = self.random.permutation(len(self.shape(x)))
            self.add("Transpose", x, perm=[int(i) for i in order])

    def renamed(self):
        x = self.pick(rank=1)
        if not x:
            return
        last = self.shape(x)[-1]
        ways = [ints(-1), ints(-1, last), ints(1, -1, last)]
        if last % 2 == 0:
            ways += [ints(-1, 2, last // 2), ints(-1, last // 2)]
        self.add("Reshape", x, self.choose(*ways))

    def extended(self):
        x = self.pick()
        if len(self.shape(x)) < 4:
            self.add("Unsqueeze", x,
                     ints(int(self.random.integers(len(self.shape(x)) + 1))))

    def cut(self):
        x = self.pick(rank=1)
        if not x:
            return
        axis = self.axis(x)
        size = self.shape(x)[axis]
        first, step = self.choose(0, 0, 1, -2), self.choose(1, 1, 2)
        end = self.choose(size // 2, -1, 2**62)
        if self.chance(0.2):
            first, end, step = -1, -(2**62), -1
        self.add("Slice", x, ints(first), ints(end), ints(axis), ints(step))

    def halves(self):
        x = self.pick(rank=1)
        last = self.shape(x)[-1] if x else 1
        if last % 2 or not last:
            return
        low, high = [self.add("Slice", x, ints(i), ints(i + last // 2),
                              ints(-1)) for i in (0, last // 2)]
        if self.chance(0.5):
            low, high = self.add("Neg", high), low
        if self.chance(0.5):
            self.add("Concat", low, high, axis=-1)
        else:
            self.add("Mul", low, self.add("Sigmoid", high))

    def joined(self):
        x, y = self.pick(rank=1), self.pick(rank=1)
        if x:
            axis = self.axis(x)
            self.add("Concat", x, y, axis=axis)

    def padded(self):
        x = self.pick(rank=1)
        if x:
            rank = len(self.shape(x))
            pads = self.random.integers(0, 3, 2 * rank).astype(numpy.int64)
            self.add("Pad", x, pads, numpy.float32(self.choose(0, 0, 1)))

    def repeated(self):
        x = self.pick(rank=1)
        if x:
            rank = len(self.shape(x))
            self.add("Expand", x, numpy.ones(rank + 1, numpy.int64) *
                     ints(self.choose(1, 2), *[1] * rank))

    def gathered(self):
        x = self.pick(rank=1)
        if x:
            axis = self.axis(x)
            self.add("Gather", x, self.choose(ints(0, -1, 0), numpy.int64(0),
                                              ints(0).reshape(1, 1)),
                     axis=axis)

    def windows(self):
        x = self.pick(rank=3)
        if not x or len(self.shape(x)) > 4 or any(
                min(v.shape[2:]) == 0 for v in self.values[x]):
            return
        channels, rank = self.shape(x)[1], len(self.shape(x)) - 2
        how = {"kernel_shape": [3] * rank, "pads": [1] * 2 * rank,
               "strides": [self.choose(1, 2)] * rank}
        if self.chance(0.3):
            self.add("AveragePool", x, count_include_pad=1, **how)
        elif all(v.shape[1] == channels > 0 for v in self.values[x]):
            group = channels if self.chance(0.3) else 1
            maps = group if group > 1 else self.choose(2, 5, 16)
            weight = self.block.noise(maps, channels // group, *[3] * rank)
            size = weight[0].size ** 0.5
            self.add("Conv", x, weight / size, self.block.noise(maps),
                     group=group, **how)

    def pooled(self):
        x = self.pick(rank=3)
        if x and all(min(v.shape) > 0 for v in self.values[x]):
            rank = len(self.shape(x)) - 2
            self.add("MaxPool", x, kernel_shape=[2] * rank, pads=[1] * 2 * rank,
                     strides=[self.choose(1, 2)] * rank)

    def clipped(self):
        self.add("Clip", self.pick(), numpy.float32(-0.5),
                 numpy.float32(self.choose(0.25, 6)))

    def split(self):
        x = self.pick(rank=1)
        n = self.shape(x)[-1] if x else 0
        if n > 1 and all(v.shape[-1] == n for v in self.values[x]):
            first = int(self.random.integers(1, n))
            self.add("Split", x, ints(first, n - first), outputs=2, axis=-1)

    def triangle(self):
        x = self.pick(rank=2)
        if x:
            self.add("Trilu", x, numpy.int64(self.choose(-1, 0, 1)),
                     upper=int(self.chance(0.5)))

    def scattered(self):
        x = self.pick(rank=2)
        if x and self.shape(x)[0] > 0:
            self.add("ScatterND", x, ints(-1).reshape(1, 1),
                     self.add("Slice", x, ints(0), ints(1), ints(0)))

    def attended(self):
        """Nearly what attention is, or just that."""
        q, v = self.pick(rank=3), self.pick(rank=3)
        if not q or len(self.shape(q)) != 3 or not self.shape(q)[-1]:
            return
        k = self.add("Transpose", self.choose(q, v), perm=[0, 2, 1])
        scores = self.add("Mul", self.add("MatMul", q, k), numpy.float32(0.3))
        if self.chance(0.3):
            scores = self.add("Add", scores, self.pick()) or scores
        if self.chance(0.2):
            scores = self.add("Tanh", scores)
        weights = self.add("Softmax", scores, axis=self.choose(-1, -1, -1, 1))
        self.add("MatMul", weights, self.choose(v, q))

    STEPS = ([unary] * 6 + [binary] * 8 + [by_constant] * 3 + [quotient] +
             [square_root] + [choice] * 2 + [integers] + [product] * 3 +
             [own_product] + [reduction] * 3 + [norm] * 2 + [running_sum] +
             [turned] * 3 + [renamed] * 2 + [extended] + [cut] * 2 +
             [halves] * 2 + [joined] * 2 + [padded] + [repeated] +
             [gathered] + [windows] * 2 + [pooled] + [clipped] * 2 + [split] +
             [triangle] + [scattered] + [attended] * 3)

    def step(self):
        self.choose(*self.STEPS)(self)

    def grow(self):
        self.inputs()
        wanted = self.random.integers(*self.LENGTHS)
        for _ in range(4 * wanted):
            if len(self.block.nodes) >= wanted:
                break
            self.step()
        # What nothing reads, and some of what is read.
        read = {x for node in self.block.nodes for x in node.input}
        for name, (value, *_) in list(self.values.items())[::-1]:
            if name.startswith("v") and (name not in read or
                                         self.chance(self.SHOWN)):
                self.block.output(name)
        return self.block


def run(kind, description, usual):
    """Grows walks of a kind, a seed each, so many if nobody says how many, and
    checks what becomes of them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tenon")
    parser.add_argument("driver")
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("count", type=int, nargs="?", default=usual)
    parser.add_argument("--keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = []
        for seed in range(options.first, options.first + options.count):
            block = kind(seed).grow()
            if block.outputs:
                folders.append(pathlib.Path(options.keep or scratch, str(seed)))
                block.write(folders[-1])
        if len(folders) < 0.9 * options.count:
            sys.exit("most seeds must give a graph")
        sys.exit(not verified(options.tenon, folders, options.driver))


if __name__ == "__main__":
    run(Walk, __doc__, 40)
