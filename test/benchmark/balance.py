#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How evenly many threads would share models, asked of a machine with few cores.

    balance.py measure --tenon TENON -o JSON [--precisions fp32,bf16]
                       [--threads 2,4,8] [--seconds S] MODEL...
    balance.py write --setting TEXT-FILE -o PAGE JSON

A MODEL is a folder with model.onnx and test_data_set_0 (FOLDER:SET for another set),
or a file whose inputs have sizes; they become noise. `measure` compiles each in each
precision and asks `tenon bench --balance`; `write` makes the page docs/benchmarks/threads.md.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile


def tenon(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def inputs_of(program, model, artifact):
    """What bench is told of a model's inputs, and what the page says of them."""
    path, _, number = model.partition(":")
    if pathlib.Path(path).is_dir():
        return ["--inputs", f"{path}/test_data_set_{number or 0}"]
    told = []
    for value in json.loads(tenon(program, "inspect", artifact, "--json"))["inputs"]:
        sizes = "x".join(map(str, value["dims"]))
        told += ["--random", f"{value['name']}={sizes}"]
    return told


def name_of(model):
    path, _, number = model.partition(":")
    name = pathlib.Path(path).stem.removeprefix("light_")
    return f"{name}, set {number}" if number else name


def measure(arguments):
    rows = []
    for model in arguments.models:
        path = pathlib.Path(model.partition(":")[0])
        for precision in arguments.precisions.split(","):
            with tempfile.TemporaryDirectory() as folder:
                artifact = pathlib.Path(folder) / "model.tenon"
                source = path / "model.onnx" if path.is_dir() else path
                tenon(arguments.tenon, "compile", source, "-o", artifact,
                      f"--precision={precision}")
                answer = json.loads(tenon(
                    arguments.tenon, "bench", artifact, "--json", "--seconds",
                    arguments.seconds, *inputs_of(arguments.tenon, model, artifact),
                    "--balance", *arguments.threads.split(",")))
            rows.append({"model": name_of(model), "precision": precision,
                         "balance": answer["balance"]})
            print(name_of(model), precision,
                  *(f"{each['speedup']:.2f}" for each in answer["balance"]))
    pathlib.Path(arguments.output).write_text(json.dumps(rows))


def most_waited_for(balance):
    """The kernel in which the most threads wait longest, and its share of the run."""
    def waiting(kernel):
        return kernel["ms"] - kernel["work_ms"] / balance["threads"]
    worst = max(balance["kernels"], key=waiting)
    return worst["name"], 100 * waiting(worst) / balance["ms"]


def write(arguments):
    rows = json.loads(pathlib.Path(arguments.json).read_text())
    counts = [each["threads"] for each in rows[0]["balance"]]
    lines = ["# How many threads share a run", "",
             pathlib.Path(arguments.setting).read_text().strip(), "",
             "Written by [balance.py](../../test/benchmark/balance.py); do not edit. A figure is how "
             "many times as fast as one thread so many would be that take nothing from each other "
             "(`tenon bench --balance`, [what it is](../reference/cli.md)).", ""]
    for precision in dict.fromkeys(row["precision"] for row in rows):
        titles = [str(count) for count in counts]
        lines += [f"## In {precision}", "",
                  f"| model | {' | '.join(titles)} | waiting of {counts[-1]}, most |",
                  "|---|" + "---|" * (len(counts) + 1)]
        for row in rows:
            if row["precision"] != precision:
                continue
            name, share = most_waited_for(row["balance"][-1])
            figures = " | ".join(f"{each['speedup']:.1f}" for each in row["balance"])
            lines.append(f"| {row['model']} | {figures} | {share:.0f} % {name} |")
        lines.append("")
    pathlib.Path(arguments.output).write_text("\n".join(lines[:-1]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("measure")
    command.add_argument("--tenon", required=True)
    command.add_argument("-o", dest="output", required=True)
    command.add_argument("--precisions", default="fp32,bf16")
    command.add_argument("--threads", default="2,4,8,12,16,32")
    command.add_argument("--seconds", type=float, default=1)
    command.add_argument("models", nargs="+")
    command.set_defaults(run=measure)
    command = commands.add_parser("write")
    command.add_argument("--setting", required=True)
    command.add_argument("-o", dest="output", required=True)
    command.add_argument("json")
    command.set_defaults(run=write)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
