#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs as on a machine with AVX2: hide_avx512_test.py TENON HIDE_AVX512.SO TEST-MODELS

Of the levels that an int8 artifact has code for, the highest one that such a
machine runs must be in use, and its results must be those of that level here.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TENON, HIDE, MODELS = sys.argv[1:4]
MODEL = pathlib.Path(MODELS) / "mlp_ts17"


def run(*arguments, **environment):
    done = subprocess.run(
        [TENON, *map(str, arguments)], capture_output=True, text=True, timeout=300,
        env={**os.environ, **environment})
    if done.returncode == 77 and environment:
        print(done.stderr)
        sys.exit(77)  # The CPU or the system cannot: skipped.
    if done.returncode:
        sys.exit(f"tenon {arguments}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def levels(text):
    """{level: "used here" and the like} of what inspect prints."""
    lines = [line.split(None, 2) for line in text.splitlines() if line.startswith("level ")]
    return {line[1]: line[2].strip("()") for line in lines}


with tempfile.TemporaryDirectory() as name:
    artifact = pathlib.Path(name) / "a.tenon"
    run("compile", MODEL / "model.onnx", "-o", artifact, "--precision", "int8")
    here = levels(run("inspect", artifact))
    for keep in (False, True):
        hidden = {"LD_PRELOAD": HIDE, **({"KEEP_AVX_VNNI": "1"} if keep else {})}
        seen = levels(run("inspect", artifact, **hidden))
        has_vnni = keep and not here["x86-64-v3-vnni"].startswith("not")
        wanted = "x86-64-v3-vnni" if has_vnni else "x86-64-v3"
        for level, state in seen.items():
            if (state == "used here") != (level == wanted) or (
                    "v4" in level and not state.startswith("not")):
                sys.exit(f"AVX-VNNI kept: {keep}: {level} is {state}; of {seen}")
        outputs = [pathlib.Path(name) / each for each in (f"here{keep}", f"hidden{keep}")]
        inputs = MODEL / "test_data_set_0"
        run("run", artifact, "--inputs", inputs, "--outputs", outputs[0], "--level", wanted)
        run("run", artifact, "--inputs", inputs, "--outputs", outputs[1], **hidden)
        for path in outputs[0].iterdir():
            if path.read_bytes() != (outputs[1] / path.name).read_bytes():
                sys.exit(f"{path.name} differs from that of level {wanted} here")
