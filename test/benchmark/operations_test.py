#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds operations.py to names that differ and to models, one of each kind of operation,
that are valid and that Tenon takes, and zoo.py to the page of them:
operations_test.py TENON"""
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

import operations

TENON = sys.argv[1]
ZOO = pathlib.Path(__file__).with_name("zoo.py")
TIMES = {"Relu-64": {"ort": 0.02, "ov": 0.01, "tenon": 0.005},
         "Where-1024x1024": {"ort": 1.5, "ov_fails": "no", "tenon": 2.0}}
EXPECTED = [
    "2 operations: 2 compile and agree. The geometric mean of the 2 ratios is 1.22, the least "
    "0.75; 1 of them are below 1.",
    "| operation | ONNX Runtime | OpenVINO | Tenon | best peer / Tenon | error | "
    "compile, CPU s |",
    "| Relu-64 | 0.020 | 0.010 | 0.005 | 2.00 | 0.0e+00 | 0.1 |",
    "| Where-1024x1024 | 1.50 | - | 2.00 | 0.75 | 0.0e+00 | 0.1 |",
]

names, kinds, problems = set(), set(), []
with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    for operation, graph in operations.operations():
        if operation in names:
            problems.append(f"{operation}: there are two")
        names.add(operation)
        kind = operation.split("-")[0]
        if kind in kinds:  # One of each is enough here.
            continue
        kinds.add(kind)
        model = graph.model()
        onnx.checker.check_model(model, full_check=True)
        path = folder / "model.onnx"
        onnx.save(model, path)
        done = subprocess.run([TENON, "compile", path, "--emit=graph", "-o", "/dev/null"],
                              capture_output=True, text=True, timeout=60)
        if done.returncode:
            problems.append(f"{operation}: {done.stderr}")
    for operation, times in TIMES.items():
        found = {"status": "agrees", "errors": [0.0], "compile_s": 0.12}
        for file, value in (("cases", operations.CASES), ("check", found), ("time", times)):
            out = folder / "out" / operation
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{file}.json").write_text(json.dumps(value))
    page = folder / "page.md"
    subprocess.run([sys.executable, "-B", ZOO, "write", "-o", page, folder / "out"], check=True)
    lines = page.read_text().splitlines()
    problems += [f"there is no line: {line}" for line in EXPECTED if line not in lines]
if not names >= TIMES.keys():
    problems.append("there are names that are not in the list")
sys.exit("\n".join(problems) or 0)
