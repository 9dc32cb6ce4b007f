#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a page for docs/benchmarks of what run.sh reports.

    page.py --setting TEXT-FILE [--earlier GPU.md] -o PAGE GPU.md

The setting says which device and when, and what else a reader has to know; it stands
before the tables. Graphs of an earlier report stand beside those of whole models.
"""
import argparse
import pathlib


def tables(report):
    """Of a report, its tables: lists of rows, each a dict by the titles."""
    found, titles, previous = [], None, []
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            titles = None
        elif line.startswith("|---"):
            titles = previous
            found.append([])
        elif titles:
            found[-1].append(dict(zip(titles, cells)))
        previous = cells
    return found


def table_with(found, *titles):
    """The rows of the first table that has these titles and no "kernel"."""
    return next((rows for rows in found
                 if rows and all(title in rows[0] for title in titles)
                 and "kernel" not in rows[0]), [])


def ratio(peer, own):
    return f"{float(peer) / float(own):.2f}" if peer not in (None, "-") else "-"


def digits(milliseconds):
    return f"{float(milliseconds):.3f}"


def single_ops(found):
    torch = {row["case"]: row["ms"] for row in table_with(found, "case", "ms")}
    lines = ["## Single ops", "",
             "Milliseconds of one of many that are enqueued in a row, as cuBLAS and PyTorch are "
             "timed; peer / Tenon is above 1 where Tenon is faster. `predicted` is what "
             "`tenon explain` foretells, of the kernel's time launched alone.", "",
             "| case | schedule | ms | TF/s | % of a copy | cuBLAS / Tenon | PyTorch / Tenon "
             "| predicted | error | result |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|---|"]
    for row in table_with(found, "case", "in a row"):
        case, _, schedule = row["case"].partition(" ")
        own = row["in a row"]
        lines.append(f"| {case} | {schedule} | {own} | {row['TF/s']} | {row['% of a copy']} "
                     f"| {ratio(row['cuBLAS'], own)} | {ratio(torch.get(case), own)} "
                     f"| {row['predicted']} | {row['error']} | {row['result']} |")
    return lines + [""]


def whole_models(found, earlier):
    first = {row["model"]: row["device, graph"]
             for row in table_with(earlier, "model", "device, graph")}
    behind = " earlier |" if first else ""
    lines = ["## Whole models", "",
             "Sizes of the panel, its first data set; weights are none, so outputs are not "
             "compared (those of the test models below are). Milliseconds of a median run with "
             "tensors on the device.", "",
             f"| model | graph | launches | in a row |{behind}",
             "|---|--:|--:|--:|" + ("--:|" if first else "")]
    for row in table_with(found, "model", "device, graph"):
        name, timed, precision = row["model"].partition("_timed.")
        if not timed:
            continue
        before = first.get(row["model"])
        cell = f" {digits(before) if before else '-'} |" if first else ""
        lines.append(f"| {name}, {precision} | {digits(row['device, graph'])} "
                     f"| {digits(row['device, launches'])} | {digits(row['in a row'])} |{cell}")
    return lines + [""]


def small_models(found):
    lines = ["## Test models", "", "Milliseconds; errors are those of a test's outputs.", "",
             "| model | load | graph | launches | host, graph | error | result |",
             "|---|--:|--:|--:|--:|--:|---|"]
    for row in table_with(found, "model", "device, graph"):
        if "_timed." not in row["model"]:
            lines.append(f"| {row['model']} | {row['load']} | {row['device, graph']} "
                         f"| {row['device, launches']} | {row['host, graph']} | {row['error']} "
                         f"| {row['result']} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setting", type=pathlib.Path, required=True)
    parser.add_argument("--earlier", type=pathlib.Path)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    parser.add_argument("report", type=pathlib.Path)
    arguments = parser.parse_args()
    found = tables(arguments.report.read_text())
    if not table_with(found, "model", "device, graph"):
        raise SystemExit(f"{arguments.report} has no table of models; give what run.sh wrote")
    earlier = tables(arguments.earlier.read_text()) if arguments.earlier else []
    lines = [arguments.setting.read_text().strip(), "",
             "The tables are written by [page.py](../../test/gpu/page.py) of what "
             "[run.sh](../../test/gpu/run.sh) reports; do not edit.", ""]
    lines += single_ops(found) + whole_models(found, earlier) + small_models(found)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
