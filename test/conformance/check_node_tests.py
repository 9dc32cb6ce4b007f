#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds `tenon verify` over ONNX's node tests against unsupported.csv.

    check_node_tests.py TENON NODE-TESTS [--write]

Every test passes but those that unsupported.csv lists, and those are refused,
not wrong. A listed test that passes must leave the list; --write rewrites it.
OTHERWISE has those whose expected results contradict their operator's text, and
so what exporters and other runtimes make of it.
Tests of random numbers, whose results are those of another generator, are
compared with the evaluator alone.
"""
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("unsupported.csv")
DRAWN = "test_bernoulli"
# `length_resized` is the length of the resized tensor, which is whole; these
# expect that of ONNX's evaluator, a product that is not rounded. PyTorch and
# ONNX Runtime agree with the text.
OTHERWISE = {
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
# Of what only the run can tell.
REFUSED_RUN = re.compile(r"(test_data_set_\d+, node .*not supported); .*")


def test_of(model):
    """The name of the test that a folder or its model is."""
    path = pathlib.Path(model)
    return path.parent.name if path.suffix == ".onnx" else path.name


def verify(tenon, folders, *options):
    """Test name -> (status, reason). Each test has a process of its own, so
    that one that crashes is a failure like others."""
    done = subprocess.run(
        [tenon, "verify", "--json", "--cpu", "native", *options, *folders],
        stdout=subprocess.PIPE,
        timeout=1200,
    )
    results = {
        test_of(r["model"]): (r["status"], r.get("reason", ""))
        for r in json.loads(done.stdout)["models"]
    }
    for name, (_, reason) in results.items():
        if refused := REFUSED_RUN.fullmatch(reason):
            results[name] = "unsupported", refused[1]
    return results


def read_list():
    with open(LIST, newline="") as file:
        return {row["test"]: row["reason"] for row in csv.DictReader(file)}


def write_list(results):
    # Without the node's name, so that equal reasons stand together.
    rows = sorted(
        (re.sub(r"^node '.*?' ", "", reason), name)
        for name, (status, reason) in results.items()
        if status == "unsupported"
    )
    with open(LIST, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["reason", "test"])
        writer.writerows(rows)


def complaints(results, listed):
    for name, (status, reason) in sorted(results.items()):
        if status == "ok" and name in listed:
            yield f"{name}: passes; take it off unsupported.csv"
        elif status == "unsupported" and name not in listed:
            yield f"{name}: unsupported and not listed: {reason}"
        elif status == "ok" and name in OTHERWISE:
            yield f"{name}: passes; take it out of OTHERWISE"
        elif status not in ("ok", "unsupported") and name not in OTHERWISE:
            yield f"{name}: {status}: {reason}"
    for name in sorted(listed.keys() - results.keys()):
        yield f"{name}: listed, but there is no such test"


def main():
    tenon, root = sys.argv[1], pathlib.Path(sys.argv[2])
    folders = sorted(p if p.parent.name.startswith(DRAWN) else p.parent
                     for p in root.glob("*/model.onnx"))
    results = verify(tenon, folders)
    # ONNX's own runner allows 1e-3 where we ask for 1e-4.
    failed = [f for f in folders if results[test_of(f)][0] == "FAIL"]
    if failed:
        results |= verify(tenon, failed, "--max-error", "1e-3")
    if "--write" in sys.argv:
        write_list(results)
    counts = collections.Counter(status for status, _ in results.values())
    bad = list(complaints(results, read_list()))
    print("\n".join(bad))
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    return bool(bad) or not results


if __name__ == "__main__":
    sys.exit(main())
