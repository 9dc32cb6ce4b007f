#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds frontier.py to what it writes: frontier_test.py TENON TEST-MODELS"""
import array
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TENON, MODELS = sys.argv[1:3]
SCRIPT = pathlib.Path(__file__).with_name("frontier.py")
sys.path.insert(0, str(SCRIPT.parent))
import frontier


def run(*arguments, code=0):
    done = subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)],
                          capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def check_page(folder):
    results, page = folder / "r.json", folder / "page.md"
    run("measure", "--tenon", TENON, "-o", results, "--precisions", "fp32,auto:0.5,int8:static",
        "--rounds", 1, "--seconds", 0.01, f"{MODELS}/mlp_ts17:1")
    measured, = json.loads(results.read_text())
    exact, rounded, static = measured["rows"]
    chosen = rounded["chosen"]  # By what this CPU is good at.
    assert measured["model"] == "mlp_ts17" and chosen and "fp32" not in chosen, measured
    assert exact["error"] == 0 < rounded["error"] <= 0.5, measured
    assert exact["error"] < static["error"] <= 0.5, measured
    assert rounded["weights"] < 0.6 * exact["weights"], measured
    (folder / "setting").write_text("Today, here.")
    (folder / "e.json").write_text(json.dumps([
        {"precision": "bf16", "least_cosine": 0.5, "nearest_kept": 3, "sentences": 4,
         "swapped": 1, "pairs": 6}]))
    run("write", "--setting", folder / "setting", "--embeddings", folder / "e.json",
        "-o", page, results)
    text = page.read_text()
    for line in ("Today, here.", "## mlp_ts17, case=1", f"| auto:0.5 ({chosen}) |",
                 "![mlp_ts17](page-mlp_ts17.svg)", "| bf16 | 0.500000 | 3 of 4 | 1 of 6 |"):
        assert line in text, f"no '{line}' in\n{text}"
    circles = [each for each in ElementTree.parse(folder / "page-mlp_ts17.svg").iter()
               if each.tag.endswith("circle")]
    assert float(circles[0].get("cx")) < float(circles[1].get("cx")), "errors to the right"
    assert "bf17" in run("measure", "--tenon", TENON, "-o", results, "--precisions", "bf17",
                         f"{MODELS}/mlp_ts17", code=1)


def check_pairs(folder):
    rows = [[1, 0], [0, 1], [0.9, 0.1], [0.2, 1]]
    nearest, pairs = frontier.order_of_pairs(rows)
    assert nearest == [2, 3, 0, 1] and len(pairs) == 6, nearest
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
    npy = folder / "x.npy"
    npy.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
                    + array.array("f", [1, 2, 3, 4]).tobytes())
    assert [list(row) for row in frontier.read_npy(npy)] == [[1, 2], [3, 4]]


with tempfile.TemporaryDirectory() as name:
    check_page(pathlib.Path(name))
    check_pairs(pathlib.Path(name))
print("frontier.py writes what it should")
