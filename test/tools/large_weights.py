#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model of a gigabyte within a fraction of it.

    large_weights.py TENON

Its weights are holes in a file, merged, transposed, rounded and quantized as
those of a language model are. What the compiler may allocate is limited by the
system: its heap may hold the numbers that it makes of few bits, all else has to
pass through in pieces.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

TENON = sys.argv[1]
MB = 1 << 20
WIDE, INNER, VOCABULARY, LAYERS = 2048, 8192, 32768, 2
SPARE = 300 * MB


class Model:
    def __init__(self):
        self.nodes, self.weights, self.bytes = [], [], 0

    def weight(self, name, rows, columns):
        size = rows * columns * 4
        tensor = TensorProto(
            name=name, data_type=TensorProto.FLOAT, dims=[rows, columns]
        )
        tensor.data_location = TensorProto.EXTERNAL
        where = {"location": "holes.bin", "offset": self.bytes, "length": size}
        for key, value in where.items():
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        self.bytes += size
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def product(self, x, name, rows, columns):
        weight = self.weight(name + ".weight", rows, columns)
        return self.node("MatMul", [x, weight], name)

    def layer(self, x, name):
        parts = [self.product(x, name + part, WIDE, WIDE) for part in "qkv"]
        mixed = self.node("Sum", parts, name + "mixed")
        x = self.node("Add", [x, self.product(mixed, name + "o", WIDE, WIDE)], name + "x")
        gate = self.product(x, name + "gate", WIDE, INNER)
        gate = self.node("Sigmoid", [gate], name + "sigmoid")
        up = self.product(x, name + "up", WIDE, INNER)
        both = self.node("Mul", [gate, up], name + "both")
        return self.product(both, name + "down", INNER, WIDE)

    def write(self, folder):
        x = self.node("Gather", [self.weight("table", VOCABULARY, WIDE), "ids"], "x")
        for i in range(LAYERS):
            x = self.layer(x, f"layer{i}.")
        head = self.weight("head", VOCABULARY, WIDE)
        head = self.node("Transpose", [head], "turned", perm=[1, 0])
        self.node("MatMul", [x, head], "logits")
        graph = helper.make_graph(
            self.nodes,
            "large",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", VOCABULARY])],
            self.weights,
        )
        opset = [helper.make_opsetid("", 17)]
        onnx.save(
            helper.make_model(graph, opset_imports=opset, ir_version=8),
            folder / "model.onnx",
        )
        with open(folder / "holes.bin", "wb") as file:
            file.truncate(self.bytes)


def compile_within(limit, folder, *options):
    done = subprocess.run(
        [TENON, "compile", folder / "model.onnx", "-o", folder / "x.tenon", *options],
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    text = f"{' '.join(options)} with {limit // MB} MiB: exit {done.returncode}"
    print(text, done.stderr)
    return done.returncode, done.stderr


def compiles(folder, bits, *options):
    """Whether tenon compiles with no more memory than weights of so many bits
    and some to spare."""
    limit = int(MODEL.bytes / 4 * bits / 8) + SPARE
    return compile_within(limit, folder, *options) == (0, "")


def says_so(folder, *options):
    """Whether it leaves nothing behind where that is not enough."""
    before = set(folder.iterdir())
    code, text = compile_within(100 * MB, folder, *options)
    return (
        code == 1
        and "there is not enough memory" in text
        and set(folder.iterdir()) == before
    )


MODEL = Model()
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    MODEL.write(folder)
    assert os.stat(folder / "holes.bin").st_size > 1000 * MB
    results = [
        compiles(folder, 0),
        compiles(folder, 0, "--precision=bf16"),
        compiles(folder, 0, "--precision=bf16", "--target=cuda"),
        compiles(folder, 4.5, "--precision=int4-weights"),
        compiles(folder, 8, "--precision=int8"),
        says_so(folder, "--precision=int8"),
    ]
sys.exit(not all(results))
