#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose steps only a run counts, against loops of Python: on the CPU, and
on a simulated GPU. What the compiler refuses, and what a run refuses, is refused
with its reason.

    loops.py TENON DRIVER
"""
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnx.parser

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'

# Each doubles v and adds the number of its step.
STEP = """step (int64 i, bool go, float[2] v) => (bool still, float[2] next{row}) {{
    twice = Add (v, v)
    number = Cast <to = 1> (i)
    next = Add (twice, number)
    {condition}
  }}"""


def step(condition="still = Identity (go)", row=True):
    return STEP.format(row=", float[2] next" if row else "", condition=condition)


BELOW = """end = Constant <value = float {50.0}> ()
    sum = ReduceSum <keepdims = 0> (next)
    still = Less (sum, end)"""

X = numpy.array([1, 2], "float32")


def stack(rows, *shape, dtype="float32"):
    """All rows, as an array also where there are none."""
    return numpy.array(rows, dtype).reshape(len(rows), *shape)


def doubled(count, x, goes_on=lambda i, v: True, flag=True):
    """What STEP gives."""
    rows = []
    while flag and len(rows) < count:
        x = x * 2 + numpy.float32(len(rows))
        flag = goes_on(len(rows), x)
        rows.append(x)
    return x, stack(rows, 2)


def halved(x):
    v, rows = x, []
    for _ in range(20000):
        v = v * numpy.float32(0.5) + x
        rows.append(-v)
    return [stack(rows, 2)]


def swapped(m, x, z):
    rows = []
    for _ in range(max(m, 0)):
        rows.append(x)
        x, z = z, x
    return [x, z, stack(rows, 2), x]


def turned(m, x, z):
    for _ in range(m):
        x, z = z, x + z
    return [x, z, x + z]


def grown(m, x):
    for _ in range(m):
        x = numpy.concatenate([x, x.sum(0, keepdims=True)])
    return [x, x.max()]


def both_grown(m, x, z):
    for _ in range(m):
        x, z = z, numpy.concatenate([z, x])
    return [x, z, numpy.concatenate([z, x])]


def read(x, h):
    w = numpy.array([[2, 0, 1, 0], [0, 2, 0, 1], [1, 0, 2, 0], [0, 1, 0, 2]],
                    "float32") / 4
    rows = []
    for line in x:
        h = numpy.tanh(line + line + h @ w)
        rows.append(h)
    return [h, stack(rows, 4)]


def nested(m, x):
    rows = []
    for i in range(m):
        v = x
        for j in range(i):
            x = x + numpy.float32(j) + v
        rows.append(x)
    return [x, stack(rows, 2)]


def branched(m, x):
    v, counts = x, []
    for i in range(m):
        v = v + x if i < 3 else -v
        counts.append(numpy.count_nonzero(v))
    return [v, stack(counts, dtype="int64")]


def scanned(x, z, h):
    a, b = [], []
    for line, column in zip(x, z.T[::-1]):
        most = column.max()
        h = h + line - most
        a.append(h)
        b.append(h * most)
    return [h, stack(a, 2), stack(b[::-1], 2).T]


def listed(m, x, z):
    rows = [z, z]
    for _ in range(m):
        x = x * 2
        rows.append(x)
    return [numpy.concatenate(rows, 0), numpy.concatenate(rows, 1),
            numpy.stack(rows, 0), numpy.stack(rows, 2), numpy.int64(len(rows)),
            rows[-1], rows[1]]


def attended(m, enc, h):
    w = numpy.eye(4, dtype="float32")[::-1]
    for _ in range(m):
        keys = numpy.tanh(enc @ w)
        h = h * numpy.float32(0.5) + (keys * h).sum(0)
    return [h]


def recurrent(x, h):
    w, u = numpy.eye(3, 4, dtype="float32"), numpy.eye(4, dtype="float32") / 2
    rows = []
    for each in x:
        h = numpy.tanh(each @ w + h @ u)
        rows.append(h)
    return [h, numpy.array(rows, "float32").reshape(len(x), *h.shape)]


def below(i, v):
    return v.sum() < 50


# Name: (graph, what it gives, runs, each of which is the inputs).
CASES = {
    "counted": (f"""
g (int64 m, float[2] x) => (float[2] y, float[n, 2] all) {{
  y, all = Loop <body = {step()}> (m, "", x)
}}""", doubled, [[numpy.int64(m), X] for m in (3, 0, 1, 40, -7)]),

    "counted by a size": (f"""
g (float[s, 3] z, float[2] x) => (float[2] y, float[s, 2] all) {{
  sizes = Shape <start = 0, end = 1> (z)
  m = Squeeze (sizes)
  y, all = Loop <body = {step()}> (m, "", x)
}}""", lambda z, x: doubled(len(z), x), [[numpy.ones((s, 3), "float32"), X] for s in (5, 0, 2)]),

    "until": (f"""
g (float[2] x) => (float[2] y) {{
  y = Loop <body = {step(BELOW, row=False)}> ("", "", x)
}}""", lambda x: doubled(99, x, below)[:1], [[X], [X * 100], [X / 64]]),

    "until or counted": (f"""
g (int64 m, bool flag, float[2] x) => (float[2] y, float[n, 2] all) {{
  y, all = Loop <body = {step(BELOW)}> (m, flag, x)
}}""", lambda m, flag, x: doubled(m, x, below, flag), [[numpy.int64(m), numpy.bool_(flag), X]
        for m, flag in ((3, True), (30, True), (30, False), (0, True))]),

    "known at first": (f"""
g (bool flag, float[2] x) => (float[2] y, float[n, 2] all) {{
  m = Constant <value = int64 {{6}}> ()
  two = Constant <value = int64 {{2}}> ()
  y, all = Loop <body = {step('''early = Less (i, two)
    still = Or (early, flag)''')}> (m, "", x)
}}""", lambda flag, x: doubled(6, x, lambda i, v: i < 2 or flag), [[numpy.bool_(flag), X] for flag in (True, False)]),

    "many": (f"""
g (float[2] x) => (float[n, 2] all) {{
  m = Constant <value = int64 {{20000}}> ()
  y, all = Loop <body = step (int64 i, bool go, float[2] v)
      => (bool go, float[2] next, float[2] row) {{
    half = Constant <value = float {{0.5}}> ()
    less = Mul (v, half)
    next = Add (less, x)
    row = Neg (next)
  }}> (m, "", x)
}}""", halved, [[X]]),

    "swapped": ("""
g (int64 m, float[2] x, float[2] z) => (float[2] y, float[2] w, float[n, 2] all, float[2] y2) {
  y, w, all = Loop <body = step (int64 i, bool go, float[2] a, float[2] b)
      => (bool go, float[2] b, float[2] a, float[2] a) {
  }> (m, "", x, z)
  y2 = Identity (y)
}""", swapped, [[numpy.int64(m), X, X + 5] for m in (3, 4, 0)]),

    "turned": ("""
g (int64 m, float[2] x, float[2] z) => (float[2] y, float[2] w, float[2] sum) {
  y, w = Loop <body = step (int64 i, bool go, float[2] a, float[2] b)
      => (bool go, float[2] b, float[2] c) {
    c = Add (a, b)
  }> (m, "", x, z)
  sum = Add (y, w)
}""", turned, [[numpy.int64(m), X, X + 5] for m in (9, 1)]),

    "grows": ("""
g (int64 m, float[k, 2] x) => (float[n, 2] y, float last) {
  y = Loop <body = step (int64 i, bool go, float[p, 2] v) => (bool go, float[q, 2] next) {
    zero = Constant <value = int64[1] {0}> ()
    sum = ReduceSum <keepdims = 1> (v, zero)
    next = Concat <axis = 0> (v, sum)
  }> (m, "", x)
  last = ReduceMax <keepdims = 0> (y)
}""", grown, [[numpy.int64(m), numpy.ones((k, 2), "float32")]
       for m, k in ((3, 2), (0, 2), (7, 1))]),

    "both grow": ("""
g (int64 m, float[k] x, float[l] z) => (float[n] y, float[o] w, float[p] both) {
  y, w = Loop <body = step (int64 i, bool go, float[a] u, float[b] v)
      => (bool go, float[c] v, float[d] next) {
    next = Concat <axis = 0> (v, u)
  }> (m, "", x, z)
  both = Concat <axis = 0> (w, y)
}""", both_grown, [[numpy.int64(m), numpy.arange(2, dtype="float32"),
        numpy.arange(3, dtype="float32")] for m in (5, 0, 1)]),

    "reads what is there": ("""
g (float[s, 4] x, float[4] h) => (float[4] y, float[s, 4] all)
<float[4, 4] w = {0.5, 0, 0.25, 0, 0, 0.5, 0, 0.25, 0.25, 0, 0.5, 0, 0, 0.25, 0, 0.5}> {
  sizes = Shape <start = 0, end = 1> (x)
  one = Constant <value = int64[1] {1}> ()
  zero = Constant <value = int64 {0}> ()
  y, last, kept, all = Loop <body = step (int64 i, bool go, float[4] v, int64 at, float[4, 4] u)
      => (bool go, float[4] next, int64 then, float[4, 4] same, float[4] next) {
    here = Reshape (i, one)
    after = Add (here, one)
    lines = Slice (x, here, after)
    line = Squeeze (lines)
    own = Gather (x, at)
    both = Add (line, own)
    old = MatMul (v, u)
    sum = Add (both, old)
    next = Tanh (sum)
    same = Identity (u)
    step = Constant <value = int64 {1}> ()
    then = Add (at, step)
  }> (sizes, "", h, zero, w)
}""", read, [[numpy.linspace(-1, 1, 4 * s, dtype="float32").reshape(s, 4),
        numpy.ones(4, "float32")] for s in (6, 1, 0)]),

    "a list": ("""
g (int64 m, float[2, 3] x, float[2, 3] z) => (float[a, 3] y0, float[2, b] y1,
    float[c, 2, 3] y2, float[2, 3, d] y3, int64 y4, float[2, 3] y5, float[2, 3] y6) {
  some = SequenceConstruct (z, z)
  y, all = Loop <body = step (int64 i, bool go, float[2, 3] v, seq(float[2, 3]) l)
      => (bool go, float[2, 3] next, seq(float[2, 3]) longer) {
    next = Add (v, v)
    longer = SequenceInsert (l, next)
  }> (m, "", x, some)
  y0 = ConcatFromSequence <axis = 0> (all)
  y1 = ConcatFromSequence <axis = -1> (all)
  y2 = ConcatFromSequence <axis = 0, new_axis = 1> (all)
  y3 = ConcatFromSequence <axis = 2, new_axis = 1> (all)
  y4 = SequenceLength (all)
  last = Constant <value = int64 {-1}> ()
  y5 = SequenceAt (all, last)
  one = Constant <value = int64 {1}> ()
  y6 = SequenceAt (all, one)
}""", listed, [[numpy.int64(m), numpy.arange(6, dtype="float32").reshape(2, 3),
                numpy.ones((2, 3), "float32")] for m in (4, 0, 1)]),

    "work of every step": ("""
g (int64 m, float[s, 4] enc, float[4] h) => (float[4] y)
<float[4, 4] w = {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0}> {
  y = Loop <body = step (int64 i, bool go, float[4] v) => (bool go, float[4] next) {
    product = MatMul (enc, w)
    keys = Tanh (product)
    weighted = Mul (keys, v)
    zero = Constant <value = int64[1] {0}> ()
    sum = ReduceSum <keepdims = 0> (weighted, zero)
    half = Constant <value = float {0.5}> ()
    less = Mul (v, half)
    next = Add (less, sum)
  }> (m, "", h)
}""", attended, [[numpy.int64(m), numpy.linspace(-1, 1, 4 * s, dtype="float32").reshape(s, 4),
                  numpy.ones(4, "float32")] for m, s in ((3, 5), (0, 2), (2, 0))]),

    "products of rows": ("""
g (float[s, b, 3] x, float[b, 4] h) => (float[b, 4] y, float[s, b, 4] all)
<float[3, 4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
 float[4, 4] u = {0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5}> {
  sizes = Shape <start = 0, end = 1> (x)
  y, all = Loop <body = step (int64 i, bool go, float[b, 4] v)
      => (bool go, float[b, 4] next, float[b, 4] next) {
    row = Gather (x, i)
    own = MatMul (row, w)
    old = MatMul (v, u)
    sum = Add (own, old)
    next = Tanh (sum)
  }> (sizes, "", h)
}""", recurrent, [[numpy.linspace(-1, 1, s * b * 3, dtype="float32").reshape(s, b, 3),
                   numpy.ones((b, 4), "float32")]
                  for s, b in ((5, 2), (0, 3), (1, 1))]),

    "loops in loops": ("""
g (int64 m, float[2] x) => (float[2] y, float[n, 2] all) {
  y, all = Loop <body = outer (int64 i, bool go, float[2] v)
      => (bool go, float[2] w, float[2] w) {
    w = Loop <body = inner (int64 j, bool on, float[2] u) => (bool on, float[2] t) {
      number = Cast <to = 1> (j)
      sum = Add (u, number)
      t = Add (sum, v)
    }> (i, "", v)
  }> (m, "", x)
}""", nested, [[numpy.int64(m), X] for m in (4, 1, 0)]),

    "within a branch": (f"""
g (bool flag, int64 m, float[2] x) => (float[2] y) {{
  y = If (flag) <then_branch = yes () => (float[2] a) {{
    a = Loop <body = {step(row=False)}> (m, "", x)
  }}, else_branch = no () => (float[2] b) {{
    b = Neg (x)
  }}>
}}""", lambda flag, m, x: [doubled(m, x)[0] if flag else -x], [[numpy.bool_(flag), numpy.int64(3), X] for flag in (True, False)]),

    "a branch within": ("""
g (int64 m, float[4] x) => (float[4] y, int64[n] counts) {
  y, counts = Loop <body = step (int64 i, bool go, float[4] v)
      => (bool go, float[4] next, int64 count) {
    three = Constant <value = int64 {3}> ()
    early = Less (i, three)
    next = If (early) <then_branch = yes () => (float[4] a) {
      a = Add (v, x)
    }, else_branch = no () => (float[4] b) {
      b = Neg (v)
    }>
    where = NonZero (next)
    sizes = Shape (where)
    one = Constant <value = int64 {1}> ()
    count = Gather (sizes, one)
  }> (m, "", x)
}""", branched, [[numpy.int64(m), numpy.array([1, 0, -2, 0], "float32")]
       for m in (5, 2, 0)]),

    "scan": ("""
g (float[s, 2] x, float[3, s] z, float[2] h) => (float[2] y, float[s, 2] a, float[2, s] b) {
  y, a, b = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
      scan_output_axes = [0, 1], scan_output_directions = [0, 1],
      body = step (float[2] v, float[2] line, float[3] column)
      => (float[2] next, float[2] next, float[2] far) {
    most = ReduceMax <keepdims = 0> (column)
    sum = Add (v, line)
    next = Sub (sum, most)
    far = Mul (next, most)
  }> (h, x, z)
}""", scanned, [[numpy.arange(2 * s, dtype="float32").reshape(s, 2),
        numpy.arange(3 * s, dtype="float32").reshape(3, s) % 5, X]
       for s in (4, 1)]),
}

# Name: (graph, what the compiler says).
REFUSED = {
    "another rank": ("""
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop <body = step (int64 i, bool go, float[2] v) => (bool go, float[1, 2] next) {
    zero = Constant <value = int64[1] {0}> ()
    next = Unsqueeze (v, zero)
  }> (m, "", x)
}""", "each changes the rank of its state"),
    "rows of any size": ("""
g (int64 m, float[4] x) => (float[4] y, int64[n, k] all) {
  y, all = Loop <body = step (int64 i, bool go, float[4] v)
      => (bool go, float[4] next, int64[1, k] row) {
    next = Neg (v)
    row = NonZero (next)
  }> (m, "", x)
}""", "it collects results whose sizes a step decides"),
    "no room": (f"""
g (float[2] x) => (float[2] y, float[n, 2] all) {{
  y, all = Loop <body = {step(BELOW)}> ("", "", x)
}}""", "has no trip count that says for how many there must be room"),
    "a list that is read": ("""
g (int64 m, float[2] x) => (float[k] y) {
  none = SequenceEmpty ()
  all = Loop <body = step (int64 i, bool go, seq(float[2]) v) => (bool go, seq(float[2]) next) {
    length = SequenceLength (v)
    next = SequenceInsert (v, x)
  }> (m, "", none)
  y = ConcatFromSequence <axis = 0> (all)
}""", "neither a tensor nor a sequence that they only put tensors behind"),
    "two at once": ("""
g (int64 m, float[2] x) => (float[k] y) {
  none = SequenceEmpty ()
  all = Loop <body = step (int64 i, bool go, seq(float[2]) v) => (bool go, seq(float[2]) next) {
    one = SequenceInsert (v, x)
    next = SequenceInsert (one, x)
  }> (m, "", none)
  y = ConcatFromSequence <axis = 0> (all)
}""", "they do not put one tensor each behind a sequence"),
    "a list that is cut": ("""
g (int64 m, float[2] x) => (float[k] y) {
  none = SequenceEmpty ()
  all = Loop <body = step (int64 i, bool go, seq(float[2]) v) => (bool go, seq(float[2]) next) {
    next = SequenceInsert (v, x)
  }> (m, "", none)
  less = SequenceErase (all)
  y = ConcatFromSequence <axis = 0> (less)
}""", "how many tensors its sequence has is known only at run time"),
}

# Name: (graph, inputs, what a run says).
FAILS = {
    "out of bounds": ("""
g (int64 m, float[3] x) => (float y) {
  zero = Constant <value = float {0.0}> ()
  y = Loop <body = step (int64 i, bool go, float v) => (bool go, float next) {
    two = Constant <value = int64 {2}> ()
    at = Mul (i, two)
    here = Gather (x, at)
    next = Add (v, here)
  }> (m, "", zero)
}""", [numpy.int64(3), numpy.ones(3, "float32")], "an index lies outside"),
}


def tensor(path, name, array):
    path.write_bytes(onnx.numpy_helper.from_array(
        numpy.asarray(array), name).SerializeToString())


def save(folder, text, runs=()):
    model = onnx.parser.parse_model(HEADER + text)
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    names = [value.name for value in model.graph.input]
    for i, inputs in enumerate(runs):
        data = folder / f"test_data_set_{i}"
        data.mkdir()
        for j, (name, array) in enumerate(zip(names, inputs)):
            tensor(data / f"input_{j}.pb", name, array)
    return model


def expect(folder, model, oracle, runs):
    """Writes what Python gives."""
    for i, inputs in enumerate(runs):
        data = folder / f"test_data_set_{i}"
        for j, (value, array) in enumerate(zip(model.graph.output,
                                               oracle(*inputs))):
            tensor(data / f"output_{j}.pb", value.name, array)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


ENDLESS = """
g (bool flag, float[2] x) => (float[2] y) {
  y = Loop <body = step (int64 i, bool go, float[2] v) => (bool flag, float[2] next) {
    next = Neg (v)
  }> ("", flag, x)
}"""


def ends_with_its_caller(tenon, folder):
    """Of `verify` that is killed nothing is left that computes on."""
    save(folder, ENDLESS, [[numpy.bool_(True), X]])
    expect(folder, onnx.load(folder / "model.onnx"), lambda flag, x: [x],
           [[numpy.bool_(True), X]])
    process = subprocess.Popen([tenon, "verify", folder])

    def command(path):
        try:
            return path.read_bytes()
        except OSError:  # It has ended.
            return b""

    def running():
        return sum(str(folder).encode() in command(path) for path in
                   pathlib.Path("/proc").glob("[0-9]*/cmdline"))

    began = wait_for(lambda: running() >= 2)
    process.kill()
    process.wait()
    return began and wait_for(lambda: running() == 0)


def wait_for(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main():
    tenon, driver = sys.argv[1:]
    bad = 0

    def check_all(name, *options):
        code, said = run(tenon, "verify", *options)
        check(name, code == 0 and "1 passed" in said, said)

    def check(name, holds, text):
        nonlocal bad
        if not holds:
            bad += 1
            print(f"{name}: {text.strip()[-1000:]}")

    with tempfile.TemporaryDirectory() as scratch:
        for name, (text, oracle, runs) in CASES.items():
            folder = pathlib.Path(scratch, name.replace(" ", "_"))
            expect(folder, save(folder, text, runs), oracle, runs)
            check_all(name, folder)
            check_all(name + ", op by op", folder, "--generic")
            check_all(name + ", on a device", folder, "--device", "cuda",
                      "--cuda-driver", driver)
            # Of inputs that the evaluator makes, with its own loop.
            check_all(name + ", seeded", folder / "model.onnx")
        for name, (text, reason) in REFUSED.items():
            folder = pathlib.Path(scratch, name.replace(" ", "_"))
            save(folder, text)
            code, said = run(tenon, "compile", folder / "model.onnx", "-o",
                             folder / "m.tenon")
            check(name, code != 0 and reason in said, said)
        for name, (text, inputs, reason) in FAILS.items():
            folder = pathlib.Path(scratch, name.replace(" ", "_"))
            save(folder, text, [inputs])
            run(tenon, "compile", folder / "model.onnx", "-o",
                folder / "m.tenon")
            code, said = run(tenon, "run", folder / "m.tenon", "--inputs",
                             folder / "test_data_set_0")
            check(name, code != 0 and reason in said, said)
        check("endless", ends_with_its_caller(tenon, pathlib.Path(scratch, "endless")),
              "something is left of what was killed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
