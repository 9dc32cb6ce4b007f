# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds graphs of one block and writes them with data as test models."""
import json
import pathlib
import subprocess

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

LOWEST = numpy.finfo(numpy.float32).min
INFINITY = float("inf")


def variants(registry):
    """A decorator for functions with one more argument than the block: puts a
    case per variant of it in the registry."""
    def cases(prefix, **values):
        def add(function):
            for name, value in values.items():
                registry[f"{prefix}_{name}"] = (
                    lambda g, value=value: function(g, value))
            return function
        return add
    return cases


class Block:
    """A graph under construction. `g("Add", a, b)` adds a node and gives the
    name of its result; operands that are no names become constants."""

    def __init__(self, opset=20, prefix="", new_ops=()):
        """`new_ops`: how ONNX's evaluator does operators of other domains."""
        self.opset, self.prefix, self.new_ops = opset, prefix, list(new_ops)
        self.random = numpy.random.default_rng(7)
        self.nodes, self.inputs, self.outputs, self.weights = [], [], [], []
        self.feeds = []

    def __call__(self, op, *operands, outputs=1, **attributes):
        base = f"{self.prefix}v{len(self.nodes)}"
        names = [f"{base}_{i}" for i in range(outputs)]
        operands = [
            x if isinstance(x, str) else self.constant(x) for x in operands
        ]
        self.nodes.append(
            helper.make_node(op, operands, names, names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=None):
        value = numpy.array(value)
        if dtype:
            value = value.astype(dtype)
        elif value.dtype == numpy.float64:
            value = value.astype(numpy.float32)
        name = f"{self.prefix}c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def noise(self, *shape):
        return self.random.standard_normal(shape).astype(numpy.float32)

    def input(self, name, dims, *values):
        """An input, and what it is in each data set."""
        self.inputs.append((name, dims, values[0].dtype))
        for i, value in enumerate(values):
            if len(self.feeds) == i:
                self.feeds.append({})
            self.feeds[i][name] = value
        return name

    def output(self, *names):
        self.outputs += names

    def branch(self, name, build):
        """A body of If; `build` gets its block, and gives results."""
        body = Block(self.opset, f"{self.prefix}{name}_")
        results = [
            helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, None)
            for each in build(body)
        ]
        return helper.make_graph(body.nodes, name, [], results, body.weights)

    def model(self, types):
        number = helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            self.nodes, "block",
            [helper.make_tensor_value_info(name, number(dtype), dims)
             for name, dims, dtype in self.inputs],
            [helper.make_tensor_value_info(name, number(dtype), None)
             for name, dtype in zip(self.outputs, types)],
            self.weights)
        domains = sorted({each.op_domain for each in self.new_ops})
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)]
            + [helper.make_opsetid(domain, 1) for domain in domains],
            ir_version=10)

    def write(self, folder):
        """Writes the model and, by ONNX's own evaluator, its results."""
        folder = pathlib.Path(folder)
        evaluator = ReferenceEvaluator(
            self.model([numpy.dtype("float32")] * len(self.outputs)),
            new_ops=self.new_ops)
        for i, feed in enumerate(self.feeds):
            data = folder / f"test_data_set_{i}"
            data.mkdir(parents=True)
            with numpy.errstate(all="ignore"):
                results = evaluator.run(None, feed)
            for kind, tensors in [
                ("input", [(name, feed[name]) for name, _, _ in self.inputs]),
                ("output", list(zip(self.outputs, results))),
            ]:
                for j, (name, value) in enumerate(tensors):
                    proto = numpy_helper.from_array(numpy.asarray(value), name)
                    (data / f"{kind}_{j}.pb").write_bytes(
                        proto.SerializeToString())
        types = [numpy.asarray(result).dtype for result in results]
        onnx.save(self.model(types), folder / "model.onnx")


def written(cases, scratch, names=None, **how):
    """The folders of models that cases build, each in a block of its own."""
    folders = [pathlib.Path(scratch, name) for name in names or cases]
    for folder in folders:
        block = Block(**how)
        cases[folder.name](block)
        block.write(folder)
    return folders


def kernels(tenon, folder, *how):
    """The kernels, as `inspect` has them, that a model is compiled to."""
    artifact = folder / "model.tenon"
    subprocess.run([tenon, "compile", folder / "model.onnx", *how, "-o",
                    artifact], check=True, capture_output=True)
    held = subprocess.run([tenon, "inspect", "--json", artifact], check=True,
                          capture_output=True, text=True)
    return json.loads(held.stdout)["kernels"]


def verified(tenon, folders, driver, *how):
    """Whether all models agree with their data, on the CPU and on the GPU that
    the driver simulates."""
    good = True
    for device in ([], ["--device", "cuda", "--cuda-driver", driver]):
        result = subprocess.run([tenon, "verify", *how, *device, *folders],
                                capture_output=True, text=True, timeout=300)
        print(result.stdout, result.stderr)
        wanted = f"{len(folders)} passed, 0 failed, 0 unsupported"
        good &= result.returncode == 0 and wanted in result.stdout
    return good
