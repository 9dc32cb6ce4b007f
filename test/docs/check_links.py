#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails on a link in a Markdown page to a file that is not there, and on a
page under docs/ that no other page links to."""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def pages(root):
    for path in sorted(root.rglob("*.md")):
        first = path.relative_to(root).parts[0]
        if first[0] != "." and not first.startswith("build"):
            yield path


def targets(page):
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" not in link:
            yield link, (page.parent / link).resolve()


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    bad, linked = [], set()
    for page in pages(root):
        for link, target in targets(page):
            linked.add(target)
            if not target.exists():
                bad.append(f"{page.relative_to(root)}: no such file: {link}")
    for page in pages(root):
        inside = page.is_relative_to(root / "docs")
        if inside and page.resolve() not in linked:
            bad.append(f"{page.relative_to(root)}: no page links to it")
    print("\n".join(bad) or "links ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
