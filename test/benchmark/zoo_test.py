#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds zoo.py to what it checks and writes: zoo_test.py TENON TEST-MODELS"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TENON, MODELS = sys.argv[1:3]
ZOO = pathlib.Path(__file__).with_name("zoo.py")
CASES = [{"symbols": {"batch": 1, "seq": 8}}, {"symbols": {"batch": 3, "seq": 5}}]
TIMES = {"mlp_ts17": {"ort": 4.0, "ov": 3.0, "tenon": 2.0, "ov_bf16": 1.8,
                      "tenon_bf16": 2.0},
         "refused-ts": {"ort": 20.0, "ov_fails": "no"}}
EXPECTED = [
    "# What PyTorch exports",
    "Today, here.",
    "2 files of 2 architectures: 1 compile and agree. The geometric mean of the 1 ratios is "
    "1.50, the least 1.50; 0 of them are below 1. The geometric mean of the 1 ratios in bf16 is "
    "0.90, the least 0.90; 1 of them are below 1.",
    "| refused | TorchScript | batch=1, seq=8 | 20.0 | - | - | - | - | - | - | refused | 0.1 |",
]


def run(*arguments):
    done = subprocess.run([sys.executable, "-B", ZOO, *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"zoo.py {arguments}: exit {done.returncode}\n{done.stderr}")


with tempfile.TemporaryDirectory() as name:
    out = pathlib.Path(name) / "out"
    shutil.copytree(pathlib.Path(MODELS) / "mlp_ts17", out / "mlp_ts17")
    (out / "refused-ts").mkdir()
    (out / "refused-ts" / "model.onnx").write_text("no model")
    for model, times in TIMES.items():
        (out / model / "cases.json").write_text(json.dumps(CASES))
        (out / model / "time.json").write_text(json.dumps(times))
    run("check", "--tenon", TENON, out)
    found = {model: json.loads((out / model / "check.json").read_text()) for model in TIMES}
    problems = []
    if found["mlp_ts17"]["status"] != "agrees" or not found["mlp_ts17"]["errors"]:
        problems.append(f"a model that agrees: {found['mlp_ts17']}")
    if found["refused-ts"]["status"] != "refused" or not found["refused-ts"]["reason"]:
        problems.append(f"a file that is no model: {found['refused-ts']}")
    found["refused-ts"]["compile_s"] = 0.12
    (out / "refused-ts" / "check.json").write_text(json.dumps(found["refused-ts"]))
    setting = out / "setting.md"
    setting.write_text("Today, here.\n")
    run("write", "--setting", setting, "-o", out / "page.md", out)
    page = (out / "page.md").read_text().splitlines()
    problems += [f"there is no line: {line}" for line in EXPECTED if line not in page]
    if not any(line.startswith("| mlp_ts17 | torch.export | batch=1, seq=8 | 4.00 | 3.00 | 2.00 "
                               "| 1.50 | 1.80 | 2.00 | 0.90 |") for line in page):
        problems.append("the row of a model that was timed is wrong")
    sys.exit("\n".join([*problems, *page]) if problems else 0)
