#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/benchmarks/cpu.md and its like for other machines from measurements.

    page.py profile --tenon TENON --models DIR --out DIR [--seconds S] [...]
    page.py write --setting TEXT-FILE [--full CSV] [--micro CSV]
                  [--profiles DIR] [--products JSON] -o PAGE

`profile` compiles each model DIR/NAME/model.onnx in a precision and runs `tenon bench --profile
--json` on each of its test_data_set_N. One JSON file for each: what the bench
printed, and `model`, `case`, `precision`.

`write` joins them with a run of the peers: a CSV file with a row for each model,
case and peer, and these columns (others are ignored):

    model      its folder's name
    case       the sizes of its symbols, "batch=1,seq=128"; may be empty
    peer       ort, ov: ONNX Runtime and OpenVINO in f32; ov-bf16: OpenVINO in
               bf16; ort-int8, ort-int4: ONNX Runtime's dynamic int8 and
               MatMulNBits; tenon, tenon-bf16, tenon-int8, tenon-int4-weights,
               and tenon-fp16, with which none is compared
    median_ms  of its runs; nan when it failed
    error      largest difference from recorded outputs, relative to their
               largest magnitude; may be empty

--products takes what `bench_matmul --benchmark_format=json` printed. --setting is
what the page begins with: when, on which machine, with which versions.
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

NAMES = {"ort": "ONNX Runtime", "ov": "OpenVINO", "ov-bf16": "OpenVINO",
         "ort-int8": "ONNX Runtime", "ort-int4": "ONNX Runtime",
         **dict.fromkeys(("tenon", "tenon-bf16", "tenon-fp16", "tenon-int8",
                          "tenon-int4-weights"), "Tenon")}
PRECISIONS = {  # Tenon's peer of each, and those it is compared with.
    "f32": ("tenon", ["ort", "ov"]),
    "bf16": ("tenon-bf16", ["ov-bf16"]),
    "fp16": ("tenon-fp16", []),
    "int8": ("tenon-int8", ["ort-int8"]),
    "int4-weights": ("tenon-int4-weights", ["ort-int4"]),
}
# Where each side rounds in its own way, their errors stand beside the other's.
ROUNDED = ("int8", "int4-weights")


def number(text):
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def read_run(path):
    """{(model, case): {peer: (milliseconds, error)}}, in the file's order."""
    cases = {}
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        missing = {"model", "case", "peer", "median_ms"} - set(reader.fieldnames or [])
        if missing:
            raise SystemExit(f"{path}: no column {', '.join(sorted(missing))}")
        for row in reader:
            peers = cases.setdefault((row["model"], row["case"]), {})
            peers[row["peer"]] = number(row["median_ms"]), number(row.get("error"))
    return cases


def read_profiles(folder):
    profiles = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        profile = json.loads(path.read_text())
        key = profile["model"], profile["case"], profile["precision"]
        profiles[key] = profile
    return profiles


def milliseconds(value):
    if value is None:
        return "-"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def roofline(profile):
    """'88 % of flops': of the time that the limits ask for."""
    total = profile and profile["sum"]
    if not total or total.get("percent_of_run") is None:
        return "-"
    return f"{total['percent_of_run']:.0f} % of {total['limit']}"


def table(lines):
    """Cells of each row, the first of which are titles, as Markdown."""
    yield "| " + " | ".join(lines[0]) + " |"
    yield "|" + "---|" * len(lines[0])
    for line in lines[1:]:
        yield "| " + " | ".join(line) + " |"


def error_text(error):
    return "-" if error is None else f"{error:.1e}" if error else "0"


def comparison(run, precision, profiles):
    """A table, and the ratios in it; none when Tenon did not run so."""
    tenon, others = PRECISIONS[precision]
    others = [peer for peer in others if any(peer in peers for peers in run.values())]
    rounded = others if precision in ROUNDED else []
    # Beside its peers, if any: what lowering gained.
    beside = ["tenon"] if tenon != "tenon" and any(
        "tenon" in peers for peers in run.values()) else []
    lines = [["model", "case", "GF", *(NAMES[peer] for peer in others),
              *("Tenon, f32" for _ in beside), "Tenon",
              *(["best peer / Tenon"] if others else []),
              *("f32 / " + precision for _ in beside), "roofline", "error",
              *(f"{NAMES[peer]}'s error" for peer in rounded)]]
    ratios = []
    for (model, case), peers in run.items():
        if tenon not in peers:
            continue
        time, error = peers[tenon]
        times = [peers.get(peer, (None, None))[0] for peer in others]
        known = [value for value in times if value is not None]
        ratio = min(known) / time if known and time else None
        if ratio:
            ratios.append(ratio)
        before = [peers.get(peer, (None, None))[0] for peer in beside]
        gains = [f"{value / time:.2f}" if value and time else "-" for value in before]
        profile = profiles.get((model, case, precision))
        flops = profile and profile["sum"]["flops"]
        lines.append([
            model, case.replace(",", ", "), f"{flops / 1e9:.3g}" if flops else "-",
            *map(milliseconds, times + before), milliseconds(time),
            *([f"{ratio:.2f}" if ratio else "-"] if others else []), *gains,
            roofline(profile), error_text(error),
            *(error_text(peers.get(peer, (None, None))[1]) for peer in rounded)])
    return lines if len(lines) > 1 else None, ratios


def section(title, run, profiles):
    for precision in PRECISIONS:
        lines, ratios = comparison(run, precision, profiles)
        if not lines:
            continue
        yield f"## {title}, {precision}"
        yield ""
        yield from table(lines)
        yield ""
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            behind = sum(ratio < 1 for ratio in ratios)
            yield (f"The geometric mean of the {len(ratios)} ratios is {mean:.2f}, the least "
                   f"{min(ratios):.2f}; {behind} of them are below 1.")
            yield ""


def products(path):
    """bench_matmul: a row for each product, per cent by number of threads."""
    rows, threads = {}, set()
    for entry in json.loads(pathlib.Path(path).read_text())["benchmarks"]:
        name, count = entry["name"].split("/manual_time")[0].split("/threads:")
        count = int(count.split("/")[0])
        threads.add(count)
        rows.setdefault(name, {})[count] = entry
    counts = sorted(threads)
    titles = ["M x N x K"]
    for count in counts:
        some = "1 thread" if count == 1 else f"{count} threads"
        titles += [f"{some}: % of multiply-adds", "% of tiles"]
    lines = [titles]
    for name, entries in rows.items():
        line = [name.replace("x", " x ").replace("/gelu", ", bias and GELU")]
        for count in counts:
            entry = entries.get(count, {})
            line += [f"{entry[key]:.0f}" if key in entry else "-"
                     for key in ("percent", "of_tiles")]
        lines.append(line)
    yield "## The matrix product alone"
    yield ""
    yield ("`bench_matmul` (test/benchmark): per cent of a loop of multiply-adds in the same run, "
           "and of the same product by hand over operands that were packed before.")
    yield ""
    yield from table(lines)
    yield ""


def write_page(arguments):
    profiles = read_profiles(arguments.profiles) if arguments.profiles else {}
    lines = [f"# {arguments.title}", "",
             pathlib.Path(arguments.setting).read_text().strip(), "",
             "Written by [page.py](../../test/benchmark/page.py); do not edit. Times are medians in "
             "milliseconds; all peers run the same files and inputs with as many threads, in one run. "
             "`roofline` is from `tenon bench --profile` ([columns](../reference/cli.md)): how much of a "
             "run the machine's limits ask for, by loops timed around that run, and which limit takes "
             "the largest part. `GF` counts the products, convolutions and attention that Tenon "
             "computes. `error` is Tenon's largest difference from recorded outputs, relative to their "
             "largest magnitude.", ""]
    for title, path in (("Whole models", arguments.full),
                        ("Single operations", arguments.micro)):
        if path:
            lines += section(title, read_run(path), profiles)
    if arguments.products:
        lines += products(arguments.products)
    pathlib.Path(arguments.output).write_text("\n".join(lines).rstrip() + "\n")


def case_names(folder, count):
    """As a run of the peers names them: sizes, less what follows from others."""
    path = folder / "cases.json"
    if not path.exists():
        return ["" if count == 1 else f"case={i}" for i in range(count)]
    return [",".join(f"{name}={size}" for name, size in case["symbols"].items()
                     if name != "total")
            for case in json.loads(path.read_text())]


def profile_model(arguments, folder, artifact):
    precision = arguments.precision.replace("f32", "fp32")
    subprocess.run([arguments.tenon, "compile", folder / "model.onnx", "-o", artifact,
                    f"--precision={precision}", *arguments.compile],
                   check=True, stdout=subprocess.DEVNULL)
    sets = sorted(folder.glob("test_data_set_*"), key=lambda path: int(path.name[14:]))
    for i, case in enumerate(case_names(folder, len(sets))):
        done = subprocess.run(
            [arguments.tenon, "bench", artifact, "--inputs", sets[i], "--threads",
             str(arguments.threads), "--seconds", str(arguments.seconds), "--profile",
             "--json"], check=True, capture_output=True, text=True)
        result = {"model": folder.name, "case": case, "precision": arguments.precision,
                  **json.loads(done.stdout)}
        out = pathlib.Path(arguments.out) / f"{folder.name}.{i}.{arguments.precision}.json"
        out.write_text(json.dumps(result, indent=1))
        print(f"{folder.name} {case}: {roofline(result)}", flush=True)


def profile(arguments):
    pathlib.Path(arguments.out).mkdir(parents=True, exist_ok=True)
    models = pathlib.Path(arguments.models)
    names = arguments.names or sorted(path.parent.name for path in models.glob("*/model.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            profile_model(arguments, models / name, pathlib.Path(folder) / "a.tenon")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("profile")
    command.set_defaults(run=profile)
    command.add_argument("--tenon", required=True)
    command.add_argument("--models", required=True)
    command.add_argument("--out", required=True)
    command.add_argument("--seconds", type=float, default=3)
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--precision", choices=PRECISIONS, default="f32")
    command.add_argument("--compile", action="append", default=[],
                         help="Another option for tenon compile: --compile=--winograd=off")
    command.add_argument("names", nargs="*", help="Some of the models")
    command = commands.add_parser("write")
    command.set_defaults(run=write_page)
    command.add_argument("--setting", required=True)
    command.add_argument("--title", default="Speed on the CPU")
    for option in ("--full", "--micro", "--profiles", "--products"):
        command.add_argument(option)
    command.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
