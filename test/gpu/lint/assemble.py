# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles PTX with ptxas and reads what it says about each kernel."""

import pathlib
import re
import shutil
import subprocess
import tempfile

ENTRY = re.compile(r"Compiling entry function '([^']+)' for 'sm_\w+'")
STACK = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads"
)
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
LOSS = re.compile(r"\(C75\d\d\)")  # What ptxas says of lost performance.


class AssemblerError(Exception):
    pass


def find():
    return shutil.which("ptxas")


def read(output):
    """What ptxas -v said, by kernel; losses without a kernel go to all."""
    kernels, current, losses = {}, None, 0
    for line in output.splitlines():
        if match := ENTRY.search(line):
            current = kernels.setdefault(
                match[1],
                dict(
                    registers=0,
                    stack_bytes=0,
                    spill_bytes=0,
                    shared_bytes=0,
                    losses=0,
                ),
            )
        elif LOSS.search(line):
            named = [k for name, k in kernels.items() if f"'{name}'" in line]
            for kernel in named:
                kernel["losses"] += 1
            losses += not named
        elif current is not None:
            if match := STACK.search(line):
                current["stack_bytes"] = int(match[1])
                current["spill_bytes"] = int(match[2]) + int(match[3])
            if match := USED.search(line):
                current["registers"] = int(match[1])
            if match := SHARED.search(line):
                current["shared_bytes"] = int(match[1])
    for kernel in kernels.values():
        kernel["losses"] += losses
    return kernels


def assemble(ptx, sm, options=()):
    """The cubin, and what `read` made of the messages."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "kernels.ptx")
        target = pathlib.Path(folder, "kernels.cubin")
        source.write_text(ptx)
        command = [find(), "-v", f"-arch=sm_{sm}", *options]
        done = subprocess.run(
            [*command, "-o", target, source],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssemblerError(done.stderr.strip())
        return target.read_bytes(), read(done.stderr + done.stdout)
