# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions, masks and states that are almost what they seem."""
import numpy
from onnx import TensorProto
from one_block import INFINITY, LOWEST, variants

CASES = {}
B, H, D = 2, 4, 8
SIZES = (3, 5), (5, 5), (1, 4)  # Queries and keys of each data set.


def ints(*values):
    return numpy.array(values, numpy.int64)


class Attention:
    """Query, key and value, and positions of their elements."""

    def __init__(self, g, sizes=SIZES):
        self.g, self.sizes = g, sizes
        g.input("q", ["B", H, "S", D], *[g.noise(B, H, s, D) for s, _ in sizes])
        g.input("k", ["B", H, "T", D], *[g.noise(B, H, t, D) for _, t in sizes])
        g.input("v", ["B", H, "T", D], *[g.noise(B, H, t, D) for _, t in sizes])
        self.scores = g("MatMul", "q", g("Transpose", "k", perm=[0, 1, 3, 2]))
        self.batch, self.queries = self.size("q", 0), self.size("q", 2)
        self.keys = self.size("k", 2)
        self.i = self.positions(self.queries, 1, 1, -1, 1)
        self.j = self.positions(self.keys, 1, 1, 1, -1)
        self.b = self.positions(self.batch, -1, 1, 1, 1)
        self.past = g("Sub", self.keys, self.queries)
        self.place = g("Add", self.i, self.past)

    def size(self, name, axis):
        return self.g("Gather", self.g("Shape", name), numpy.int64(axis))

    def positions(self, count, *shape):
        steps = self.g("Range", numpy.int64(0), count, numpy.int64(1))
        return self.g("Reshape", steps, ints(*shape))

    def mask(self, dims=("B", "T"), extra=0, values=None):
        """An input with a number per key; the first data set has a row without
        any that is not 0."""
        g, masks = self.g, []
        for _, keys in self.sizes:
            made = g.random.integers(0, 2, (B, keys + extra))
            if not masks:
                made[0] = 0
            masks.append(values(keys) if values else made)
        g.input("m", list(dims), *[mask.astype(numpy.int64) for mask in masks])
        return "m"

    def coarsen(self):
        """Makes scores such that a fill of some thousands loses no bit of them,
        whoever adds it in which order: rows without a key have nothing else."""
        for feed in self.g.feeds:
            for name in ("q", "k"):
                feed[name] = numpy.round(feed[name] * 8) / 8

    def of_keys(self, mask):
        return self.g("Unsqueeze", mask, ints(1, 2))

    def kept(self, mask):
        return self.of_keys(self.g("Cast", mask, to=TensorProto.BOOL))

    def fill(self, allowed, number=LOWEST):
        return self.g("Where", allowed, numpy.float32(0), numpy.float32(number))

    def finish(self, scores, guarded=False, axis=-1):
        weights = self.g("Softmax", scores, axis=axis)
        if guarded:
            weights = self.g("Where", self.g("IsNaN", weights),
                             numpy.float32(0), weights)
        self.g.output(self.g("MatMul", weights, "v"))

    def add(self, *addends, **how):
        scores = self.scores
        for addend in addends:
            scores = self.g("Add", scores, addend)
        self.finish(scores, **how)


def case(function):
    CASES[function.__name__] = lambda g: function(g, Attention(g))
    return function


# Without that attention.
blocks = variants(CASES)


def cases(prefix, **values):
    def add(function):
        blocks(prefix, **values)(
            lambda g, value: function(g, Attention(g), value))
        return function
    return add


# What is done to scores, and in which order.


@cases("axis", queries=2, heads=1)
def axis(g, a, axis):
    a.finish(a.scores, axis=axis)


@case
def cap_behind_mask(g, a):
    scores = g("Add", a.scores, a.fill(a.kept(a.mask())))
    cap = numpy.float32(5)
    a.finish(g("Mul", g("Tanh", g("Div", scores, cap)), cap))


@cases("cap", uneven=(2, 3), negative=(-5, -5), right=(5, 5))
def cap(g, a, caps):
    inner, outer = map(numpy.float32, caps)
    a.finish(g("Mul", g("Tanh", g("Div", a.scores, inner)), outer))


@cases("scale", zero=0, negative=-0.7, infinite=INFINITY, nan=float("nan"))
def scale(g, a, factor):
    a.finish(g("Mul", a.scores, numpy.float32(factor)))


@cases("scale_behind_mask", small=-3, lowest=LOWEST)
def scale_behind_mask(g, a, number):
    scores = g("Add", a.scores, a.fill(a.kept(a.mask()), number))
    a.finish(g("Mul", scores, numpy.float32(0.25)))


@case
def scale_per_head(g, a):
    factors = numpy.arange(1, 5, dtype=numpy.float32).reshape(1, 4, 1, 1)
    a.finish(g("Mul", a.scores, factors / 4))


@case
def scores_are_output(g, a):
    g.output(a.scores)
    a.finish(g("Mul", a.scores, numpy.float32(0.25)))


@cases("scores_with_themselves", sum="Add", square="Mul")
def scores_with_themselves(g, a, op):
    a.finish(g(op, a.scores, a.scores))


# Fills.


@cases("fill", lowest=LOWEST, infinite=-INFINITY, hundred=-100,
       ten_thousand=-10000, least_that_absorbs=-1e30, less=-1e29,
       positive=INFINITY, nan=float("nan"))
def fill(g, a, number):
    a.coarsen()
    a.add(a.fill(a.kept(a.mask()), number))


@cases("guarded_fill", lowest=LOWEST, infinite=-INFINITY, hundred=-100,
       nan=float("nan"))
def guarded_fill(g, a, number):
    a.add(a.fill(a.kept(a.mask()), number), guarded=True)


@cases("replaced", lowest=LOWEST, infinite=-INFINITY, ten_thousand=-10000,
       billion=-1e9)
def replaced(g, a, number):
    a.finish(g("Where", a.kept(a.mask()), a.scores, numpy.float32(number)))


@cases("replaced_by_a_billion_and_masked", replaced_last=True,
       masked_last=False)
def replaced_by_a_billion_and_masked(g, a, replaced_last):
    before, mask = g("LessOrEqual", a.j, a.place), a.fill(a.kept(a.mask()), -1e9)
    scores = a.scores
    if replaced_last:
        scores = g("Add", scores, mask)
    scores = g("Where", before, scores, numpy.float32(-1e9))
    a.finish(scores if replaced_last else g("Add", scores, mask))


@cases("kept", infinite=(-INFINITY, "m"), lowest=(LOWEST, "m"),
       billion=(-1e9, "m"), small=(-100, "m"), causal=(-1e9, "before"),
       by_another=(-1e9, "other"))
def kept(g, a, variant):
    # The weights of hidden keys are made 0 behind the softmax.
    number, by = variant
    mask = a.kept(a.mask())
    before = g("LessOrEqual", a.j, g("Sub", a.place, ints(1)))
    shown = before if by == "before" else mask
    weights = g("Softmax", g("Where", shown, a.scores, numpy.float32(number)),
                axis=-1)
    by = before if by == "other" else shown
    g.output(g("MatMul", g("Where", by, weights, numpy.float32(0)), "v"))


@cases("kept_by_product", infinite=-INFINITY, lowest=LOWEST, billion=-1e9)
def kept_by_product(g, a, number):
    # Of a row of -inf the product is NaN.
    mask = a.kept(a.mask())
    weights = g("Softmax", g("Where", mask, a.scores, numpy.float32(number)),
                axis=-1)
    mask = g("Cast", mask, to=TensorProto.FLOAT)
    g.output(g("MatMul", g("Mul", weights, mask), "v"))


@case
def replaced_then_masked(g, a):
    before = g("LessOrEqual", a.j, a.place)
    scores = g("Where", before, a.scores, LOWEST)
    a.finish(g("Add", scores, a.fill(a.kept(a.mask()))))


@case
def mask_twice(g, a):
    mask = a.fill(a.kept(a.mask()))
    a.add(mask, mask)


@cases("two_masks", lowest=(LOWEST, LOWEST), infinite=(-INFINITY, -INFINITY),
       mixed=(-INFINITY, LOWEST))
def two_masks(g, a, numbers):
    before = g("LessOrEqual", a.j, g("Add", a.place, ints(1)))
    a.add(a.fill(a.kept(a.mask()), numbers[0]), a.fill(before, numbers[1]))


@cases("bias_of_that_size", low=-1e38, high=3e38, nan=float("nan"))
def bias_of_that_size(g, a, number):
    bias = numpy.full((1, H, 1, 1), number, numpy.float32)
    a.add(a.fill(g("LessOrEqual", a.j, a.place)), bias)


@cases("lifted", to_lowest=LOWEST, too_high=-10)
def lifted(g, a, floor):
    scores = g("Add", a.scores, a.fill(a.kept(a.mask()), -INFINITY))
    a.finish(g("Max", scores, numpy.float32(floor)))


@case
def saturated(g, a):
    # The lowest number becomes 0 in bytes: there is no mask.
    scale, zero = numpy.float32(1), numpy.uint8(0)
    mask = g("QuantizeLinear", a.fill(a.kept(a.mask())), scale, zero)
    a.add(g("DequantizeLinear", mask, scale, zero))


# Which key is seen.


@cases("positions", causal=0, strict=1, behind=2, ahead=-1)
def positions(g, a, distance):
    a.add(a.fill(g("LessOrEqual", a.j, g("Sub", a.place, ints(distance)))))


@case
def causal_from_the_top(g, a):
    a.add(a.fill(g("LessOrEqual", a.j, a.i)))


@case
def causal_by_the_past_of_an_input(g, a):
    past = g.input("past", [], *[numpy.array(n, numpy.int64) for n in (1, 0, 2)])
    a.add(a.fill(g("LessOrEqual", a.j, g("Add", a.i, past))))


@case
def causal_by_position_ids(g, a):
    made = [g.random.integers(0, keys, (B, queries))
            for queries, keys in a.sizes]
    at = g("Unsqueeze", g.input("at", ["B", "S"], *made), ints(1, 3))
    a.add(a.fill(g("LessOrEqual", a.j, at)))


@cases("window", exact="Greater", with_its_end="GreaterOrEqual",
       reversed="Less")
def window(g, a, op):
    near = g(op, a.j, g("Sub", a.place, ints(2)))
    a.add(a.fill(g("And", g("LessOrEqual", a.j, a.place), near)))


@case
def window_of_another_offset(g, a):
    near = g("Greater", a.j, g("Sub", a.i, ints(2)))
    a.add(a.fill(g("And", g("LessOrEqual", a.j, a.place), near)))


@case
def every_second_key(g, a):
    even = g("Equal", g("Mod", a.j, ints(2)), ints(0))
    a.add(a.fill(even))


@case
def mask_or_causal(g, a):
    before = g("LessOrEqual", a.j, a.place)
    a.add(a.fill(g("Or", before, a.kept(a.mask()))))


@case
def mask_of_queries_and_keys(g, a):
    # As many queries as batches: [S, T], not [B, T].
    made = [numpy.tril(numpy.ones((s, t), bool), t - s) for s, t in a.sizes]
    a.add(a.fill(g.input("m", ["S", "T"], *made)))


def batches_and_queries(g):
    a = Attention(g, sizes=((B, 4), (B, 5)))
    made = [g.random.integers(0, 2, (B, t)) > 0 for _, t in a.sizes]
    a.add(a.fill(g.input("m", ["S", "T"], *made)))


CASES["mask_of_as_many_queries_as_batches"] = batches_and_queries


# Masks of keys.


def flat(g, a, mask, batch, key):
    width = a.size(mask, 1)
    flags = g("Reshape", g("Cast", mask, to=TensorProto.BOOL), ints(-1))
    return g("Gather", flags, g("Add", g("Mul", batch, width), key))


@cases("flat_mask", right="j", reversed="back", shifted="next", of_queries="i",
       stretched="twice")
def flat_mask(g, a, which):
    mask = a.mask(("B", "W"), extra=5)
    last = g("Sub", a.keys, ints(1))
    key = {"j": a.j, "back": g("Sub", last, a.j), "i": a.i,
           "next": g("Add", a.j, ints(2)), "twice": g("Mul", a.j, ints(2))}
    a.add(a.fill(flat(g, a, mask, a.b, key[which])))


@case
def flat_mask_of_other_batches(g, a):
    batch = g("Sub", g("Sub", a.batch, ints(1)), a.b)
    a.add(a.fill(flat(g, a, a.mask(("B", "W"), extra=2), batch, a.j)))


@cases("mask_per_batch", right=False, reversed=True)
def mask_per_batch(g, a, is_reversed):
    key = g("Sub", g("Sub", a.keys, ints(1)), a.j) if is_reversed else a.j
    shape = g("Concat", g("Reshape", a.batch, ints(1)),
              g("Reshape", a.keys, ints(1)), axis=0)
    keys = g("Expand", g("Reshape", key, ints(1, -1)), shape)
    flags = g("GatherND", g("Cast", a.mask(("B", "W"), extra=2),
                            to=TensorProto.BOOL),
              g("Unsqueeze", keys, ints(2)), batch_dims=1)
    a.add(a.fill(a.of_keys(flags)))


def some_twos(keys):
    mask = numpy.ones((B, keys))
    mask[0, :2], mask[1, -1] = 0, 2
    return mask


@cases("two", keeps=("Greater", 0), is_masked=("Equal", 1))
def two(g, a, variant):
    op, number = variant
    mask = a.of_keys(a.mask(values=some_twos))
    a.add(a.fill(g(op, mask, numpy.int64(number))))


@cases("two_of_optimum", masked=1, kept=2)
def two_of_optimum(g, a, kept):
    # m != kept ? lowest : 1 - m
    mask = a.of_keys(a.mask(values=some_twos))
    mask = g("Cast", mask, to=TensorProto.FLOAT)
    rest = g("Sub", numpy.float32(1), mask)
    differs = g("Cast", g("Sub", numpy.float32(kept), mask),
                to=TensorProto.BOOL)
    a.add(g("Where", differs, LOWEST, rest))


@cases("times_lowest", bools=True, numbers=False)
def times_lowest(g, a, is_bool):
    # (1 - m) lowest: of m = 2 the highest number, unless m was made a bool.
    mask = a.mask(values=some_twos)
    if is_bool:
        mask = g("Cast", mask, to=TensorProto.BOOL)
    mask = g("Cast", a.of_keys(mask), to=TensorProto.FLOAT)
    a.add(g("Mul", g("Sub", numpy.float32(1), mask), LOWEST))


@cases("own_keys", replaced="replaced", added="added", product="product",
       bias="bias", causal="causal")
def own_keys(g, a, how):
    # As many as there are, by a symbol of their own: or one, which all share.
    # Where positions are compared there is one for each key.
    counts = [keys if i == 0 or how == "causal" else 1
              for i, (_, keys) in enumerate(a.sizes)]
    if how == "bias":
        bias = [g.noise(B, 1, queries, n)
                for (queries, _), n in zip(a.sizes, counts)]
        a.add(g.input("m", ["B", 1, "S", "N"], *bias))
        return
    g.input("m", ["B", "N"], *[g.random.integers(0, 2, (B, n)) for n in counts])
    if how == "product":
        number = g("Cast", a.of_keys("m"), to=TensorProto.FLOAT)
        a.add(g("Mul", g("Sub", numpy.float32(1), number), numpy.float32(-1e4)))
        return
    kept = a.kept("m")
    if how == "causal":
        columns = a.positions(a.size("m", 1), 1, 1, 1, -1)
        kept = g("And", kept, g("LessOrEqual", columns, a.place))
    if how == "added":
        a.add(a.fill(kept))
    else:
        a.finish(g("Where", kept, a.scores, LOWEST))


# Attention that is one node.


def whole_node(g, mask=None, **attributes):
    g.opset = 23
    g.input("q", [B, H, 5, D], g.noise(B, H, 5, D))
    for name in "kv":
        g.input(name, [B, 2, 7, D], g.noise(B, 2, 7, D))
    operands = ["q", "k", "v"]
    if mask is not None:
        operands.append(g.input("m", list(mask.shape), mask))
    g.output(g("Attention", *operands, **attributes))


def seen(g, *shape):
    """Random bools; the first row is of nothing but False."""
    made = g.random.random((*shape, 5, 7)) > 0.4
    made[..., 0, :] = False
    return made


def as_numbers(allowed, fill):
    return numpy.where(allowed, 0, fill).astype(numpy.float32)


CASES["node_bools"] = lambda g: whole_node(g, seen(g))
CASES["node_bools_of_batches"] = lambda g: whole_node(g, seen(g, B, 1))
CASES["node_bools_and_causal"] = (
    lambda g: whole_node(g, seen(g), is_causal=1))
CASES["node_infinite"] = (
    lambda g: whole_node(g, as_numbers(seen(g), -INFINITY), softcap=2.0))
CASES["node_lowest"] = lambda g: whole_node(g, as_numbers(seen(g), LOWEST))
CASES["node_hundred"] = lambda g: whole_node(g, as_numbers(seen(g), -100))
CASES["node_causal"] = lambda g: whole_node(g, is_causal=1)


# Windows and heads that are folded.


@blocks("bias_of_windows", by_turns=True, in_rows=False)
def bias_of_windows(g, by_turns):
    # Of six batches each third one has the same bias, or each pair.
    q, k, v = [g.input(x, [6, H, 5, D], g.noise(6, H, 5, D))
               for x in "qkv"]
    bias = g.constant(g.noise(3, H, 5, 5) * 2)
    axis = 0 if by_turns else 1
    shape = (2, 3, H, 5, 5) if by_turns else (3, 2, H, 5, 5)
    copies = g("Expand", g("Unsqueeze", bias, ints(axis)), ints(*shape))
    scores = g("Add", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])),
               g("Reshape", copies, ints(6, H, 5, 5)))
    g.output(g("MatMul", g("Softmax", scores, axis=-1), v))


@blocks("folded_heads", behind=(B, H), in_front=(H, B))
def folded_heads(g, split):
    # Batch and heads in one axis, whichever of them is outside.
    q, k, v = [g.input(x, [B * H, 5, D], g.noise(B * H, 5, D))
               for x in "qkv"]
    mask = g.input("m", [B, 5], g.random.random((B, 5)) > 0.4)
    axes = ints(1, 2) if split == (B, H) else ints(0, 2)
    mask = g("Where", g("Unsqueeze", mask, axes), numpy.float32(0), LOWEST)
    scores = g("MatMul", q, g("Transpose", k, perm=[0, 2, 1]))
    scores = g("Add", g("Reshape", scores, ints(*split, 5, 5)), mask)
    weights = g("Softmax", g("Reshape", scores, ints(B * H, 5, 5)), axis=-1)
    g.output(g("MatMul", weights, v))


# Heads that are repeated.


@cases("repeat", right=("next", 2, 2), as_a_whole=("tiled", 2, 2),
       of_other_groups=("next", 2, 4), of_one_head=("tiled", 1, 1))
def repeat(g, _, variant):
    how, keys, values = variant

    def repeated(name, count):
        x = g.input(name, [B, count, 5, D], *[g.noise(B, count, 5, D)] * 3)
        if how == "tiled":
            return g("Tile", x, ints(1, H // count, 1, 1))
        copies = g("Expand", g("Unsqueeze", x, ints(2)),
                   ints(B, count, H // count, 5, D))
        return g("Reshape", copies, ints(B, H, 5, D))

    key, value = repeated("key", keys), repeated("value", values)
    scores = g("MatMul", "q", g("Transpose", key, perm=[0, 1, 3, 2]))
    g.output(g("MatMul", g("Softmax", scores, axis=-1), value), key)


# States.


@cases("state", appended=(), new_first=("first",), read_too=("read",),
       other_axis=("heads",), turned_behind=("turned",))
def state(g, a, how):
    new = [g.noise(B, H, 2, D) for _ in a.sizes]
    g.input("new", ["B", H, 2, D], *new)
    parts = ["new", "k"] if "first" in how else ["k", "new"]
    axis = 2
    if "heads" in how:
        axis, parts = 1, ["k", "k"]
    present = g("Concat", *parts, axis=axis)
    key = present
    if "turned" in how:
        key = g("Neg", present)
    query = g("Concat", "q", "q", axis=1) if "heads" in how else "q"
    scores = g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2]))
    g.output(g("MatMul", g("Softmax", scores, axis=-1), present), present)
    if "read" in how:
        g.output(g("ReduceSum", "k", ints(2)))
