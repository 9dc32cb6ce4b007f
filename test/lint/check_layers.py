#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if a file includes something that its layer may not see."""
import pathlib
import re
import sys

MAY_SEE = [  # (files, what they may include); the first match wins.
    ("dialects/Kernel/", "{own}|dialects/Graph/"),
    ("dialects/Exec/", "{own}|dialects/(Graph|Kernel)/"),
    ("dialects/", "{own}"),
    ("compiler/Pipeline", "dialects/|compiler/"),
    (
        "compiler/",
        r"{own}|compiler/\w+\.h|compiler/(Weights|Reference)/|dialects/"
        r"|runtime/model_format\.h",
    ),
    ("runtime/", "runtime/"),
    (
        "test/compiler/Targets/Cuda/",
        "dialects/|compiler/|runtime/|test/gpu/sim/|{own}",
    ),
    ("test/tools/", "dialects/|compiler/|runtime/|tools/|{own}"),
    ("tools/limits/", "{own}"),
    (
        "tools/tenon/|test/benchmark/",
        "dialects/|compiler/|runtime/|tools/limits/|{own}",
    ),
    ("tools/|test/", "dialects/|compiler/|runtime/|{own}"),
]
LAYER = r"(?:dialects|compiler|runtime|tools|test)/"
INCLUDE = re.compile(r'^ *#? ?include "([^"]+)"', re.M)


def own_folder(file):
    """compiler/Transforms/, runtime/; a loose compiler file owns nothing."""
    parts = file.split("/")
    if len(parts) == 2:
        return parts[0] + r"/\w+\."
    return "/".join(parts[:2]) + "/"


def allowed(file, header):
    see = next(see for files, see in MAY_SEE if re.match(files, file))
    return re.match(see.format(own=own_folder(file)), header)


def complaints(root):
    for path in sorted(root.rglob("*.*")):
        file = path.relative_to(root).as_posix()
        if not re.match(LAYER, file) or path.suffix not in SUFFIXES:
            continue
        for header in INCLUDE.findall(path.read_text()):
            if re.match(LAYER, header):
                if not allowed(file, header):
                    yield f"{file}: may not include {header}"
            elif (path.parent / header).exists():
                yield f"{file}: include {header} by its path from the root"


SUFFIXES = {".c", ".cpp", ".def", ".h", ".hpp", ".td"}

bad = list(complaints(pathlib.Path(__file__).resolve().parents[2]))
print("\n".join(bad) or "layers ok")
sys.exit(bool(bad))
