#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails on files past their limit of lines; prints lines per folder."""
import collections
import pathlib
import sys

LIMITS = {
    ".c": 800,
    ".cmake": 800,
    ".cpp": 800,
    ".def": 800,
    ".h": 800,
    ".hpp": 800,
    ".py": 800,
    ".sh": 800,
    ".td": 1000,  # past this, split by family
    ".txt": 100,  # CMakeLists.txt: a folder lists itself, no more
}

root = pathlib.Path(__file__).resolve().parents[2]
lines_of = collections.Counter()
bad = []
for folder in "cmake compiler dialects docs runtime test tools".split():
    for path in sorted((root / folder).rglob("*.*")):
        if path.suffix not in LIMITS:
            continue
        lines = path.read_text().count("\n")
        file = path.relative_to(root)
        lines_of["/".join(file.parts[:-1][:2])] += lines
        if lines > LIMITS[path.suffix]:
            bad.append(f"{file}: {lines} lines, limit {LIMITS[path.suffix]}")

for folder, lines in sorted(lines_of.items()):
    print(f"{lines:7} {folder}")
print(f"{sum(lines_of.values()):7} total")
print("\n".join(bad) or "sizes ok")
sys.exit(bool(bad))
