#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers are those of Threefry-2x32, computed here by itself: by each
schedule, on a simulated GPU, with the seed as a number and as an input, and in
loops that a run counts.

    random_numbers.py TENON DRIVER
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.parser

SEED = 0x0123456789ABCDEF

# Words of keys and counters that the authors of Random123 publish.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]

MODEL = """<ir_version: 10, opset_import: ["" : 22]>
g (float[B, N] x, float[R, 5] scores, int64 steps) =>
  (float[B, N] normal, float[B, N] noisy, float16[7, 9] half, double[40] wide,
   float[B, N] fixed, float[B, N] same, float[B, N] flips, int64[R, 6] classes,
   float[S, 3] rows) {
  normal = RandomNormalLike (x)
  uniform = RandomUniformLike <low = -2.0, high = 6.0> (x)
  noisy = Add (uniform, x)
  half = RandomUniform <shape = [7, 9], dtype = 10> ()
  wide = RandomNormal <shape = [40], dtype = 11, mean = 1.0, scale = 3.0> ()
  fixed = RandomUniformLike <seed = 2.5> (x)
  same = RandomUniformLike <seed = 2.5> (x)
  chance = Sigmoid (x)
  flips = Bernoulli (chance)
  classes = Multinomial <sample_size = 6, dtype = 7> (scores)
  yes = Constant <value = bool {1}> ()
  rows = Loop (steps, yes) <body =
    step (int64 i, bool go) => (bool still, float[3] row) {
      still = Identity (go)
      row = RandomUniform <shape = [3]> ()
    }>
}
"""


def threefry(key, counter):
    """Two words of arrays of words."""
    words = [numpy.array(each, numpy.uint32) for each in (*key, *counter)]
    k0, k1, x, y = words
    keys = [k0, k1, k0 ^ k1 ^ numpy.uint32(0x1BD11BDA)]
    with numpy.errstate(over="ignore"):
        x, y = x + keys[0], y + keys[1]
        for group in range(5):
            for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
                x = x + y
                y = ((y << numpy.uint32(by)) | (y >> numpy.uint32(32 - by))) ^ x
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + numpy.uint32(group + 1)
    return x, y


def scattered(number):
    mask = (1 << 64) - 1
    number = (number + 0x9E3779B97F4A7C15) & mask
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & mask
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & mask
    return number ^ (number >> 31)


def words_of(draw, shape, step=0, seed=SEED):
    """What the node that draws as number `draw` makes of a seed."""
    number = scattered(draw) ^ seed
    index = numpy.arange(numpy.prod(shape, dtype=int)).astype(numpy.uint32)
    x, y = threefry((number & 0xFFFFFFFF, number >> 32),
                    (index, numpy.full_like(index, step)))
    return x.reshape(shape), y.reshape(shape)


def uniform(words, bits=24):
    return (words[0] >> (32 - bits)).astype("float32") * numpy.float32(0.5**bits)


def opened(word, bits=23):
    return ((word >> (32 - bits)) + 0.5) * 0.5**bits


def normal(words, bits=23):
    x, y = (opened(word, bits) for word in words)
    return numpy.sqrt(-2 * numpy.log(x)) * numpy.cos(2 * numpy.pi * y)


def expected(x, scores, steps, seed=SEED):
    """The outputs of MODEL. Nodes with a seed of their own do not count."""
    fixed_key = int(numpy.array(2.5, "float32").view("uint32")), 0
    index = numpy.arange(x.size).astype(numpy.uint32)
    fixed = uniform(threefry(fixed_key, (index, index * 0))).reshape(x.shape)
    chance = 1 / (1 + numpy.exp(-x.astype("float64")))
    unit = uniform(words_of(4, x.shape, seed=seed))
    # What lies too near to say is compared with itself.
    flips = numpy.where(abs(unit - chance) < 1e-6, numpy.nan, unit < chance)
    noise = opened(words_of(5, (len(scores), 6, 5), seed=seed)[0])
    classes = (scores[:, None] - numpy.log(-numpy.log(noise))).argmax(2)
    rows = [uniform(words_of(6, (3,), step, seed)) for step in range(steps)]
    return [
        normal(words_of(0, x.shape, seed=seed)),
        uniform(words_of(1, x.shape, seed=seed)) * 8 - 2 + x,
        uniform(words_of(2, (7, 9), seed=seed), 11),
        normal(words_of(3, (40,), seed=seed), 32) * 3 + 1,
        fixed,
        fixed,
        flips,
        classes,
        numpy.array(rows).reshape(steps, 3),
    ]


class Artifact:
    """MODEL, compiled with some options."""

    def __init__(self, tenon, model, *options):
        self.tenon, self.path = tenon, model.with_suffix(".tenon")
        done = subprocess.run([tenon, "compile", model, "-o", self.path, *options],
                              capture_output=True, text=True, check=True)
        self.summary = done.stdout

    def run(self, inputs, *options):
        folder = self.path.parent
        for name, value in inputs.items():
            numpy.save(folder / f"{name}.npy", value)
        subprocess.run(
            [self.tenon, "run", self.path, *options, "--outputs", folder / "out",
             *(f"{name}={folder}/{name}.npy" for name in inputs)],
            capture_output=True, text=True, check=True)
        count = len(list((folder / "out").iterdir()))
        return [numpy.load(folder / "out" / f"output_{i}.npy") for i in range(count)]


def differences(found, wanted):
    for i, (each, right) in enumerate(zip(found, wanted, strict=True)):
        known = ~numpy.isnan(numpy.asarray(right, float))
        if each.shape != right.shape:
            yield f"output {i} is {each.shape} for {right.shape}"
        elif not numpy.allclose(each[known], right[known], rtol=1e-5, atol=1e-5):
            yield f"output {i}: {each} for {right}"


def cases(random):
    """Inputs, ragged and without elements."""
    for shape, rows, steps in (((3, 41), 2, 4), ((1, 1), 1, 1), ((0, 5), 0, 0),
                               ((64, 257), 33, 9)):
        yield (random.normal(size=shape).astype("float32"),
               random.normal(size=(rows, 5)).astype("float32"), steps)


def named(case, **others):
    names = "x", "scores", "steps"
    return {name: numpy.asarray(value) for name, value in
            (*zip(names, case), *others.items())}


def write_set(folder, case):
    """Inputs with what another generator would have drawn."""
    folder.mkdir(exist_ok=True)
    others = [value * 0 for value in expected(*case)]
    others[2] = others[2].astype("float16")
    for name, values in (("input", named(case).values()), ("output", others)):
        for i, value in enumerate(values):
            numpy.save(folder / f"{name}_{i}.npy", value)


def check(tenon, driver, folder):
    for key, counter, words in KNOWN:
        if tuple(map(int, threefry(key, counter))) != words:
            yield f"the threefry of this test is not that of its authors: {key}"
    model = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), model)
    device = ["--device", "cuda", "--cuda-driver", driver]
    ways = {
        "by schedules": ([], []),
        "by one thread": ([], ["--threads", "1"]),
        "op by op": (["--generic"], []),
        "with AVX2": (["--cpu=x86-64-v3"], []),
        "on a GPU": (["--target=cuda"], device),
        "in bf16": (["--precision=bf16"], []),
    }
    for way, (compiling, running) in ways.items():
        artifact = Artifact(tenon, model, f"--seed={SEED}", *compiling)
        if f"by seed {SEED}" not in artifact.summary:
            yield f"{way}: a compilation says {artifact.summary}"
        for case in cases(numpy.random.default_rng(3)):
            for what in differences(artifact.run(named(case), *running),
                                    expected(*case)):
                yield f"{way}, {case[0].shape}: {what}"
    for compiling, running in (([], []), (["--target=cuda"], device)):
        artifact = Artifact(tenon, model, "--seed=input", *compiling)
        for seed in (0, 1, SEED, -1):
            case = next(cases(numpy.random.default_rng(4)))
            inputs = named(case, seed=numpy.int64(seed))
            for what in differences(artifact.run(inputs, *running),
                                    expected(*case, seed=seed % (1 << 64))):
                yield f"seed {seed}: {what}"
    for verified, wanted in ((model, "1 passed"), (folder, "draws random numbers")):
        write_set(folder / "test_data_set_0", next(cases(numpy.random.default_rng(5))))
        done = subprocess.run([tenon, "verify", verified], capture_output=True,
                              text=True)
        if wanted not in done.stdout:
            yield done.stdout + done.stderr


def main():
    tenon, driver = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        bad = list(check(tenon, driver, pathlib.Path(scratch)))
    print("\n".join(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
