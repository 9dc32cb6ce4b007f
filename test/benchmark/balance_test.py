#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds balance.py to what it writes: balance_test.py TENON TEST-MODELS"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, MODELS = sys.argv[1:3]
SCRIPT = pathlib.Path(__file__).with_name("balance.py")


def run(*arguments):
    done = subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    run("measure", "--tenon", TENON, "-o", folder / "r.json", "--precisions", "fp32",
        "--threads", "1,4", "--seconds", 0.01, f"{MODELS}/mlp_ts17:1")
    row, = json.loads((folder / "r.json").read_text())
    alone, shared = row["balance"]
    assert row["model"] == "mlp_ts17, set 1" and alone["threads"] == 1, row
    assert abs(alone["speedup"] - 1) < 1e-9 and 1 <= shared["speedup"] <= 4, row

    row["balance"][1].update(ms=2, speedup=1.5, kernels=[
        {"name": "even", "ms": 1, "work_ms": 4}, {"name": "alone", "ms": 1, "work_ms": 1}])
    (folder / "r.json").write_text(json.dumps([row]))
    (folder / "setting").write_text("Today, here.\n")
    run("write", "--setting", folder / "setting", "-o", folder / "page.md", folder / "r.json")
    page = (folder / "page.md").read_text()
    assert "Today, here." in page and "## In fp32" in page, page
    assert "| mlp_ts17, set 1 | 1.0 | 1.5 | 38 % alone |" in page, page
print("ok")
