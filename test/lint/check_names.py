#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails on a stray top-level entry, an empty name, or a missing header."""
import pathlib
import re
import sys

TOP_LEVEL = {
    *"cmake compiler dialects docs runtime test tools".split(),
    *"CMakeLists.txt CMakePresets.json LICENSE README.md".split(),
}
CXX = {".c", ".cpp", ".def", ".h", ".hpp", ".td"}
OTHER = {".cmake", ".py", ".sh"}
SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
EMPTY_NAME = re.compile(r"utils|common|helper|manager", re.I)
FORBIDDEN = [  # (pattern, folders, why)
    (r"\bcl::opt\b", "compiler/ dialects/ runtime/", "options live in tools/"),
    (r"\bgetenv\b", "compiler/ dialects/ tools/", "take an option instead"),
    (r"\bTODO(?!\(#\d+\))", "", "name its issue: TODO(#123)"),
]


def top_level(root):
    for path in root.iterdir():
        name = path.name
        if name in TOP_LEVEL or name[0] == "." or name.startswith("build"):
            continue
        yield f"{name}: does not belong at the top level"
    for name in TOP_LEVEL:
        if not (root / name).exists():
            yield f"{name}: missing"


def header(path, text):
    first, second = (text.splitlines() + ["", ""])[:2]
    if path.suffix in CXX:
        if not re.match(rf"//===- {re.escape(path.name)} - .*-===//$", first):
            yield f"line 1 is not `//===- {path.name} - what ---===//`"
        if second != "// " + SPDX:
            yield "line 2 is not its SPDX line"
    elif SPDX not in first + second:
        yield "no SPDX line in its first two"


def file_complaints(path, file):
    if EMPTY_NAME.search(path.name):
        yield "name its subject"
    if path.suffix not in CXX | OTHER and path.name != "CMakeLists.txt":
        return
    text = path.read_text()
    yield from header(path, text)
    if path == pathlib.Path(__file__).resolve():
        return
    for pattern, folders, why in FORBIDDEN:
        if file.startswith(tuple(folders.split()) or ""):
            if match := re.search(pattern, text):
                yield f"{match[0]}: {why}"


def complaints(root):
    yield from top_level(root)
    for folder in sorted(TOP_LEVEL):
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            file = path.relative_to(root).as_posix()
            for complaint in file_complaints(path, file):
                yield f"{file}: {complaint}"


bad = list(complaints(pathlib.Path(__file__).resolve().parents[2]))
print("\n".join(bad) or "names ok")
sys.exit(bool(bad))
