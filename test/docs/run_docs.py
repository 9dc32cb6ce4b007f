#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands that a page of documentation shows.

    run_docs.py PAGE.md REPOSITORY BUILD

The page's blocks fenced as `sh` run in order as one script, each page in an
empty folder of its own. In it, `build` is the build folder and every other
name at the top of the repository is the repository's, so that commands read
as they do for someone who stands in a built checkout. A block fenced as
`LANGUAGE FILE` is written to FILE first. Blocks fenced as `console` are shown
to the reader and not run.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def blocks(page):
    """(info string, text) of each fenced block."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```", page.read_text(), re.M | re.S)


def scratch_folder(page, repository, build):
    name = page.relative_to(repository).as_posix().replace("/", "-")
    scratch = build / "docs-test" / name.removesuffix(".md")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for entry in repository.iterdir():
        if entry.name[0] != "." and not entry.name.startswith("build"):
            (scratch / entry.name).symlink_to(entry)
    (scratch / "build").symlink_to(build)
    return scratch


def main():
    page, repository, build = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    scratch = scratch_folder(page, repository, build)
    script = ""
    for info, text in blocks(page):
        if info == "sh":
            script += text
        elif " " in info:
            (scratch / info.split()[1]).write_text(text)
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script], cwd=scratch
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
