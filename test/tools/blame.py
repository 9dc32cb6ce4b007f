#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `verify` says of a model that disagrees with its data: it names the
first kernel that does not compute what its specification says. Where the data
alone is wrong there is none, wherever a kernel has its result: between the rows
of others, over operands that were written in parts, in a buffer with room for
more, rounded to 16 bits, turned.

    blame.py TENON TEST-MODELS DRIVER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

TENON, MODELS, DRIVER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from convolutions import convolved  # noqa: E402
from one_block import Block  # noqa: E402


def spoil(folder):
    """Makes the first output expected of a model wrong."""
    for path in folder.glob("test_data_set_*/output_0.pb"):
        tensor = onnx.load_tensor(path)
        value = numpy_helper.to_array(tensor)
        wrong = (value + abs(value).max() + 1).astype(value.dtype)
        onnx.save_tensor(numpy_helper.from_array(wrong, tensor.name), path)


def images(folder):
    """Results that are stored turned, between others' rows, over what was, and
    behind what a buffer holds."""
    g = Block()
    x = g.input("x", ["N", 8, 12, 15], g.noise(2, 8, 12, 15))
    g.output(convolved(g, x, 20, 8, 3, 3, pads=[2] * 4, dilations=[2, 2]))
    parts = [convolved(g, x, maps, 8, 1, 1) for maps in (12, 20)]
    joined = g("Concat", g("Tanh", parts[0]), g("Sigmoid", parts[1]), axis=1)
    g.output(g("GlobalAveragePool",
               g("Add", convolved(g, x, 32, 8, 1, 1), joined)))
    y = g.input("y", ["N", 8, "H", "W"], g.noise(2, 8, 5, 9))
    g.output(g("ConvTranspose", y, g.noise(8, 5, 3, 3) / numpy.float32(8),
               strides=[2, 2]))
    maps = g("Atan", convolved(g, y, 40, 8, 1, 1))
    few = g("Concat", y, maps, axis=1)
    g.output(g("Concat", few, maps, axis=1))
    # A filter of bytes, which devices have in an order of their own.
    z = g.input("z", ["N", 8, 9, 9],
                g.random.integers(0, 255, (2, 8, 9, 9), numpy.uint8))
    g.output(g("ConvInteger", z,
               g.random.integers(-99, 99, (33, 8, 1, 1), numpy.int8)))
    g.write(folder)


with tempfile.TemporaryDirectory() as scratch:
    spoiled = [pathlib.Path(scratch, "images")]
    images(spoiled[0])
    for name in "bert_ts17", "gpt2_dy20", "resnet_dy20":
        spoiled.append(pathlib.Path(scratch, name))
        shutil.copytree(MODELS / name, spoiled[-1])
    for folder in spoiled:
        spoil(folder)
    device = ["--device=cuda", f"--cuda-driver={DRIVER}"]
    for how in (["--precision=fp32"], ["--precision=bf16"],
                ["--precision=int8-weights"], ["--precision=bf16", *device]):
        done = subprocess.run([TENON, "verify", *how, *spoiled],
                              capture_output=True, text=True, timeout=300)
        failed = done.stdout.count("FAIL")
        assert failed == len(spoiled), (how, done.stdout, done.stderr)
        assert "first kernel" not in done.stdout, (how, done.stdout)
