#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds scaling.py to what it writes: scaling_test.py TENON LIBTENON_RUNTIME TEST-MODELS"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, LIBRARY, MODELS = sys.argv[1:4]
SCRIPT = pathlib.Path(__file__).with_name("scaling.py")


def run(*arguments):
    done = subprocess.run([sys.executable, "-B", *map(str, arguments)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch, "there")
    run(SCRIPT, "prepare", "--tenon", TENON, "--library", LIBRARY, "-o", folder,
        f"{MODELS}/mlp_ts17:1", f"{MODELS}/bert_ts17")
    # As it is there: without the script's neighbours.
    run(folder / "scaling.py", "measure", folder, "-o", folder / "r.json", "--threads", "1,2",
        "--seconds", 0.01)
    measured = json.loads((folder / "r.json").read_text())
    assert list(measured) == ["bert_ts17", "mlp_ts17, set 1"], measured
    for rows in measured.values():
        assert [row["threads"] for row in rows] == [1, 2], rows
        assert all(0 < ms for row in rows for ms in row["ms"].values()), rows
        assert {"fp32", "bf16"} <= set(rows[0]["ms"]), rows

    for rows in measured.values():
        for row in rows:
            row["ms"] = {"fp32": 8 / row["threads"], "ONNX Runtime": 10}
    (folder / "r.json").write_text(json.dumps(measured))
    (folder / "setting").write_text("# Threads\n")
    run(SCRIPT, "write", "--setting", folder / "setting", "-o", folder / "page.md",
        folder / "r.json")
    page = (folder / "page.md").read_text()
    assert "| bert_ts17 | 8 (1.0) | 4 (2.0) |" in page, page
    assert "| mlp_ts17, set 1 | 1.25 | 2.50 |" in page, page
print("ok")
