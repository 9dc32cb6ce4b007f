#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent cells in each precision, against the evaluator on seeded inputs: on
the CPU, and on a simulated GPU. What a plan says of cells makes the same again,
and auto has them in 8 bits where that is allowed.

    recurrences.py TENON DRIVER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from one_block import Block, kernels

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
IN_EIGHT_BITS = ("int8", "int8-weights", "int4-weights")
# What an output errs by at most, relative to its largest magnitude.
MOST = {"bf16": 5e-3, "fp16": 1e-3, "int8": 2e-2, "int8-weights": 2e-2,
        "int4-weights": 2e-1}


def cell(g, kind, x, inputs, units, initial=None, dtype=numpy.float32,
         **attributes):
    """The results of a cell with random weights, as large as those of models."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * units
    weights = [g.noise(directions, rows, inputs) / inputs ** 0.5,
               g.noise(directions, rows, units) / units ** 0.5,
               g.noise(directions, 2 * rows) / 10]
    operands = [x] + [weight.astype(dtype) for weight in weights]
    if initial is not None:
        operands += ["", initial]
    return g(kind, *operands, outputs=3 if kind == "LSTM" else 2,
             hidden_size=units, **attributes)


def layers(g):
    """Both directions of one read by another; steps and sequences are symbols."""
    x = g.input("x", ["S", "B", 32], g.noise(1, 1, 32))
    y = cell(g, "LSTM", x, 32, 64, direction="bidirectional")[0]
    y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]),
          numpy.array([0, 0, 128]))
    g.output(*cell(g, "LSTM", y, 128, 96))


def last_alone(g):
    """Of a GRU only its last state is read, by a product."""
    x = g.input("x", ["S", 2, 24], g.noise(1, 2, 24))
    last = cell(g, "GRU", x, 24, 80, linear_before_reset=1)[1]
    g.output(g("MatMul", last, g.noise(80, 48)))


def stepped(g):
    """A step a call: its state comes in and goes out."""
    x = g.input("x", [1, 1, 24], g.noise(1, 1, 24))
    state = g.input("h", [1, 1, 64], g.noise(1, 1, 64))
    g.output(*cell(g, "RNN", x, 24, 64, initial=state))


def shared(g):
    """A large recurrence, which threads share, of groups of sequences."""
    x = g.input("x", [5, 3, 24], g.noise(5, 3, 24))
    g.output(*cell(g, "LSTM", x, 24, 384)[:1])


def halves(g):
    """A file in f16, which CPUs compute in f32."""
    half = numpy.float16
    x = g.input("x", ["S", 2, 32], g.noise(1, 2, 32).astype(half))
    y = cell(g, "LSTM", x, 32, 64, dtype=half, direction="bidirectional")[0]
    g.output(g("Cast", y, to=onnx.TensorProto.FLOAT))


def small(g):
    x = g.input("x", ["S", 2, 24], g.noise(1, 2, 24))
    g.output(*cell(g, "LSTM", x, 24, 32)[:1])


def odd(g):
    """Units that are made whole tiles."""
    x = g.input("x", ["S", 2, 24], g.noise(1, 2, 24))
    g.output(*cell(g, "GRU", x, 24, 72)[:1])


def other(g):
    """Units that are no whole tiles, by functions of which zero is not known to
    stay finite."""
    x = g.input("x", ["S", 2, 24], g.noise(1, 2, 24))
    g.output(*cell(g, "GRU", x, 24, 72, activations=["Sigmoid", "Softsign"])[:1])


# And how many of its cells have 8 bits, or bf16.
CASES = {"layers": (layers, 2), "last_alone": (last_alone, 1),
         "stepped": (stepped, 1), "shared": (shared, 1), "halves": (halves, 1),
         "small": (small, 0), "odd": (odd, 1), "other": (other, 0)}
CPU = ["--cpu=native"]


def run(*command):
    result = subprocess.run([str(each) for each in command], capture_output=True,
                            text=True, timeout=300)
    if result.returncode:
        print(*command, result.stdout, result.stderr)
    return result


def check_kernels(tenon, folder, precision, count):
    """Whether as many cells as that read bytes, or bf16, all by the schedule for
    cells where they are whole tiles."""
    found = [(each["name"], each["schedule"])
             for each in kernels(tenon, folder, f"--precision={precision}", *CPU)
             if "recurrent" in each["name"]]
    narrow = {precision: "dequantize" for precision in IN_EIGHT_BITS}
    narrow["bf16"] = "cast"
    good = all((count if narrow.get(precision) == widening else 0) ==
               sum(widening in name for name, _ in found)
               for widening in ("dequantize", "cast"))
    by = "Generic" if folder.name == "other" else "RecurrentTiles"
    good &= {schedule for _, schedule in found} == {by}
    if not good:
        print(f"{folder.name} in {precision}: {count} of {found} are to read fewer bits")
    return good


def check_precision(tenon, driver, folder, precision):
    """Whether it errs by no more than it may, on the CPU and on the GPU."""
    model = folder / "model.onnx"
    named = {dim.dim_param for each in onnx.load(model).graph.input
             for dim in each.type.tensor_type.shape.dim}
    sizes = [f"--dim={name}={size}" for name, size in (("S", 7), ("B", 3))
             if name in named]
    return all([
        run(tenon, "verify", *device, f"--precision={precision}",
            f"--max-error={MOST[precision]}", *sizes, model).returncode == 0
        for device in (CPU, ["--device=cuda", "--cuda-driver", driver])])


def rows_of(plan):
    return json.loads(plan.read_text())["ops"]


def check_plan(tenon, folder):
    """The plan of a precision makes the same artifact; auto names cells."""
    plan, model = folder / "plan.json", folder / "model.onnx"
    one, two = folder / "one.tenon", folder / "two.tenon"
    run(tenon, "compile", model, *CPU, "--precision=int4-weights",
        "--precision-plan", plan, "-o", one)
    cells = [row for row in rows_of(plan) if row["kind"] == "recurrent"]
    run(tenon, "compile", model, *CPU, "--precision-plan", plan, "-o", two)
    good = one.read_bytes() == two.read_bytes() and cells and all(
        row["precision"] == "int8-weights" for row in cells)
    for most, wanted in ((0.5, "int8-weights"), (0, "fp32")):
        run(tenon, "compile", model, *CPU, "--precision=auto",
            f"--max-error={most}", "--precision-plan", plan, "-o", one)
        cells = [row for row in rows_of(plan) if row["kind"] == "recurrent"]
        good &= bool(cells) and all(row["precision"] == wanted and
                                    (row["error"] > 0) == (most > 0)
                                    for row in cells)
        most = max(most, 1e-4)
        good &= run(tenon, "verify", *CPU, "--precision-plan", plan,
                    f"--max-error={most}", model).returncode == 0
    if not good:
        print(f"{folder.name}: its plan says {rows_of(plan)}")
    return good and refuses_compensated(tenon, folder)


def refuses_compensated(tenon, folder):
    """Whether a plan that wants a cell compensated is told that none is."""
    plan, model = folder / "plan.json", folder / "model.onnx"
    run(tenon, "compile", model, *CPU, "--precision=int8-weights",
        "--precision-plan", plan, "-o", folder / "one.tenon")
    wanted = json.loads(plan.read_text())
    for row in wanted["ops"]:
        if row["kind"] == "recurrent":
            row["compensated"] = True
    plan.write_text(json.dumps(wanted))
    told = subprocess.run(
        [tenon, "compile", model, *CPU, "--precision-plan", plan, "-o",
         folder / "one.tenon"], capture_output=True, text=True)
    good = told.returncode == 1 and \
        'take "compensated" out of its line' in told.stderr
    if not good:
        print(f"{folder.name}, compensated: {told.returncode}, {told.stderr}")
    return good


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = []
        for name, (build, _) in CASES.items():
            block = Block()
            build(block)
            folders.append(pathlib.Path(scratch, name))
            folders[-1].mkdir()
            onnx.save(block.model([numpy.dtype("float32")] * len(block.outputs)),
                      folders[-1] / "model.onnx")
        for precision in MOST:
            for folder in folders:
                bad += not check_kernels(tenon, folder, precision,
                                         CASES[folder.name][1])
                bad += not check_precision(tenon, driver, folder, precision)
        for folder in folders[:2]:
            bad += not check_plan(tenon, folder)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
