#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders whose mask hides every key: compiled, they give what Tenon's
evaluator gives, and what ONNX's own does where it knows all operators.

    dead_rows.py TENON TEST-MODELS

The masks of the test models' data have rows without keys where they are padded
on the left; here all rows are such. What a row then gives differs between
exporters.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

TENON, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
FAMILIES = "clip_text gemma2 genai gpt2 llama opt_gpt2 opt_llama phi3 qwen2"
OTHERS = """opt_t5_decoder opt_t5_decoder_merged opt_t5_decoder_with_past
    t5_decoder_dy20 t5_decoder_ts17""".split()


def decoders():
    for folder in sorted(MODELS.iterdir()):
        model = onnx.load(folder / "model.onnx", load_external_data=False)
        is_one = folder.name.startswith(tuple(FAMILIES.split()))
        if (is_one or folder.name in OTHERS) and not is_half(model):
            yield folder


def is_half(model):
    """In f16 the lowest number does not hide what is added to it: such rows
    show how often an evaluator rounds, ours each step, kernels once."""
    return any(weight.data_type == onnx.TensorProto.FLOAT16
               for weight in model.graph.initializer)


def is_known(model):
    """Whether ONNX's evaluator has all operators, in their versions."""
    return all(node.domain == "" and node.op_type != "DequantizeLinear"
               for node in model.graph.node)


def write_inputs(folder, data, model):
    """The inputs with zeros for a mask, which must be among them."""
    weights = {weight.name for weight in model.graph.initializer}
    feed = {}
    inputs = [x for x in model.graph.input if x.name not in weights]
    for i, each in enumerate(inputs):
        tensor = onnx.load_tensor(data / f"input_{i}.pb")
        value = numpy_helper.to_array(tensor)
        feed[each.name] = (
            numpy.zeros_like(value) if "attention_mask" in each.name else value)
        proto = numpy_helper.from_array(feed[each.name], each.name)
        (folder / f"input_{i}.pb").write_bytes(proto.SerializeToString())
    assert any("attention_mask" in name for name in feed), data
    return feed


def is_near(one, other):
    finite = other[numpy.isfinite(other)]
    largest = numpy.abs(finite).max(initial=1e-6)
    return one.shape == other.shape and numpy.allclose(
        one, other, rtol=0, atol=1e-4 * largest, equal_nan=True)


def tenon(*arguments):
    return subprocess.run([TENON, *arguments], capture_output=True, text=True,
                          timeout=120)


def check(source, folder):
    """Empty, or what is wrong."""
    model = onnx.load(source / "model.onnx")
    for name in ("model.onnx", "weights.bin"):
        if (source / name).exists():
            shutil.copy(source / name, folder / name)
    data = folder / "test_data_set_0"
    data.mkdir()
    feed = write_inputs(data, sorted(source.glob("test_data_set_*"))[-1], model)
    artifact, found = folder / "model.tenon", folder / "found"
    for done in (
        tenon("compile", folder / "model.onnx", "-o", artifact,
              "--cpu", "native"),
        tenon("run", artifact, "--inputs", data, "--outputs", found),
    ):
        if done.returncode:
            return done.stderr
    outputs = [numpy.load(found / f"output_{i}.npy")
               for i in range(len(model.graph.output))]
    for i, (each, value) in enumerate(zip(model.graph.output, outputs)):
        proto = numpy_helper.from_array(value, each.name)
        (data / f"output_{i}.pb").write_bytes(proto.SerializeToString())
    done = tenon("verify", "--reference", folder)
    if done.returncode or not is_known(model):
        return done.stdout if done.returncode else ""
    with numpy.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, feed)
    wrong = [each.name for each, one, other
             in zip(model.graph.output, outputs, expected)
             if not is_near(one, other)]
    return f"{wrong} are not what ONNX's evaluator gives" if wrong else ""


failures, count = [], 0
for source in decoders():
    count += 1
    with tempfile.TemporaryDirectory() as folder:
        why = check(source, pathlib.Path(folder))
    if why:
        failures.append(f"{source.name}: {why.strip()}")
print("\n".join(failures) or f"{count} decoders ok")
sys.exit(bool(failures) or count != 32)
