#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers that nobody thought of: attention, rotated positions, caches,
masks, gated products, cells and what stands between them, each in one of the
forms that exporters give it or nearly so, drawn at random as random_graphs.py
draws nodes. Compiled for the CPU and for a GPU that is simulated, each computes
what ONNX's evaluator does.

    random_tokens.py TENON FAKE_CUDA [FIRST [COUNT]]
"""
import numpy
from onnx import TensorProto
from random_graphs import Walk, ints, run
from recurrences import cell

LOWEST = numpy.finfo(numpy.float32).min
OPEN = 2**62


class Undefined(Exception):
    """A step has come to what has no meaning here."""


class TokenWalk(Walk):
    """A network that grows from rows of tokens: hidden states are [b, m, n]."""
    MOST_ELEMENTS = 40000
    LENGTHS = (20, 110)
    SHOWN = 0.01

    def __init__(self, seed):
        super().__init__(seed)
        self.block.opset = self.choose(20, 20, 23, 24)

    def inputs(self):
        sets = self.choose(((2, 5, 3), (1, 9, 0)), ((1, 1, 7), (2, 6, 2)),
                           ((2, 17, 0), (3, 4, 4)), ((1, 33, 5), (1, 2, 31)),
                           ((1, 8, 8),), ((2, 12, 0),), ((1, 1, 16),))
        self.sets, self.sizes = len(sets), []
        for b, m, p in sets:
            self.sizes.append({"b": b, "m": m, "p": p, "t": p + m,
                               "p + m": p + m,
                               "s": int(self.random.integers(1, 9))})
        self.all = self.choose("t", "p + m")  # The tokens of a mask.
        self.width = self.choose(8, 16, 24, 32, 48, 64)
        self.rotations = {}
        self.ids = self.mask = self.places = self.memory = None
        if self.chance(0.5):
            self.embedded()
        else:
            self.given("x", ["b", "m", self.width])
        if self.chance(0.5):
            self.mask = self.given("mask", ["b", self.all], lambda shape: (
                self.random.random(shape) < 0.8).astype(numpy.int64))
        if self.chance(0.3):
            self.places = self.given("places", ["b", "m"], lambda shape: (
                self.random.integers(0, 40, shape)))

    def given(self, name, dims, draw=None):
        """An input; each dimension that is a symbol has a size in each set."""
        draw = draw or (lambda shape: self.noise(*shape))
        values = [draw([of.get(d, d) for d in dims]) for of in self.sizes]
        if self.sets == 1:
            dims = list(values[0].shape)
        self.values[self.block.input(name, dims, *values)] = values
        return name

    def embedded(self):
        rows = self.choose(7, 40, 100)
        self.ids = self.given("ids", ["b", "m"], lambda shape: (
            self.random.integers(0, rows, shape)))
        self.table = self.held(self.noise(rows, self.width))
        self("Gather", self.table, self.ids)

    def __call__(self, op, *operands, outputs=1, **attributes):
        """A node whose results stay as they are, however large or small."""
        found = self.computed(op, operands, outputs, attributes, least=0)
        if not found:
            raise Undefined
        names = self.block(op, *operands, outputs=outputs, **attributes)
        for i, name in enumerate([names] if outputs == 1 else names):
            self.values[name] = [each[i] for each in found]
        return names

    def noise(self, *shape):
        return self.block.noise(*shape)

    def held(self, value):
        """A constant with a name."""
        name = self.block.constant(value)
        self.values[name] = [value] * self.sets
        return name

    def chain(self, x, *steps):
        """Nodes of one operand and constants behind each other."""
        for op, *others in steps:
            x = self(op, x, *others)
        return x

    def tokens(self):
        """Hidden states, of late steps more often."""
        found = [name for name, values in self.values.items()
                 if values[0].dtype == numpy.float32 and all(
                     v.ndim == 3 and v.shape[:2] == (of["b"], of["m"]) and
                     v.shape[2] == values[0].shape[2] > 1
                     for v, of in zip(values, self.sizes))]
        if not found:
            raise Undefined
        return found[-1 - min(int(self.random.exponential(1)), len(found) - 1)]

    def linear(self, x, n, bias=0.6):
        k = self.shape(x)[-1]
        weight = self.noise(k, n) / numpy.float32(k) ** 0.5
        if self.chance(0.15):
            weight = self("Transpose", self.held(weight.T.copy()),
                          perm=[1, 0])
        if self.chance(0.1) and len(self.shape(x)) == 3:
            rows = self("Reshape", x, ints(-1, k))
            rows = self("Gemm", rows, weight, self.noise(n))
            # As many rows again; b and m may both be symbols.
            sizes = self("Slice", self("Shape", x), ints(0), ints(2))
            return self("Reshape", rows,
                        self("Concat", sizes, ints(n), axis=0))
        y = self("MatMul", x, weight)
        if self.chance(bias):
            b = self.noise(n)
            y = self("Add", *((b, y) if self.chance(0.3) else (y, b)))
        return y

    def activated(self, x):
        way = self.choose("Gelu", "erf", "tanh", "quick", "silu", "Relu",
                          "Tanh", "squared", "Sigmoid", "Swish")
        if way == "erf":
            y = self.chain(x, ("Div", numpy.float32(2 ** 0.5)), ("Erf",),
                           ("Add", numpy.float32(1)))
            return self.chain(x, ("Mul", y), ("Mul", numpy.float32(0.5)))
        if way == "tanh":
            cube = self("Pow", x, numpy.float32(3))
            y = self("Add", x, self("Mul", cube,
                                    numpy.float32(0.044715)))
            y = self.chain(y, ("Mul", numpy.float32((2 / numpy.pi) ** 0.5)),
                           ("Tanh",), ("Add", numpy.float32(1)))
            return self("Mul", self("Mul", x, numpy.float32(0.5)), y)
        if way == "quick":
            y = self.chain(x, ("Mul", numpy.float32(1.702)), ("Sigmoid",))
            return self("Mul", x, y)
        if way == "squared":
            return self.chain(x, ("Relu",), ("Pow", numpy.float32(2)))
        if way == "silu" or way == "Swish" and self.block.opset < 24:
            return self("Mul", x, self("Sigmoid", x))
        return self(way, x)

    def normed(self, x):
        """A norm over the last axis, in a form of some exporter."""
        n = self.shape(x)[-1]
        scale, shift = self.noise(n), self.noise(n)
        tiny = numpy.float32(self.choose(1e-5, 1e-2))
        way = self.choose("layer", "layer parts", "root", "root op", "length")
        if way == "layer":
            return self("LayerNormalization", x, scale, *self.choose(
                [shift], []), axis=-1, epsilon=float(tiny))
        if way == "layer parts":
            apart = self("Sub", x, self("ReduceMean", x, ints(-1)))
            square = self("Pow", apart, numpy.float32(2))
            spread = self.chain(self("ReduceMean", square, ints(-1)),
                                ("Add", tiny), ("Sqrt",))
            return self.chain(apart, ("Div", spread), ("Mul", scale),
                              ("Add", shift))
        if way == "root op" and self.block.opset >= 23:
            return self("RMSNormalization", x, scale, axis=-1,
                        epsilon=float(tiny))
        if way == "length":
            return self("LpNormalization", x, axis=-1, p=2)
        square = self(*self.choose(("Pow", x, numpy.float32(2)),
                                   ("Mul", x, x)))
        root = self.chain(self("ReduceMean", square, ints(-1)),
                          ("Add", tiny), ("Sqrt",))
        if self.chance(0.5):
            y = self("Mul", x, self("Reciprocal", root))
        else:
            y = self("Div", x, root)
        if self.chance(0.2):
            scale = self("Add", scale, numpy.float32(1))
        return self("Mul", *self.choose((y, scale), (scale, y)))

    # Positions, masks and what attention is made of.

    def positions(self):
        """Of each token of x, [b or 1, m]."""
        if self.places:
            return self.places
        if self.mask and self.chance(0.4):
            behind = self("Sub", self("CumSum", self.mask,
                                      numpy.int64(1)), ints(1))
            behind = self("Max", behind, ints(0))
            return self.newest(behind)
        past = self.length("p")
        ends = [self("Squeeze", each, ints(0))
                for each in (past, self("Add", past, self.length("m")))]
        return self("Unsqueeze", self("Range", *ends, numpy.int64(1)),
                    ints(0))

    def newest(self, x):
        """Of [b, t], the last m."""
        count = self("Neg", self.length("m"))
        return self("Slice", x, count, ints(OPEN), ints(1))

    def length(self, symbol):
        """How many tokens there are (m), of the past (p), or both (t), [1]."""
        if symbol == "m":
            x = self.ids or next(iter(self.values))
            return self("Shape", x, start=1, end=2)
        if not self.mask:
            if symbol == "t":
                return self("Add", self.length("p"), self.length("m"))
            past = self.past(1, 4)
            return self("Shape", past, start=2, end=3)
        t = self("Shape", self.mask, start=1, end=2)
        return t if symbol == "t" else self("Sub", t, self.length("m"))

    def past(self, heads, size):
        name = f"past{len(self.block.inputs)}"
        return self.given(name, ["b", heads, "p", size])

    def turned_by(self, x, size):
        """x [b, h, m, d], the first `size` of d turned by where its row is."""
        if size not in self.rotations:
            where = self.chain(self.positions(), ("Unsqueeze", ints(-1)))
            where = self("Cast", where, to=TensorProto.FLOAT)
            by = 10000.0 ** (-numpy.arange(size // 2) / (size // 2))
            angle = self("Mul", where, by.astype(numpy.float32))
            apart = self.chance(0.4)
            if not apart:
                angle = self("Concat", angle, angle, axis=-1)
            self.rotations[size] = apart, [
                self("Unsqueeze", self(op, angle), ints(1))
                for op in ("Cos", "Sin")]
        apart, (cosine, sine) = self.rotations[size]
        whole = self.shape(x)[-1] == size
        part = x if whole else self.slice(x, 0, size)
        if apart and self.chance(0.5):
            even, odd = [self("Slice", part, ints(i), ints(OPEN), ints(-1),
                              ints(2)) for i in (0, 1)]
            pair = [self("Sub", self("Mul", even, cosine),
                         self("Mul", odd, sine)),
                    self("Add", self("Mul", even, sine),
                         self("Mul", odd, cosine))]
            pair = [self("Unsqueeze", each, ints(-1)) for each in pair]
            turned = self("Concat", *pair, axis=-1)
            turned = self("Reshape", turned, ints(
                0, self.shape(x)[1], -1, size))
        else:
            if apart:
                cosine, sine = [self("Concat", each, each, axis=-1)
                                for each in (cosine, sine)]
            low, high = (self.slice(part, 0, size // 2),
                         self.slice(part, size // 2, size))
            turned = self("Concat", self("Neg", high), low, axis=-1)
            turned = self("Add", self("Mul", part, cosine),
                          self("Mul", turned, sine))
        if whole:
            return turned
        return self("Concat", turned, self.slice(x, size, OPEN), axis=-1)

    def slice(self, x, first, end, axis=-1):
        return self("Slice", x, ints(first), ints(end), ints(axis))

    def allowed(self, keys):
        """Which keys each row may look at, as a flag for each, or None."""
        flags = []
        if keys != "s" and self.chance(0.6):
            columns, rows = [
                self("Range", numpy.int64(0), self(
                    "Squeeze", self.length(each), ints(0)), numpy.int64(1))
                for each in (keys, "m")]
            if keys == "t":
                rows = self("Add", rows, self.length("p"))
            rows = self("Unsqueeze", rows, ints(1))
            flags.append(self("LessOrEqual", columns, rows))
            if self.chance(0.2):
                after = self("Sub", rows, ints(self.choose(2, 4)))
                flags.append(self("Greater", columns, after))
        if self.mask and keys == "t" and self.chance(0.8):
            real = self("Cast", self.mask, to=TensorProto.BOOL)
            flags.append(self("Unsqueeze", real, ints(1, 2)))
        both = flags.pop() if flags else None
        for flag in flags:
            both = self("And", both, flag)
        return both

    def masked(self, scores, flags):
        """Scores, and less where a key may not be looked at."""
        lowest = numpy.float32(self.choose(-numpy.inf, LOWEST, -1e4, -1e9))
        way = self.choose("where", "bias", "product")
        if way == "where":
            if self.chance(0.5):
                return self("Where", self("Not", flags), lowest,
                            scores)
            return self("Where", flags, scores, lowest)
        if way == "bias":
            bias = self("Where", flags, numpy.float32(0), lowest)
        else:
            off = self("Cast", flags, to=TensorProto.FLOAT)
            off = self("Sub", numpy.float32(1), off)
            bias = self("Mul", off, numpy.float32(max(lowest, LOWEST)))
        return self("Add", *self.choose((scores, bias), (bias, scores)))

    def weighed(self, q, k, v, size, keys):
        """Attention written out: q [b, h, m, d], k and v [b, h, t, d]."""
        scale = size ** -0.5
        way = self.choose("q", "k", "both", "scores", "divided")
        if way in ("q", "both"):
            by = scale if way == "q" else scale ** 0.5
            q = self("Mul", q, numpy.float32(by))
        if way in ("k", "both"):
            by = scale if way == "k" else scale ** 0.5
            k = self("Mul", k, numpy.float32(by))
        scores = self("MatMul", q,
                      self("Transpose", k, perm=[0, 1, 3, 2]))
        if way == "scores":
            scores = self("Mul", scores, numpy.float32(scale))
        elif way == "divided":
            scores = self("Div", scores, numpy.float32(1 / scale))
        if self.chance(0.15):
            top = numpy.float32(self.choose(5, 30))
            scores = self.chain(scores, ("Div", top), ("Tanh",), ("Mul", top))
        if self.chance(0.15):
            slopes = self.noise(self.shape(q)[1], 1, 1)
            columns = self("Range", numpy.int64(0), self(
                "Squeeze", self("Shape", k, start=2, end=3), ints(0)),
                numpy.int64(1))
            columns = self("Cast", columns, to=TensorProto.FLOAT)
            scores = self("Add", scores, self(
                "Mul", columns, slopes / numpy.float32(8)))
        flags = self.allowed(keys)
        if flags:
            scores = self.masked(scores, flags)
        if self.chance(0.1) and self.sets == 1 and keys != "s":
            scores = self("Add", scores, self.noise(
                *self.values[scores][0].shape[-2:]))
        weights = self("Softmax", scores, axis=-1)
        if flags and self.chance(0.3):
            wrong = self("IsNaN", weights)
            weights = self("Where", wrong, numpy.float32(0), weights)
        return self("MatMul", weights, v)

    def by_op(self, q, k, v, keys):
        """Attention as one node."""
        causal = int(keys == "m" and self.chance(0.5))
        flags = None if causal else self.allowed(keys)
        how = {"scale": self.choose(0.25, 0.4)} if self.chance(0.3) else {}
        if flags and self.chance(0.4):
            flags = self("Where", flags, numpy.float32(0),
                         numpy.float32(LOWEST))
        if self.chance(0.2):
            how["softcap"] = 5.0
        return self("Attention", q, k, v, *([flags] if flags else []),
                    is_causal=causal, **how)

    def in_heads(self, x, heads, size):
        """x [b, m, h * d] as [b, h, m, d]."""
        x = self("Reshape", x, ints(0, self.choose(0, -1), heads, size))
        return self("Transpose", x, perm=[0, 2, 1, 3])

    def of_heads(self, x):
        """The other way around."""
        _, heads, _, size = self.shape(x)
        x = self("Transpose", x, perm=[0, 2, 1, 3])
        return self("Reshape", x, ints(0, self.choose(0, -1), heads * size))

    def projected(self, x, memory, heads, groups, size):
        """What attends, what is attended to, and its values."""
        n, held = heads * size, groups * size
        if memory == x and self.chance(0.4):
            all_three = self.linear(x, n + 2 * held)
            if heads == groups and self.chance(0.4):
                y = self("Reshape", all_three, ints(0, self.choose(0, -1),
                                                    3, heads, size))
                y = self("Transpose", y, perm=[2, 0, 3, 1, 4])
                if self.chance(0.5):
                    return [self("Gather", y, numpy.int64(i), axis=0)
                            for i in range(3)]
                return [self("Squeeze", each, ints(0)) for each in
                        self("Split", y, outputs=3, num_outputs=3)]
            parts = self("Split", all_three, ints(n, held, held),
                         outputs=3, axis=-1)
        else:
            parts = [self.linear(x, n), self.linear(memory, held),
                     self.linear(memory, held)]
        return [self.in_heads(each, count, size) for each, count in
                zip(parts, (heads, groups, groups))]

    def attended(self, x, memory):
        """The attention of x to itself or to a memory, projected back."""
        groups, each = self.choose(1, 2, 2, 3, 4), self.choose(1, 1, 1, 2, 4)
        size = self.choose(4, 8, 8, 16, 20, 32)
        heads = groups * each
        q, k, v = self.projected(x, memory, heads, groups, size)
        if memory == x and self.chance(0.2):
            q, k = self.normed(q), self.normed(k)
        if memory == x and self.chance(0.5):
            part = self.choose(size, size, size // 2)
            q, k = self.turned_by(q, part), self.turned_by(k, part)
        keys = "m" if memory == x else "s"
        if memory == x and self.chance(0.5):
            k, v = [self("Concat", self.past(groups, size), y, axis=2)
                    for y in (k, v)]
            self.block.output(k, v)
            keys = "t"
        by_op = self.block.opset >= 23 and self.chance(0.5)
        if each > 1 and not (by_op and self.chance(0.5)):
            k, v = [self.repeated_heads(y, groups, each, size) for y in (k, v)]
        if by_op:
            y = self.by_op(q, k, v, keys)
        else:
            y = self.weighed(q, k, v, size, keys)
        return self.linear(self.of_heads(y), self.width)

    def repeated_heads(self, x, groups, each, size):
        x = self("Unsqueeze", x, ints(2))
        x = self("Expand", x, ints(1, 1, each, 1, 1))
        return self("Reshape", x, ints(0, groups * each, -1, size))

    # What a step adds. Each may add nothing.

    def before(self, x):
        return self.normed(x) if self.chance(0.7) else x

    def added(self, x, y):
        """The residual sum of both, if they are as wide; and a norm."""
        if self.shape(x)[-1] == self.shape(y)[-1] and self.chance(0.8):
            y = self("Add", *self.choose((x, y), (y, x)))
        if self.chance(0.2):
            self.normed(y)

    def self_attention(self):
        x = self.tokens()
        y = self.before(x)
        self.added(x, self.attended(y, y))

    def cross_attention(self):
        x = self.tokens()
        if not self.memory:
            self.memory = self.given("memory", ["b", "s", self.choose(8, 24)])
        self.added(x, self.attended(self.before(x), self.memory))

    def perceptron(self):
        x = self.tokens()
        y = self.activated(self.linear(self.before(x),
                                       self.width * self.choose(1, 2, 3)))
        self.added(x, self.linear(y, self.width))

    def gated(self):
        x = self.tokens()
        y, n = self.before(x), self.width * self.choose(1, 2)
        if self.chance(0.5):
            gate, up = self.linear(y, n, 0.2), self.linear(y, n, 0.2)
        else:
            gate, up = self("Split", self.linear(y, 2 * n, 0.2), outputs=2,
                            axis=-1, num_outputs=2)
        gate = self.activated(gate)
        y = self("Mul", *self.choose((gate, up), (up, gate)))
        self.added(x, self.linear(y, self.width, 0.2))

    def experts(self):
        """Each expert computes all; what a router gives weighs them."""
        x = self.tokens()
        y, count = self.before(x), self.choose(2, 3, 4)
        router = self("Softmax", self.linear(y, count, 0), axis=-1)
        top = self("ReduceMax", router, ints(-1))
        router = self("Where", self("Less", router, top),
                      numpy.float32(0), router)
        total = None
        for i in range(count):
            each = self.linear(self.activated(self.linear(y, self.width)),
                               self.width)
            each = self("Mul", each, self.slice(router, i, i + 1))
            total = self("Add", total, each) if total else each
        self.added(x, total)

    def recurrent(self):
        x = self.tokens()
        kind, units = self.choose("LSTM", "GRU", "RNN"), self.choose(4, 8, 20,
                                                                     self.width)
        how = {"direction": self.choose("forward", "reverse", "bidirectional")}
        if kind == "GRU":
            how["linear_before_reset"] = self.choose(0, 1)
        directions = 1 + (how["direction"] == "bidirectional")
        y = self("Transpose", x, perm=[1, 0, 2])
        results = cell(self, kind, y, self.shape(x)[-1], units, **how)
        y = self("Transpose", results[0], perm=[2, 0, 1, 3])
        y = self("Reshape", y, ints(0, self.choose(0, -1),
                                    directions * units))
        self.added(x, y)

    def mixed(self):
        """A convolution along the tokens that sees none of the future."""
        x = self.tokens()
        n, taps = self.shape(x)[-1], self.choose(2, 3, 4)
        y = self("Transpose", x, perm=[0, 2, 1])
        group = self.choose(1, n, n)
        weight = self.noise(n, n // group, taps)
        y = self("Conv", y, weight / numpy.float32(weight[0].size) ** 0.5,
                 self.noise(n), group=group, kernel_shape=[taps],
                 pads=[taps - 1, 0])
        if self.chance(0.5):
            y = self.activated(y)
        self.added(x, self("Transpose", y, perm=[0, 2, 1]))

    def shifted(self):
        """Each token mixed with the one before it."""
        x = self.tokens()
        n = self.shape(x)[-1]
        if self.chance(0.5):
            y = self("Pad", x, ints(0, 1, 0, 0, -1, 0))
        else:
            y = self("Concat", self("Mul", self.slice(x, 0, 1, 1),
                                    numpy.float32(0)),
                     self.slice(x, 0, -1, 1), axis=1)
        share = numpy.abs(self.noise(n))
        y = self("Add", self("Mul", x, share),
                 self("Mul", y, 1 - share))
        self.added(x, self.linear(y, self.width))

    def linear_attention(self):
        x = self.tokens()
        heads, size = self.choose(1, 2, 4), self.choose(4, 8)
        q, k, v = self.projected(x, x, heads, heads, size)
        q, k = [self.chain(each, ("Elu",), ("Add", numpy.float32(1)))
                for each in (q, k)]
        state = self("MatMul", self("Transpose", k, perm=[0, 1, 3, 2]),
                     v)
        total = self("ReduceSum", k, ints(2))
        under = self("ReduceSum", self("Mul", q, total), ints(-1))
        y = self("Div", self("MatMul", q, state), under)
        self.added(x, self.linear(self.of_heads(y), self.width))

    def summed_up(self):
        """One row for all tokens: the mean of those that are, the first, the
        last; added to each again, or not."""
        x = self.tokens()
        way = self.choose("mean", "masked", "first", "last", "largest")
        if way == "masked" and self.mask:
            real = self("Unsqueeze", self(
                "Cast", self.newest(self.mask), to=TensorProto.FLOAT), ints(-1))
            total = self("ReduceSum", self("Mul", x, real), ints(1))
            many = self("ReduceSum", real, ints(1))
            y = self("Div", total, self("Max", many,
                                        numpy.float32(1)))
        elif way in ("first", "last"):
            y = self("Gather", x, ints(0 if way == "first" else -1), axis=1)
        else:
            y = self("ReduceMax" if way == "largest" else "ReduceMean", x,
                     ints(1))
        y = self.activated(self.linear(y, self.width))
        if self.shape(x)[-1] == self.width and self.chance(0.5):
            self.added(x, self("Mul", x, self("Sigmoid", y)))

    def logits(self):
        if self.ids and not self.chance(0.3):
            x = self.tokens()
            if self.shape(x)[-1] == self.width:
                y = self.normed(x)
                if self.chance(0.4):
                    y = self.slice(y, -1, OPEN, 1)
                self("MatMul", y, self("Transpose", self.table,
                                       perm=[1, 0]))

    def other(self):
        """A step of no transformer."""
        self.choose(Walk.unary, Walk.binary, Walk.by_constant, Walk.halves,
                    Walk.turned, Walk.cut, Walk.reduction, Walk.split,
                    Walk.choice)(self)

    STEPS = ([self_attention] * 8 + [cross_attention] * 2 + [perceptron] * 3 +
             [gated] * 3 + [experts, recurrent, mixed, shifted] +
             [linear_attention, logits] + [summed_up] * 2 + [other] * 3)

    def step(self):
        try:
            super().step()
        except Undefined:
            pass


if __name__ == "__main__":
    run(TokenWalk, __doc__, 25)
