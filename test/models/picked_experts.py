#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures whose rows gather the weights of the experts that they chose, as
libraries export them for a few tokens: products have to read these where they
lie. Against ONNX's own evaluator, on the CPU and on a simulated GPU.

    picked_experts.py TENON DRIVER
"""
import re
import subprocess
import sys
import tempfile

import numpy
from one_block import kernels, verified, written

HIDDEN, INNER, EXPERTS, CHOSEN = 64, 96, 6, 2


def chosen(g, count):
    """Tokens for each of their experts, which ones these are, and weights."""
    x = g.input("x", ["T", HIDDEN], *(g.noise(n, HIDDEN) for n in count))
    scores = g("Softmax", g("MatMul", x, g.noise(HIDDEN, EXPERTS)), axis=-1)
    best, where = g("TopK", scores, numpy.array([CHOSEN]), outputs=2)
    rows = g("Reshape", g("Expand", g("Unsqueeze", x, numpy.array([1])),
                          numpy.array([1, CHOSEN, 1])),
             numpy.array([-1, HIDDEN]))
    return rows, g("Reshape", where, numpy.array([-1])), best


def joined(g, y, best):
    y = g("Reshape", y, numpy.array([-1, CHOSEN, HIDDEN]))
    y = g("Mul", y, g("Unsqueeze", best, numpy.array([2])))
    g.output(g("ReduceSum", y, numpy.array([1]), keepdims=0))


def silu(g, x):
    return g("Mul", x, g("Sigmoid", x))


def rows_by_matrices(gather):
    """[1, in] x [in, out], as GPT-OSS has them; biases are picked as well."""
    def build(g):
        rows, where, best = chosen(g, (1, 3))
        x = g("Unsqueeze", rows, numpy.array([1]))
        for depth, width in ((HIDDEN, INNER), (INNER, HIDDEN)):
            weight = gather(g, g.noise(EXPERTS, depth, width) / 8, where)
            bias = gather(g, g.noise(EXPERTS, 1, width), where)
            x = g("Add", g("MatMul", x, weight), bias)
            x = silu(g, x) if width == INNER else x
        joined(g, x, best)
    return build


def matrices_by_columns(g):
    """[out, in] x [in, 1], as Qwen's and Mixtral's."""
    rows, where, best = chosen(g, (1, 4))
    x = g("Unsqueeze", rows, numpy.array([2]))
    for depth, width in ((HIDDEN, INNER), (INNER, HIDDEN)):
        weight = g("Gather", g.noise(EXPERTS, width, depth) / 8, where, axis=0)
        x = g("MatMul", weight, x)
        x = silu(g, x) if width == INNER else x
    joined(g, g("Squeeze", x, numpy.array([2])), best)


def by_gather(g, table, where):
    return g("Gather", table, where, axis=0)


def by_gather_nd(g, table, where):
    return g("GatherND", table, g("Unsqueeze", where, numpy.array([1])))


def several_rows(g, table, dtype=numpy.int64):
    """Indices from the end, too."""
    x = g.input("x", ["S", "M", HIDDEN], g.noise(3, 5, HIDDEN), g.noise(2, 70, HIDDEN),
                g.noise(0, 3, HIDDEN))
    where = g.input("where", ["S"], *(numpy.array(each, dtype) for each in
                                      ([4, -1, 0], [-EXPERTS, 5], [])))
    g.output(g("MatMul", x, g("Gather", table, where, axis=0)))


CASES = {
    "by_rows": rows_by_matrices(by_gather),
    "by_rows_nd": rows_by_matrices(by_gather_nd),
    "by_columns": matrices_by_columns,
    "several": lambda g: several_rows(g, g.noise(EXPERTS, HIDDEN, 37)),
    "several_i32": lambda g: several_rows(g, g.noise(EXPERTS, HIDDEN, 37),
                                          numpy.int32),
    "turned": lambda g: several_rows(
        g, g("Transpose", g.constant(g.noise(EXPERTS, 37, HIDDEN)),
             perm=[0, 2, 1])),
    "no_weight": lambda g: several_rows(
        g, g.input("w", [EXPERTS, HIDDEN, 40],
                   *(g.noise(EXPERTS, HIDDEN, 40) for _ in range(3)))),
}
# All but those of no weights read packed matrices.
OTHERS = {"no_weight": "BatchedMatmul"}
LOWER = "bf16", "int8-weights", "int4-weights"
# Rows of biases are gathered by kernels of their own.
BIASES = {"by_rows": 2, "by_rows_nd": 2}


def gathers_biases_alone(folder, found):
    """Whether no kernel copies matrices that were chosen."""
    copies = [each for each in found
              if re.fullmatch(r"gather(_nd)?_[a-z0-9]+_\d+", each["name"])]
    return len(copies) == BIASES.get(folder.name, 0)


def reads_in_place(tenon, folder, precision):
    """Whether no kernel of a model gathers what products read."""
    found = kernels(tenon, folder, f"--precision={precision}")
    wanted = OTHERS.get(folder.name, "PackedMatmul")
    products = [each for each in found
                if "matmul" in each["name"] or "dequantize" in each["name"]]
    good = products and gathers_biases_alone(folder, found) and all(
        each["schedule"] == wanted for each in products)
    if not good:
        print(f"{folder.name} in {precision}: {found}")
    return good


def reads_in_place_on_devices(tenon, folder):
    """The same of kernels for GPUs."""
    found = kernels(tenon, folder, "--target=cuda")
    if gathers_biases_alone(folder, found):
        return True
    print(f"{folder.name} for CUDA: {found}")
    return False


def keeps_to(tenon, folders, precision):
    """Whether a precision rounds results by no more than it may."""
    done = subprocess.run(
        [tenon, "verify", f"--precision={precision}", *folders],
        capture_output=True, text=True)
    if f"{len(folders)} passed, 0 failed" in done.stdout:
        return True
    print(precision, done.stdout, done.stderr)
    return False


def names_the_index(tenon, folder):
    """An index that is out of range ends the run with its node's name."""
    numpy.save(folder / "where.npy", numpy.array([0, EXPERTS, 1]))
    numpy.save(folder / "x.npy", numpy.zeros((3, 5, HIDDEN), numpy.float32))
    done = subprocess.run(
        [tenon, "run", folder / "model.tenon",
         *(word for name in ("x", "where")
           for word in ("--inputs", f"{name}={folder}/{name}.npy"))],
        capture_output=True, text=True)
    if done.returncode and "index" in done.stderr and "v0" in done.stderr:
        return True
    print(f"a wrong index: {done.returncode} {done.stdout} {done.stderr}")
    return False


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch)
        for folder in folders:
            for precision in ("fp32", *LOWER):
                if folder.name in OTHERS and precision != "fp32":
                    continue  # What is no weight is rounded by a kernel.
                bad += not reads_in_place(tenon, folder, precision)
        [several] = [each for each in folders if each.name == "several"]
        kernels(tenon, several)
        bad += not names_the_index(tenon, several)
        bad += sum(not reads_in_place_on_devices(tenon, folder)
                   for folder in folders)
        for precision in LOWER:
            bad += not keeps_to(tenon, folders, precision)
        bad += not verified(tenon, folders, driver)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
