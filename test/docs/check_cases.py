#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails when docs/reference/recognisers.md names a test case that is gone."""
import pathlib
import re
import sys

NAMED = re.compile(r"`(\w+\.(?:mlir|cpp|py))(?:: ([\w, ]+))?`")


def has(text, suffix, case):
    if suffix == ".mlir":
        return re.search(rf"func @{case}\(", text)
    if suffix == ".cpp":
        return re.search(rf"TEST_[FP]\(\w+, {case}\)", text)
    # A function or an entry, or the name of a group and that of one of its
    # variants.
    if re.search(rf'def {case}\(|CASES\["{case}"\]|^    "{case}": \(', text,
                 re.MULTILINE):
        return True
    return any(
        re.search(rf'(?:cases|blocks)\("{case[:i]}",[^@]*?\b{case[i + 1:]}=', text)
        for i, letter in enumerate(case) if letter == "_"
    )


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    files = {}
    for path in sorted((root / "test").rglob("*.*")):
        files.setdefault(path.name, path)
    page = root / "docs/reference/recognisers.md"
    bad, count = [], 0
    for name, cases in NAMED.findall(page.read_text()):
        if name not in files:
            bad.append(f"no such test file: {name}")
            continue
        text = files[name].read_text()
        for case in filter(None, cases.split(", ")):
            count += 1
            if not has(text, files[name].suffix, case):
                bad.append(f"{name} has no case {case}")
    print("\n".join(bad) or f"{count} cases ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
