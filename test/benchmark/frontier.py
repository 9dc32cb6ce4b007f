#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures models in several precisions, and draws what each gives.

    frontier.py measure --tenon TENON -o JSON [--precisions fp32,bf16,auto:0.01]
                        [--rounds N] [--seconds S] [--threads N] FOLDER[:SET]...
    frontier.py embeddings --tenon TENON -o JSON [--precisions ...] FOLDER
    frontier.py write --setting TEXT-FILE [--embeddings JSON] -o PAGE JSON...

`measure` compiles FOLDER/model.onnx in each precision ("auto:E" is auto with
--max-error E, "int8:static" int8 by scales, "int4-weights:inputs" weights rounded by
inputs, all calibrated on the other sets of inputs), then runs all of them in turn on
test_data_set_SET (0), N times. Of a program's runs the smallest median counts. Errors
are differences from the first precision's outputs.

`embeddings` is for a model that makes a row for each of 40 sentences, of which i and
i + 20 mean the same: how far each row turns from that in fp32, and whether the
order of all pairs of one sentence with another by their cosines stays. What is
calibrated has not seen the first set.

`write` makes the page, and an SVG beside it for each model: time of a run against
error.
"""
import argparse
import array
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

COLOURS = ["#4053d3", "#b51d14", "#00a45a", "#ddb310", "#00beff", "#8a4fb5", "#444444"]


def compile_model(tenon, folder, precision, artifact, calibrate):
    name, _, option = precision.partition(":")
    command = [tenon, "compile", folder / "model.onnx", "-o", artifact,
               f"--precision={name}"]
    if option:
        command += ["--calibrate", calibrate]
    if option and option not in ("static", "inputs"):
        command += ["--max-error", option]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{folder.name} in {precision}: {done.stderr.strip()}")
    return done.stdout


def calibration_folder(folder, tested, scratch):
    """The folder's other sets; where there are none, the one that is tested."""
    others = scratch / "calibrate"
    others.mkdir()
    for path in folder.glob("test_data_set_*"):
        if path.name != f"test_data_set_{tested}":
            (others / path.name).symlink_to(path.resolve())
    return others if any(others.iterdir()) else folder / f"test_data_set_{tested}"


def case_name(folder, tested):
    path = folder / "cases.json"
    if not path.exists():
        return f"case={tested}"
    sizes = json.loads(path.read_text())[tested]["symbols"]
    return ", ".join(f"{name}={size}" for name, size in sizes.items() if name != "total")


def measure_model(arguments, text, scratch):
    name, _, tested = text.partition(":")
    folder, tested = pathlib.Path(name), int(tested or 0)
    calibrate = calibration_folder(folder, tested, scratch)
    rows = []
    for i, precision in enumerate(arguments.precisions.split(",")):
        artifact = scratch / f"{i}.tenon"
        says = compile_model(arguments.tenon, folder, precision, artifact, calibrate)
        chosen = [line.split("auto is ")[1] for line in says.splitlines()
                  if "auto is " in line]
        rows.append({"precision": precision, "artifact": artifact,
                     "chosen": chosen[0] if chosen else ""})
    for _ in range(arguments.rounds):
        for row in rows:
            done = subprocess.run(
                [arguments.tenon, "bench", row["artifact"], "--inputs",
                 folder / f"test_data_set_{tested}", "--threads",
                 str(arguments.threads), "--seconds", str(arguments.seconds), "--json"],
                check=True, capture_output=True, text=True)
            bench = json.loads(done.stdout)
            milliseconds = bench["latency_ms"]["median"]
            row["ms"] = min(row.get("ms", math.inf), milliseconds)
            row["weights"] = bench["memory_bytes"]["weights"]
    data = folder / f"test_data_set_{tested}"
    exact = run_once(arguments, rows[0]["artifact"], data, scratch)
    for row in rows:
        row["error"] = error_of(exact, run_once(arguments, row["artifact"], data, scratch))
        del row["artifact"]
    return {"model": folder.name, "case": case_name(folder, tested), "rows": rows}


def read_flat(path):
    """The numbers of an f32 file; of others, none."""
    data = path.read_bytes()
    size, = struct.unpack_from("<H", data, 8)
    return array.array("f", data[10 + size:] if b"'<f4'" in data[10:10 + size] else b"")


def run_once(arguments, artifact, data, scratch):
    """The outputs, in order."""
    folder = scratch / "outputs"
    folder.mkdir(exist_ok=True)
    subprocess.run([arguments.tenon, "run", artifact, "--inputs", data, "--threads",
                    str(arguments.threads), "--outputs", folder], check=True,
                   stdout=subprocess.DEVNULL)
    files = sorted(folder.glob("output_*.npy"), key=lambda path: int(path.stem[7:]))
    return [read_flat(path) for path in files]


def error_of(exact, outputs):
    """The largest difference, relative to each output's largest magnitude."""
    error = 0.0
    for known, seen in zip(exact, outputs, strict=True):
        most = max(map(abs, known), default=0.0)
        worst = max((abs(a - b) for a, b in zip(known, seen, strict=True)), default=0.0)
        error = max(error, worst / most if most else worst)
    return error


def measure(arguments):
    results = []
    for text in arguments.models:
        with tempfile.TemporaryDirectory() as scratch:
            results.append(measure_model(arguments, text, pathlib.Path(scratch)))
        print("\n".join(table(results[-1])), flush=True)
    pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1))


def read_npy(path):
    data = path.read_bytes()
    size, = struct.unpack_from("<H", data, 8)
    header = data[10:10 + size].decode()
    if "'<f4'" not in header:
        raise SystemExit(f"{path}: no f32")
    width = int(header.split("(")[1].split(")")[0].split(",")[1])
    values = array.array("f", data[10 + size:])
    return [values[i:i + width] for i in range(0, len(values), width)]


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def embed(arguments, folder, precision, scratch, calibrate):
    artifact, rows = scratch / "a.tenon", []
    compile_model(arguments.tenon, folder, precision, artifact, calibrate)
    for data in sorted(folder.glob("test_data_set_*"), key=lambda path: int(path.name[14:])):
        subprocess.run([arguments.tenon, "run", artifact, "--inputs", data, "--outputs",
                        scratch], check=True, stdout=subprocess.DEVNULL)
        rows += read_npy(scratch / "output_0.npy")
    return rows


def order_of_pairs(rows):
    """For each sentence its nearest one, and all pairs by their cosines."""
    pairs = {(i, j): cosine(rows[i], rows[j]) for i in range(len(rows)) for j in range(i)}
    nearest = [max((j for j in range(len(rows)) if j != i),
                   key=lambda j: pairs[max(i, j), min(i, j)]) for i in range(len(rows))]
    return nearest, pairs


def embeddings(arguments):
    folder, results = pathlib.Path(arguments.model), []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        calibrate = calibration_folder(folder, 0, scratch)
        exact = embed(arguments, folder, "fp32", scratch, calibrate)
        nearest, pairs = order_of_pairs(exact)
        alike = sorted(pairs, key=pairs.get)[-100:]  # 100 pairs of sentences.
        for precision in arguments.precisions.split(","):
            rows = embed(arguments, folder, precision, scratch, calibrate)
            then_nearest, then = order_of_pairs(rows)
            swapped = sum(then[a] > then[b] for i, a in enumerate(alike)
                          for b in alike[i + 1:])
            results.append({
                "precision": precision,
                "least_cosine": min(cosine(a, b) for a, b in zip(exact, rows)),
                "nearest_kept": sum(a == b for a, b in zip(nearest, then_nearest)),
                "sentences": len(rows), "swapped": swapped,
                "pairs": len(alike) * (len(alike) - 1) // 2})
            print(results[-1], flush=True)
    pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1))


def table(result):
    base = result["rows"][0]
    yield f"## {result['model']}, {result['case']}"
    yield ""
    yield "| precision | ms | speed | error | weights, MB |"
    yield "|---|---|---|---|---|"
    for row in result["rows"]:
        chosen = f" ({row['chosen']})" if row["chosen"] else ""
        yield (f"| {row['precision']}{chosen} | {row['ms']:.2f} | {base['ms'] / row['ms']:.2f} | "
               f"{row['error']:.1e} | {row['weights'] / 1e6:.1f} |")


def drawing(result):
    """Error to the right, by powers of ten; time upwards."""
    rows = result["rows"]
    width, height, left, top = 640, 360, 70, 30
    errors = [max(row["error"] or 0, 1e-8) for row in rows]
    lo = math.floor(math.log10(min(errors)))
    hi = max(math.ceil(math.log10(max(errors))), lo + 1)
    most = max(row["ms"] for row in rows) * 1.1

    def x(error):
        return left + (math.log10(max(error, 1e-8)) - lo) / (hi - lo) * (width - left - 130)

    def y(ms):
        return height - 50 - ms / most * (height - 50 - top)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'font-family="sans-serif" font-size="12">')
    yield f'<rect width="{width}" height="{height}" fill="white"/>'
    yield f'<text x="{left}" y="18">{result["model"]}, {result["case"]}: ms against error</text>'
    for power in range(lo, hi + 1):
        at = x(10.0 ** power)
        yield f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{height - 50}" stroke="#ddd"/>'
        yield f'<text x="{at:.1f}" y="{height - 32}" text-anchor="middle">1e{power}</text>'
    for part in range(5):
        ms = most * part / 4
        yield (f'<line x1="{left}" y1="{y(ms):.1f}" x2="{width - 130}" y2="{y(ms):.1f}" '
               f'stroke="#ddd"/>')
        yield f'<text x="{left - 8}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:.3g}</text>'
    for i, row in enumerate(rows):
        at = x(row["error"] or 0), y(row["ms"])
        colour = COLOURS[i % len(COLOURS)]
        yield f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="5" fill="{colour}"/>'
        yield (f'<text x="{at[0] + 8:.1f}" y="{at[1] - 6:.1f}" fill="{colour}">'
               f'{row["precision"]}</text>')
    yield "</svg>"


def write_page(arguments):
    page = pathlib.Path(arguments.output)
    lines = ["# Precisions: time, error and memory", "",
             pathlib.Path(arguments.setting).read_text().strip(), ""]
    for path in arguments.results:
        for result in json.loads(pathlib.Path(path).read_text()):
            svg = page.with_name(f"{page.stem}-{result['model']}.svg")
            svg.write_text("\n".join(drawing(result)) + "\n")
            lines += [*table(result), "", f"![{result['model']}]({svg.name})", ""]
    if arguments.embeddings:
        lines += ["## Trained weights: sentence embeddings", "",
                  "| precision | least cosine to fp32 | nearest sentence kept | "
                  "orders of two pairs that changed |", "|---|---|---|---|"]
        for row in json.loads(pathlib.Path(arguments.embeddings).read_text()):
            lines.append(f"| {row['precision']} | {row['least_cosine']:.6f} | "
                         f"{row['nearest_kept']} of {row['sentences']} | "
                         f"{row['swapped']} of {row['pairs']} |")
    page.write_text("\n".join(lines).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("measure", measure), ("embeddings", embeddings)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--tenon", required=True)
        command.add_argument("--precisions", default="fp32,bf16,auto:0.01")
        command.add_argument("-o", "--output", required=True)
        if name == "embeddings":
            command.add_argument("model")
            continue
        command.add_argument("--rounds", type=int, default=3)
        command.add_argument("--seconds", type=float, default=2)
        command.add_argument("--threads", type=int, default=2)
        command.add_argument("models", nargs="+")
    command = commands.add_parser("write")
    command.set_defaults(run=write_page)
    command.add_argument("--setting", required=True)
    command.add_argument("--embeddings")
    command.add_argument("-o", "--output", required=True)
    command.add_argument("results", nargs="+")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
