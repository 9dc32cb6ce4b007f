#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How models run by many threads, on a machine that has the cores but no compiler.

    scaling.py prepare --tenon TENON --library LIBTENON_RUNTIME.SO -o FOLDER
                       [--precisions fp32,bf16] MODEL...
    scaling.py measure FOLDER -o JSON [--threads 1,2,4,8] [--seconds S]
    scaling.py write --setting TEXT-FILE -o PAGE JSON

A MODEL is a folder with model.onnx and test_data_set_0 (FOLDER:SET for another set).
Weights in a file beside the model become a few numbers again and again, so that all
of it is small enough to carry. `measure` needs numpy alone; where onnxruntime is
installed, it runs the same models by as many threads, in turns with Tenon.
"""
import argparse
import ctypes
import gzip
import json
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

MAX_RANK = 32  # TENON_MAX_RANK


class Tensor(ctypes.Structure):
    """tenon_tensor_t"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_uint32),
                ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * MAX_RANK),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("capacity", ctypes.c_int64)]


class SessionOptions(ctypes.Structure):
    """tenon_session_options_t; a runtime takes one that ends where an older one did."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("spin_microseconds", ctypes.c_int32), ("memory_limit", ctypes.c_uint64)]


class Library:
    """As much of the runtime as a measurement needs."""

    def __init__(self, path):
        self.calls = ctypes.CDLL(str(path))
        self.calls.tenon_last_error.restype = ctypes.c_char_p
        self.calls.tenon_dtype_name.restype = ctypes.c_char_p
        self.numbers = {self.calls.tenon_dtype_name(i): i for i in range(1, 17)}

    def call(self, name, *arguments):
        if getattr(self.calls, name)(*arguments):
            raise SystemExit(f"{name}: {self.calls.tenon_last_error().decode()}")

    def load(self, path):
        model = ctypes.c_void_p()
        self.call("tenon_model_load", str(path).encode(), None, ctypes.byref(model))
        return model

    def tensor(self, array):
        kind = {"f": "f", "i": "i", "u": "u"}.get(array.dtype.kind)
        name = f"{kind}{8 * array.itemsize}" if kind else "bool"
        tensor = Tensor(ctypes.sizeof(Tensor), self.numbers[name.encode()], array.ndim)
        tensor.dims[:array.ndim] = array.shape
        tensor.data, tensor.bytes = array.ctypes.data, array.nbytes
        return tensor


class Ours:
    """A model that is run by a number of threads."""

    def __init__(self, library, model, inputs, outputs, threads):
        self.library, self.arrays = library, inputs
        self.inputs = (Tensor * len(inputs))(*map(library.tensor, inputs))
        self.outputs = (Tensor * outputs)(*[Tensor(ctypes.sizeof(Tensor))] * outputs)
        options = SessionOptions(ctypes.sizeof(SessionOptions), threads)
        self.session = ctypes.c_void_p()
        library.call("tenon_session_create", model, ctypes.byref(options),
                     ctypes.byref(self.session))

    def __call__(self):
        self.library.call("tenon_session_run", self.session, self.inputs,
                          len(self.inputs), self.outputs, len(self.outputs))

    def close(self):
        self.library.call("tenon_session_destroy", self.session)


class Theirs:
    """The same by ONNX Runtime."""

    def __init__(self, runtime, path, names, inputs, threads):
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = runtime.InferenceSession(str(path), options,
                                                providers=["CPUExecutionProvider"])
        self.feeds = dict(zip(names, inputs))

    def __call__(self):
        self.session.run(None, self.feeds)

    def close(self):
        del self.session


def name_of(model):
    path, _, number = model.partition(":")
    name = pathlib.Path(path).name
    return f"{name}, set {number}" if number else name


def prepare(arguments):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "gpu"))
    import onnx
    import prepare as gpu  # The same models travel to GPUs.
    arguments.output.mkdir(parents=True, exist_ok=True)
    shutil.copy(arguments.library, arguments.output / "libtenon_runtime.so")
    shutil.copy(__file__, arguments.output)
    for model in arguments.models:
        path, _, number = model.partition(":")
        path, out = pathlib.Path(path), arguments.output / name_of(model)
        out.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            source = path / "model.onnx"
            if (path / "weights.bin").exists():
                source = gpu.with_few_numbers(path, scratch)
                gpu.compress(source.with_name("weights.bin"), out)
            shutil.copy(source, out / "model.onnx")
            for precision in arguments.precisions.split(","):
                artifact = pathlib.Path(scratch, f"{precision}.tenon")
                done = gpu.subprocess.run(
                    [arguments.tenon, "compile", source, "-o", artifact,
                     f"--precision={precision}"], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr.strip())
                names = gpu.value_names(arguments, artifact)
                gpu.compress(artifact, out)
        tensors = gpu.read_tensors(path / f"test_data_set_{number or 0}", "input",
                                   names["input"])
        for i, tensor in enumerate(tensors):
            np.save(out / f"{i}.npy", onnx.numpy_helper.to_array(tensor))
        (out / "values.json").write_text(json.dumps(names))


def unpack(folder, scratch):
    for packed in folder.glob("*.gz"):
        with gzip.open(packed) as source, open(scratch / packed.stem, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    shutil.copy(folder / "model.onnx", scratch)


def medians(runs, seconds):
    """Milliseconds of each, which run in turns for so long, and once before."""
    times = [[] for _ in runs]
    for run in runs:
        run()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds * len(runs):
        for run, own in zip(runs, times):
            begin = time.perf_counter()
            run()
            own.append(time.perf_counter() - begin)
    return [1e3 * float(np.median(own)) for own in times]


def measure_model(folder, library, runtime, arguments):
    names = json.loads((folder / "values.json").read_text())
    inputs = [np.load(folder / f"{i}.npy") for i in range(len(names["input"]))]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        unpack(folder, scratch)
        artifacts = sorted(scratch.glob("*.tenon"), reverse=True)
        models = [library.load(artifact) for artifact in artifacts]
        for threads in map(int, arguments.threads.split(",")):
            runs = [Ours(library, model, inputs, len(names["output"]), threads)
                    for model in models]
            if runtime:
                runs.append(Theirs(runtime, scratch / "model.onnx", names["input"], inputs,
                                   threads))
            titles = [artifact.stem for artifact in artifacts] + ["ONNX Runtime"]
            times = medians(runs, arguments.seconds)
            rows.append({"threads": threads, "ms": dict(zip(titles, times))})
            print(folder.name, threads, *(f"{each:.3f}" for each in times), flush=True)
            for run in runs:
                run.close()
        for model in models:
            library.calls.tenon_model_release(model)
    return rows


def measure(arguments):
    library = Library(arguments.folder / "libtenon_runtime.so")
    try:
        import onnxruntime as runtime
    except ImportError:
        runtime = None
        print("ONNX Runtime is left out: it is not installed")
    rows = {}
    for folder in sorted(path.parent for path in arguments.folder.glob("*/values.json")):
        rows[folder.name] = measure_model(folder, library, runtime, arguments)
        arguments.output.write_text(json.dumps(rows, indent=1))


def write(arguments):
    models = json.loads(arguments.json.read_text())
    counts = [row["threads"] for row in next(iter(models.values()))]
    titles = list(next(iter(models.values()))[0]["ms"])
    lines = [arguments.setting.read_text().strip(), "",
             "Written by [scaling.py](../../test/benchmark/scaling.py); do not edit. Milliseconds of "
             "a median run, all in turns; behind them, how many times as fast as by one thread.", ""]
    for title in titles:
        lines += [f"## {title}", "", f"| model | {' | '.join(map(str, counts))} |",
                  "|---|" + "--:|" * len(counts)]
        for name, rows in models.items():
            times = [row["ms"][title] for row in rows]
            cells = " | ".join(f"{each:.3g} ({times[0] / each:.1f})" for each in times)
            lines.append(f"| {name} | {cells} |")
        lines.append("")
    if "ONNX Runtime" in titles:
        first = titles[0]
        lines += [f"## ONNX Runtime / {first}", "", f"| model | {' | '.join(map(str, counts))} |",
                  "|---|" + "--:|" * len(counts)]
        for name, rows in models.items():
            cells = " | ".join(f"{row['ms']['ONNX Runtime'] / row['ms'][first]:.2f}"
                               for row in rows)
            lines.append(f"| {name} | {cells} |")
        lines.append("")
    arguments.output.write_text("\n".join(lines[:-1]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("prepare")
    command.add_argument("--tenon", required=True)
    command.add_argument("--library", type=pathlib.Path, required=True)
    command.add_argument("--precisions", default="fp32,bf16")
    command.add_argument("models", nargs="+")
    command.set_defaults(run=prepare)
    command = commands.add_parser("measure")
    command.add_argument("folder", type=pathlib.Path)
    command.add_argument("--threads", default="1,2,4,8,16")
    command.add_argument("--seconds", type=float, default=1)
    command.set_defaults(run=measure)
    command = commands.add_parser("write")
    command.add_argument("--setting", type=pathlib.Path, required=True)
    command.add_argument("json", type=pathlib.Path)
    command.set_defaults(run=write)
    for command in commands.choices.values():
        command.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
