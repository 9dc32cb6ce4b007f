#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds every bad and odd model against bad_models.csv.

    check_bad_models.py TENON FOLDER [--write] [--sanitized] [--import-only]

FOLDER holds what bad_models.py and odd_models.py wrote. Whatever the model,
`tenon check` and `tenon compile` neither crash nor hang nor take much memory,
print nothing that a terminal would obey, and refuse each model with a sentence
of its own. The list says how `check` exits (0 supported, 1 not supported, 2 no
model) and what `verify` says of the supported ones; --write rewrites it.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading

LIST = pathlib.Path(__file__).with_name("bad_models.csv")
MEMORY = 256 << 20  # Over the size of the file; the libraries included.
CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")
RAW = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f-\xff]")

Result = collections.namedtuple("Result", "code out err complaints")


def run(arguments, model, options):
    """Runs tenon on a model and says what was wrong with how it went."""
    size = model.stat().st_size
    # CPU seconds, several times what it takes, so that a busy machine is no
    # failure and work that grows with the square of a model is; large files may
    # take longer, by their size, and so may running the model.
    scale = 4 if arguments[0] in ("inspect", "verify") else 1
    limit = (3 + 6 * size / 1e6) * scale * (10 if options.sanitized else 1)
    if "-o" in arguments:
        limit *= 2  # What is not refused gets code for two CPU levels.
    command = [options.tenon, *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, stdin=subprocess.DEVNULL
        )
        cpu = int(3 * limit) + 1
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu))
        killer = threading.Timer(60 + 20 * limit, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        texts = out.read(), err.read()
    seconds = usage.ru_utime + usage.ru_stime
    wrong = []
    if code not in (0, 1, 2):
        wrong.append(f"exit code {code}: {texts[1][-600:]!r}")
    if seconds > limit:
        wrong.append(f"{seconds:.2f} s, at most {limit:.2f} are allowed")
    memory = scale * MEMORY + size
    if usage.ru_maxrss * 1024 > memory and not options.sanitized:
        wrong.append(f"{usage.ru_maxrss >> 10} MB of memory")
    pattern = CONTROL if "--json" in arguments else RAW
    for text in texts:
        if match := pattern.search(text):
            start = max(match.start() - 20, 0)
            wrong.append(f"prints a raw byte: {text[start:match.end()]!r}")
    if code and not texts[1] and "--json" not in arguments:
        wrong.append("gives no reason")
    if b"internal error" in texts[1] or b"please report" in texts[1]:
        wrong.append(f"blames itself: {texts[1][:300]!r}")
    name = f"{model.stem}: tenon {arguments[0]} {arguments[-1]}: "
    return Result(code, *texts, [name + each for each in wrong])


def examine(model, options):
    """The model's row, its sentence when refused, and complaints."""
    check = run(["check", str(model)], model, options)
    as_json = run(["check", str(model), "--json"], model, options)
    complaints = check.complaints + as_json.complaints
    row = {"model": model.stem, "check": str(check.code), "verify": ""}
    try:
        if as_json.code != check.code:
            complaints.append(f"{model.stem}: --json exits {as_json.code}")
        json.loads(as_json.out)
    except ValueError as error:
        complaints.append(f"{model.stem}: --json prints no JSON: {error}")
    if not options.import_only:
        complaints += compile_model(model, check, row, options)
    text = check.err.decode(errors="replace")
    # The sentence may not differ by the file's name alone.
    return row, text.replace(str(model), ""), complaints


def compile_model(model, check, row, options):
    artifact = model.with_suffix(".tenon")
    emit = run(["compile", str(model), "--emit=exec"], model, options)
    whole = run(["compile", str(model), "-o", str(artifact)], model, options)
    complaints = emit.complaints + whole.complaints
    if check.code:
        for made in (emit, whole):
            if made.code != check.code:
                complaints.append(f"{model.stem}: compile exits {made.code}")
        return complaints
    if not whole.code:
        for extra in ([], ["--json"]):
            shown = run(["inspect", str(artifact), *extra], model, options)
            complaints += shown.complaints
    explained = run(["explain", str(model)], model, options)
    verified = run(
        ["verify", "--cpu", "native", "--json", str(model)], model, options
    )
    complaints += explained.complaints + verified.complaints
    try:
        result = json.loads(verified.out)["models"][0]
        row["verify"] = result["status"]
        if "crash" in result["reason"]:
            complaints.append(f"{model.stem}: verify: {result['reason']}")
    except (ValueError, LookupError):
        complaints.append(f"{model.stem}: verify prints no result")
    return complaints


def same_sentences(sentences):
    by_text = collections.defaultdict(list)
    for name, text in sentences.items():
        if text:
            by_text[text].append(name)
    for text, names in by_text.items():
        if len(names) > 1:
            yield f"{', '.join(names)}: the same sentence: {text.strip()}"


def read_list():
    with open(LIST, newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def write_list(rows):
    with open(LIST, "w", newline="") as file:
        writer = csv.DictWriter(
            file, ["model", "check", "verify"], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows.values())


def differences(rows, listed, options):
    for name in sorted(rows.keys() | listed.keys()):
        got, wanted = rows.get(name), listed.get(name)
        if not got or not wanted:
            yield f"{name}: {'not listed' if got else 'no such model'}"
        elif got["check"] != wanted["check"]:
            yield f"{name}: check exits {got['check']}, not {wanted['check']}"
        elif got["verify"] != wanted["verify"] and not options.import_only:
            yield f"{name}: verify: {got['verify']}, not {wanted['verify']}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tenon")
    parser.add_argument("folder", type=pathlib.Path)
    for flag in ("--write", "--sanitized", "--import-only"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    models = sorted(options.folder.glob("*.onnx"))
    rows, sentences, complaints = {}, {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, text, wrong in pool.map(
            lambda model: examine(model, options), models
        ):
            rows[row["model"]], sentences[row["model"]] = row, text
            complaints += wrong
    complaints += same_sentences(sentences)
    if options.write:
        write_list(rows)
    else:
        complaints += differences(rows, read_list(), options)
    codes = collections.Counter(row["check"] for row in rows.values())
    complaints and print("\n".join(complaints))
    print(f"{len(rows)} models: {codes['0']} supported, {codes['1']} not "
          f"supported, {codes['2']} no models; {len(complaints)} complaints")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
