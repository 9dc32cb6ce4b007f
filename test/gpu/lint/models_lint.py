#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds every kernel of compiled models to limits, in all precisions.

    models_lint.py --tenon TENON [--sm 80,90] [--precision fp32,bf16,fp16]
                   [--kv-cache TYPE] [--limits models.csv] [--print] MODEL...

MODEL is a folder with a model.onnx. Kernels of the same PTX are assembled once.
A kernel is named SCHEDULE/NAME in the limits, whose last row for a measure is
the one that counts: exceptions, each with its reason, stand at the end. One
that nothing needs any more is noted. Skipped (exit 77) without ptxas.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import assemble
import kernel_lint

ENTRY = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)
BATCH = 24  # Kernels that are assembled at a time.
WAITING = 90  # From here on devices have the second text, whose launches overlap.


class Kernel:
    """A kernel, and where it was first met."""

    def __init__(self, text, held, origin):
        self.text, self.held, self.origin = text, held, origin

    @property
    def key(self):
        return f"{self.held['schedule']}/{self.held['name']}"

    def renamed(self, name):
        """Its text under another name, which its parameters begin with."""
        pattern = rf"\b{self.held['name']}(?=\(|_param_)"
        return re.sub(pattern, name, self.text)


def split(module):
    """What precedes the kernels of a module, and the text of each by name."""
    starts = [match.start() for match in ENTRY.finditer(module)]
    ends = [*starts[1:], len(module)]
    parts = [module[start:end] for start, end in zip(starts, ends)]
    return module[: starts[0]], {ENTRY.match(p)[1]: p for p in parts}


def compile_model(tenon, folder, precision, cache):
    """Of both texts, the header of the module and its kernels."""
    with tempfile.TemporaryDirectory() as scratch:
        artifact = pathlib.Path(scratch, "model.tenon")
        command = [tenon, "compile", folder / "model.onnx", "-o", artifact,
                   "--target=cuda", f"--precision={precision}",
                   *([f"--kv-cache={cache}"] if cache else [])]
        subprocess.run(command, check=True, capture_output=True, text=True)
        held = subprocess.run([tenon, "inspect", "--json", artifact],
                              check=True, capture_output=True, text=True)
        plain, waiting = kernel_lint.texts(artifact.read_bytes())
    held = {kernel["name"]: kernel
            for kernel in json.loads(held.stdout)["kernels"]}

    def kernels_of(module):
        header, kernels = split(module)
        return header, [
            Kernel(text, held[name], f"{folder.name} in {precision}")
            for name, text in kernels.items()]
    return kernels_of(plain), kernels_of(waiting)


def distinct(compiled):
    """The kernels whose text, but for their names, no other before has."""
    seen = {}
    for _, kernels in compiled:
        for kernel in kernels:
            seen.setdefault((kernel.renamed("k"), kernel.held["schedule"]),
                            kernel)
    return list(seen.values())


def measure_batch(header, kernels, sm):
    """The measures of each, which get names of their own for that."""
    module = header + "".join(
        kernel.renamed(f"k{i}") for i, kernel in enumerate(kernels))
    measured = kernel_lint.measure_file(module, sm)
    return [(kernel, {**measured[f"k{i}"],
                      **launch_measures(measured[f"k{i}"], kernel.held)})
            for i, kernel in enumerate(kernels)]


def launch_measures(measured, held):
    """Of a block: what it takes of a multiprocessor."""
    registers = -(-measured["registers"] // 8) * 8  # Given out by eights.
    return {
        "threads": held["threads"],
        "block_registers": registers * held["threads"],
        "block_shared_bytes": measured["shared_bytes"] + held["shared_bytes"],
    }


def rows_of(kernel, sm, limits):
    """The row that counts of each measure."""
    return {row["measure"]: row for row in limits
            if fnmatch.fnmatch(kernel.key, row["kernel"])
            and fnmatch.fnmatch(str(sm), row["sm"])}


def is_needed(row, measured, limits):
    """Whether a kernel is over what held for it without the row."""
    others = [other for other in limits if other is not row]
    return any(
        rows_of(kernel, sm, limits).get(row["measure"]) is row
        and any(kernel_lint.complaints(
            kernel.key, sm, values, rows_of(kernel, sm, others).values()))
        for sm, kernel, values in measured)


def measure(header, kernels, sm, jobs):
    batches = [kernels[i:i + BATCH] for i in range(0, len(kernels), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(
            lambda batch: measure_batch(header, batch, sm), batches))
    return [(sm, *pair) for part in parts for pair in part]


def lint(measured, limits):
    """A sentence for all that is wrong."""
    return [f"{kernel.origin}: {said}"
            for sm, kernel, values in measured
            for said in kernel_lint.complaints(
                kernel.key, sm, values, rows_of(kernel, sm, limits).values())]


def arguments():
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--sm", default="80,90")
    parser.add_argument("--precision", default="fp32,bf16,fp16")
    parser.add_argument("--kv-cache")
    parser.add_argument("--limits", default=here / "models.csv")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    if not assemble.find():
        print("skipped: there is no ptxas on PATH")
        return kernel_lint.SKIPPED
    limits = kernel_lint.read_limits(options.limits)
    tasks = [(folder, precision) for folder in options.models
             for precision in options.precision.split(",")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        compiled = list(pool.map(
            lambda task: compile_model(options.tenon, *task, options.kv_cache),
            tasks))
    # Of each text; headers differ in whether there is shared memory.
    plain, waiting = [(max((header for header, _ in part), key=len),
                       distinct(part)) for part in zip(*compiled)]
    measured = [each for sm in options.sm.split(",")
                for each in measure(
                    *(waiting if int(sm) >= WAITING else plain), sm,
                    options.jobs)]
    for sm, kernel, values in measured if options.print else []:
        print(sm, kernel.key, kernel.origin,
              *(f"{k}={v:g}" for k, v in values.items()))
    for row in limits:
        if row["reason"] and not is_needed(row, measured, limits):
            print(f"note: nothing here needs the exception of {row['kernel']}")
    bad = lint(measured, limits)
    total = sum(len(kernels) for (_, kernels), _ in compiled)
    print("\n".join(bad) or "kernels ok")
    print(f"{len(plain[1])} of {total} kernels are distinct")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
