#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports many architectures from PyTorch and runs them beside their peers.

    zoo.py export [--timm MILLIONS] OUT [NAME...]
    zoo.py check --tenon TENON OUT [NAME...]
    zoo.py time --tenon TENON OUT [NAME...]
    zoo.py write [--title TEXT] [--setting TEXT-FILE] -o PAGE OUT

`export` writes OUT/NAME/model.onnx, by torch.export or TorchScript, and a
test_data_set_N for each of two sizes (timm's families have one), with ONNX Runtime's
outputs. `check` compiles each and compares all sets; `time` runs ONNX Runtime,
OpenVINO and Tenon in turn, in fp32 and on demand in bf16. Both leave their findings in
OUT/NAME/*.json, and `write` makes a page such as docs/benchmarks/zoo.md of them. What
operations.py writes is checked, timed and written in the same way.

CI does not run this: it needs the packages of zoo_models.py, onnxruntime and
openvino, and about 15 GB. A test holds what `write` does.
"""
import argparse
import functools
import json
import math
import multiprocessing
import os
import pathlib
import resource
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
# Of a row: what is measured beside each other, Tenon last.
PEERS = "ort", "ov", "tenon"
BF16 = "ov_bf16", "tenon_bf16"


# Export


def put_tensor(path, name, array):
    import onnx.numpy_helper
    path.write_bytes(onnx.numpy_helper.from_array(array, name).SerializeToString())


def write_set(folder, session, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    feed = {name: value for name, value in inputs.items()
            if name in {item.name for item in session.get_inputs()}}
    for i, item in enumerate(session.get_inputs()):
        put_tensor(folder / f"input_{i}.pb", item.name, feed[item.name])
    outputs = session.run(None, feed)
    for i, (item, value) in enumerate(zip(session.get_outputs(), outputs)):
        put_tensor(folder / f"output_{i}.pb", item.name, value)


def to_onnx(model, example, path, script):
    """Writes the file; sizes stay open, by the names that the model gives."""
    import torch
    options = {"input_names": model.names, "output_names": model.outputs}
    if script:
        torch.onnx.export(model.module, tuple(example), path, dynamo=False, opset_version=17,
                          dynamic_axes=model.axes, **options)
        return
    shapes = tuple(model.axes.get(name) for name in model.names)
    arguments = model.module.forward
    variadic = arguments.__code__.co_flags & 4
    named = arguments.__code__.co_argcount - 1 if hasattr(arguments, "__self__") else 1
    if variadic:  # torch.export wants one entry for all of *values.
        shapes = (*shapes[:named], tuple(shapes[named:]))
    torch.onnx.export(model.module, tuple(example), path, dynamo=True, dynamic_shapes=shapes,
                      **options)


def export_one(name, out):
    import onnxruntime
    import torch
    import zoo_models
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # It has no ONNX.
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    model = zoo_models.build(name)
    sets = [model.inputs(**sizes) for sizes in model.sizes]
    with torch.no_grad():
        to_onnx(model, sets[-1] if model.axes else sets[0], str(folder / "model.onnx"),
                name.endswith("-ts"))
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    for i, inputs in enumerate(sets):
        write_set(folder / f"test_data_set_{i}", session,
                  {key: value.numpy() for key, value in zip(model.names, inputs)})
    (folder / "cases.json").write_text(json.dumps([{"symbols": sizes} for sizes in model.sizes]))


def export_apart(name, out, log):
    """In a process of its own, for memory and crashes."""
    def body():
        with open(log, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            export_one(name, out)
    child = multiprocessing.get_context("fork").Process(target=body)
    child.start()
    child.join(600)
    child.kill()
    child.join()
    return child.exitcode


def export(arguments):
    import zoo_models
    out = pathlib.Path(arguments.out)
    names = list(arguments.names)
    if arguments.timm:
        names += ["timm-" + name for name in zoo_models.timm_families(arguments.timm)]
    for name in names or zoo_models.ZOO:
        if (out / name / "cases.json").exists():
            continue
        (out / name).mkdir(parents=True, exist_ok=True)
        log = out / name / "export.log"
        code = export_apart(name, out, log)
        print(name, f"failed ({code}), see {log}" if code else "ok", flush=True)


# Check


def exported(arguments):
    out = pathlib.Path(arguments.out)
    names = arguments.names or sorted(path.parent.name for path in out.glob("*/cases.json"))
    return [out / name for name in names]


def last_line(text):
    return next((line for line in reversed(text.strip().splitlines()) if line.strip()), "")


def peak_memory(command, timeout):
    """Runs it; its exit status, messages, seconds of CPU and largest resident size."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             preexec_fn=lambda: resource.setrlimit(
                                 resource.RLIMIT_CPU, (timeout, timeout)))
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    return status, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bench(tenon, artifact, inputs, seconds, threads=2, more=()):
    done = subprocess.run([tenon, "bench", artifact, "--inputs", inputs, "--seconds",
                           str(seconds), "--threads", str(threads), "--json", *more],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(last_line(done.stderr) or f"exit code {done.returncode}")
    return json.loads(done.stdout)


def compile_command(folder, tenon, artifact, options):
    return [tenon, "compile", folder / "model.onnx", "-o", artifact, "--cpu=native", *options]


def check_one(folder, tenon, options):
    artifact = folder / "model.tenon"
    status, text, seconds, memory = peak_memory(
        compile_command(folder, tenon, artifact, options), 600)
    found = {"compile_s": seconds, "compile_bytes": memory}
    if status:
        refused = os.WIFEXITED(status) and os.WEXITSTATUS(status) in (1, 2)
        return {**found, "status": "refused" if refused else f"crashed ({status})",
                "reason": text.strip()[-2000:]}
    errors = []
    for inputs in sorted(folder.glob("test_data_set_*")):
        try:
            errors.append(bench(tenon, artifact, inputs, 0.01)["error"])
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            return {**found, "status": "failed", "reason": f"{inputs.name}: {failure}"}
    agrees = all(error is not None and error <= 1e-4 for error in errors)
    return {**found, "status": "agrees" if agrees else "differs", "errors": errors}


def check(arguments):
    for folder in exported(arguments):
        found = check_one(folder, arguments.tenon, arguments.compile)
        (folder / "check.json").write_text(json.dumps(found, indent=1))
        print(f"{folder.name:22} {found['status']:8} {found['compile_s']:6.1f} s "
              f"{found['compile_bytes'] / 1e6:6.0f} MB", found.get("errors", ""),
              found.get("reason", "")[-700:], flush=True)


# Time


def read_inputs(folder):
    import onnx
    import onnx.numpy_helper
    inputs = {}
    for path in sorted(folder.glob("input_*.pb")):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        inputs[tensor.name] = onnx.numpy_helper.to_array(tensor)
    return inputs


def median_ms(call, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        if sum(times) > 4 * seconds:
            break
    return 1000 * sorted(times)[len(times) // 2]


def onnx_runtime(model, inputs, threads):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options,
                                           providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino(model, inputs, threads, precision="f32"):
    import openvino
    compiled = openvino.Core().compile_model(str(model), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    ports = [compiled.input(i) for i in range(len(compiled.inputs))]
    feed = {port: inputs[name] for port in ports for name in port.get_names() if name in inputs}
    # Else it copies both, which single operations would be timed by.
    return lambda: request.infer(feed, share_inputs=True, share_outputs=True)


def compile_bf16(folder, tenon):
    artifact = folder / "model.bf16.tenon"
    subprocess.run(compile_command(folder, tenon, artifact, ["--precision=bf16"]), check=True,
                   capture_output=True, timeout=600)
    return artifact


def time_one(folder, arguments):
    """The least of each peer's medians over rounds in turn."""
    data = folder / "test_data_set_0"
    inputs = read_inputs(data)
    calls, found = {}, {}
    peers = {"ort": onnx_runtime, "ov": openvino}
    artifacts = {"tenon": folder / "model.tenon"}
    if arguments.bf16:
        peers["ov_bf16"] = functools.partial(openvino, precision="bf16")
        artifacts["tenon_bf16"] = compile_bf16(folder, arguments.tenon)
    for peer, make in peers.items():
        try:
            call = make(folder / "model.onnx", inputs, arguments.threads)
            call()
            calls[peer] = lambda call=call: median_ms(call, arguments.seconds)
        except Exception as failure:  # What a peer does not take is a dash.
            found[peer + "_fails"] = str(failure)[:300]
    for peer, artifact in artifacts.items():
        calls[peer] = lambda artifact=artifact: bench(
            arguments.tenon, artifact, data, arguments.seconds,
            arguments.threads)["latency_ms"]["median"]
    for _ in range(arguments.rounds):
        for peer, call in calls.items():
            try:
                found[peer] = min(call(), found.get(peer, math.inf))
            except Exception as failure:
                found[peer + "_fails"] = str(failure)[:300]
    return found


def time_all(arguments):
    for folder in exported(arguments):
        if not (folder / "model.tenon").exists():
            continue
        found = time_one(folder, arguments)
        (folder / "time.json").write_text(json.dumps(found, indent=1))
        ratio = best_ratio(found)
        print(f"{folder.name:22}", *(f"{peer} {found[peer]:.3f}" for peer in (*PEERS, *BF16)
                                     if peer in found), f"{ratio:.2f}" if ratio else "-",
              flush=True)


def best_ratio(found, names=PEERS):
    *peers, own = [found.get(name) for name in names]
    peers = [peer for peer in peers if peer]
    return min(peers) / own if peers and own else None


# Page


def milliseconds(value):
    if value is None:
        return "-"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def read(folder, name):
    path = folder / name
    return json.loads(path.read_text()) if path.exists() else {}


def timed_cells(timed, names):
    ratio = best_ratio(timed, names)
    return [*(milliseconds(timed.get(name)) for name in names),
            f"{ratio:.2f}" if ratio else "-"]


def are_operations(folders):
    """Whether operations.py wrote them: their names say what sizes they have."""
    return all(read(folder, "cases.json")[0].get("operation") for folder in folders)


def origin(folder):
    case = read(folder, "cases.json")[0]["symbols"]
    by = "TorchScript" if folder.name.endswith("-ts") else "torch.export"
    return [by, ", ".join(f"{name}={size}" for name, size in case.items()) or "-"]


def row(folder, more, own):
    checked, timed = read(folder, "check.json"), read(folder, "time.json")
    errors = [error for error in checked.get("errors", []) if error is not None]
    status = checked.get("status", "not checked")
    name = folder.name.removesuffix("-ts").removeprefix("timm-")
    return [name, *([] if own else origin(folder)),
            *timed_cells(timed, PEERS), *(timed_cells(timed, BF16) if more else []),
            (f"{max(errors):.1e}" if errors else "-") if status == "agrees" else status,
            f"{checked['compile_s']:.1f}" if checked.get("compile_s") else "-"]


def summary(folders, own):
    statuses = [read(folder, "check.json").get("status", "not checked") for folder in folders]
    kinds = {folder.name.removesuffix("-ts") for folder in folders}
    files = (f"{len(folders)} operations" if own else
             f"{len(folders)} files of {len(kinds)} architectures")
    yield f"{files}: {statuses.count('agrees')} compile and agree."
    times = [read(folder, "time.json") for folder in folders]
    for names, kind in ((PEERS, "ratios"), (BF16, "ratios in bf16")):
        ratios = [ratio for found in times if (ratio := best_ratio(found, names))]
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield (f"The geometric mean of the {len(ratios)} {kind} is {mean:.2f}, the least "
               f"{min(ratios):.2f}; {sum(ratio < 1 for ratio in ratios)} of them are below 1.")


def write(arguments):
    folders = exported(arguments)
    more = any(BF16[-1] in read(folder, "time.json") for folder in folders)
    own = are_operations(folders)
    titles = [*(["operation"] if own else ["model", "exporter", "case"]),
              "ONNX Runtime", "OpenVINO", "Tenon", "best peer / Tenon",
              *(["OpenVINO bf16", "Tenon bf16", "OpenVINO / Tenon, bf16"] if more else []),
              "error", "compile, CPU s"]
    lines = ["# " + arguments.title, ""]
    if arguments.setting:
        lines += [pathlib.Path(arguments.setting).read_text().strip(), ""]
    lines += [" ".join(summary(folders, own)), ""]
    lines += ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(row(folder, more, own)) + " |" for folder in folders]
    pathlib.Path(arguments.output).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("export", export), ("check", check), ("time", time_all), ("write", write)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("out")
        command.add_argument("names", nargs="*", help="Some of the models")
        if name == "export":
            command.add_argument("--timm", type=float, metavar="MILLIONS",
                                 help="The smallest of each of timm's families, of up to so "
                                 "many parameters")
        if name in ("check", "time"):
            command.add_argument("--tenon", required=True)
        if name == "check":
            command.add_argument("--compile", action="append", default=[],
                                 help="An option for tenon compile: --compile=--precision=bf16")
        if name == "time":
            command.add_argument("--threads", type=int, default=2)
            command.add_argument("--seconds", type=float, default=0.5)
            command.add_argument("--rounds", type=int, default=3)
            command.add_argument("--bf16", action="store_true",
                                 help="Time OpenVINO's and Tenon's bf16, too")
        if name == "write":
            command.add_argument("--title", default="What PyTorch exports")
            command.add_argument("--setting")
            command.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
