#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands that a page of documentation shows.

    run_docs.py PAGE.md REPOSITORY BUILD

The page's blocks fenced as `sh` run in order as one script, each page in an
empty folder of its own. In it, `build` is the build folder and every other
name at the top of the repository is the repository's, so that commands read
as they do for someone who stands in a built checkout. Blocks fenced as
`console` are shown to the reader and not run.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def script(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S)
    return "".join(blocks)


def scratch_folder(page, repository, build):
    scratch = build / "docs-test" / page.stem
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for entry in repository.iterdir():
        if entry.name[0] != "." and not entry.name.startswith("build"):
            (scratch / entry.name).symlink_to(entry)
    (scratch / "build").symlink_to(build)
    return scratch


def main():
    page, repository, build = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    commands = script(page)
    if not commands:
        print(f"{page.name} shows no commands")
        return 0
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands],
        cwd=scratch_folder(page, repository, build),
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
