#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds page.py to what it writes: page_test.py TENON TEST-MODELS"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, MODELS = sys.argv[1:3]
PAGE = pathlib.Path(__file__).with_name("page.py")
FULL = """model,case,peer,median_ms,min_ms,error,load_s,fail
mlp_ts17,case=0,ort,4.0,3.9,1e-07,0.1,
mlp_ts17,case=0,ov,3,2.9,1e-07,0.1,
mlp_ts17,case=0,tenon,2.0,1.9,0.0,0.1,
vit,"batch=1,seq=8",ort,100.0,99,1e-07,0.1,
vit,"batch=1,seq=8",ov,nan,,,,it failed
vit,"batch=1,seq=8",tenon,200.0,199,1.25e-06,0.1,
vit,"batch=1,seq=8",ov-bf16,60.0,59,1e-03,0.1,
vit,"batch=1,seq=8",tenon-bf16,50.0,49,2e-03,0.1,
vit,"batch=1,seq=8",tenon-fp16,40.0,39,1e-03,0.1,
vit,"batch=1,seq=8",ort-int8,30.0,29,2e-01,0.1,
vit,"batch=1,seq=8",tenon-int8,20.0,19,1e-02,0.1,
"""
PRODUCTS = {"benchmarks": [
    {"name": "8x9x7/threads:1/min_time:1.500/manual_time", "percent": 81.2},
    {"name": "8x9x7/gelu/threads:2/min_time:1.500/manual_time", "percent": 90,
     "of_tiles": 97.6},
]}
EXPECTED = [
    "# Speed on the CPU",
    "Today, here.",
    "## Whole models, f32",
    "| vit | batch=1, seq=8 | - | 100.0 | - | 200.0 | 0.50 | - | 1.3e-06 |",
    "The geometric mean of the 2 ratios is 0.87, the least 0.50; 1 of them are below 1.",
    "## Whole models, bf16",
    "| vit | batch=1, seq=8 | - | 60.0 | 200.0 | 50.0 | 1.20 | 4.00 | - | 2.0e-03 |",
    "## Whole models, fp16",
    "| vit | batch=1, seq=8 | - | 200.0 | 40.0 | 5.00 | - | 1.0e-03 |",
    "## Whole models, int8",
    "| vit | batch=1, seq=8 | - | 30.0 | 200.0 | 20.0 | 1.50 | 10.00 | - | 1.0e-02 | 2.0e-01 |",
    "| 8 x 9 x 7 | 81 | - | - | - |",
    "| 8 x 9 x 7, bias and GELU | - | - | 90 | 98 |",
]


def run(*arguments, code=0):
    done = subprocess.run([sys.executable, "-B", PAGE, *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        sys.exit(f"page.py {arguments}: exit {done.returncode}\n{done.stderr}")
    return done.stderr


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for file, text in (("full.csv", FULL), ("setting.md", "Today, here.\n"),
                       ("bad.csv", "model,case\nvit,\n"),
                       ("products.json", json.dumps(PRODUCTS))):
        (folder / file).write_text(text)
    run("profile", "--tenon", TENON, "--models", MODELS, "--seconds", 0.1,
        "--out", folder / "profiles", "mlp_ts17")
    run("write", "--setting", folder / "setting.md", "--full", folder / "full.csv",
        "--profiles", folder / "profiles", "--products", folder / "products.json",
        "-o", folder / "page.md")
    page = (folder / "page.md").read_text().splitlines()
    problems = [f"there is no line: {line}" for line in EXPECTED if line not in page]
    row = [line for line in page if line.startswith("| mlp_ts17 | case=0 | 5.73e-05 | 4.00 | 3.00")]
    if len(row) != 1 or "| 1.50 |" not in row[0] or " % of " not in row[0]:
        problems.append("the row with a profile is wrong")
    if "no column" not in run("write", "--setting", folder / "setting.md", "--full",
                              folder / "bad.csv", "-o", folder / "page.md", code=1):
        problems.append("a CSV file without times is taken")
    sys.exit("\n".join([*problems, *page]) if problems else 0)
