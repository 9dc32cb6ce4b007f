#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails on kernels whose machine code is over a limit.

    kernel_lint.py --sm 80 --limits limits.csv FILE...

A file is PTX, or holds PTX among other bytes, as an artifact does.
A row of the limits is: kernel (a pattern), sm (a pattern), measure, least,
most. An empty number is no limit. Without --limits, the table beside this
file is used. --print shows all measures. Skipped (exit 77) without ptxas.
"""

import argparse
import csv
import fnmatch
import pathlib
import re
import sys

import assemble
import cubin
import warpgroup

SKIPPED = 77


def share(part, whole):
    """Of nothing, everything: a limit on it is then met."""
    return part / whole if whole else 1.0


def wide_share(instructions, name):
    """How much of the memory traffic is 16 bytes at a time."""
    widths = [i.width for i in instructions if i.name == name]
    return share(sum(w for w in widths if w == 16), sum(widths))


def measures(instructions, said):
    """Every measure that a limit may name."""
    counts = cubin.histogram(instructions)
    total = sum(counts.values())
    return {
        **said,
        "instructions": total,
        "local_instructions": sum(counts[name] for name in cubin.LOCAL),
        "barriers": counts["BAR"],
        "tensor_instructions": sum(counts[name] for name in cubin.TENSOR),
        "tensor_share": share(sum(counts[n] for n in cubin.TENSOR), total),
        "wide_load_share": wide_share(instructions, "LDG"),
        "wide_copy_share": wide_share(instructions, "LDGSTS"),
        "wide_store_share": wide_share(instructions, "STG"),
        "generic_accesses": counts["LD"] + counts["ST"],
        "warpgroup_hazards": len(warpgroup.hazards(instructions)),
    }


def measure_file(ptx, sm, options=()):
    image, said = assemble.assemble(ptx, sm, options)
    return {
        name: measures(instructions, said.get(name, {}))
        for name, instructions in cubin.kernels(image).items()
    }


def read_limits(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    for row in rows:
        for end in ("least", "most"):
            row[end] = float(row[end]) if row[end] else None
    return rows


def texts(data):
    """The PTX modules in a file's bytes: each ends with a zero or the file."""
    for part in data.split(b"\0"):
        start = part.find(b".version")
        if start >= 0 and b".entry" in part:
            yield part[start:].decode("utf-8", "replace")


def is_for(ptx, sm):
    """Whether devices of a compute capability run a module."""
    target = re.search(r"^\.target sm_(\d+)", ptx, re.MULTILINE)
    return not target or int(target[1]) <= int(re.match(r"\d+", sm)[0])


def complaints(kernel, sm, measured, limits):
    """One sentence for each limit that a kernel is over."""
    for row in limits:
        if not fnmatch.fnmatch(kernel, row["kernel"]):
            continue
        if not fnmatch.fnmatch(str(sm), row["sm"]):
            continue
        name = row["measure"]
        if name not in measured:
            yield f"{kernel}: there is no measure {name!r}"
            continue
        value = measured[name]
        for end, wrong in (
            ("least", row["least"] is not None and value < row["least"]),
            ("most", row["most"] is not None and value > row["most"]),
        ):
            if wrong:
                yield (
                    f"{kernel} (sm_{sm}): {name} is {value:g}, "
                    f"at {end} {row[end]:g}"
                )


def lint(path, ptx, sm, limits, prints):
    try:
        kernels = measure_file(ptx, sm)
    except assemble.AssemblerError as error:
        return [f"{path}: ptxas: {error}"]
    bad = []
    for kernel, measured in kernels.items():
        if prints:
            print(kernel, *(f"{k}={v:g}" for k, v in measured.items()))
        bad += complaints(kernel, sm, measured, limits)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).parent
    parser.add_argument("--sm", default="80")
    parser.add_argument("--limits", default=here / "limits.csv")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if not assemble.find():
        print("skipped: there is no ptxas on PATH")
        return SKIPPED
    limits = read_limits(arguments.limits)
    bad = []
    for path in arguments.files:
        found = [text for text in texts(path.read_bytes())
                 if is_for(text, arguments.sm)]
        if not found:
            bad.append(f"{path}: holds no PTX")
        for text in found:
            bad += lint(path, text, arguments.sm, limits, arguments.print)
    print("\n".join(bad) or "kernels ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
