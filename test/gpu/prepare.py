#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills a folder with all that run.sh needs on a machine with a GPU.

    prepare.py --tenon TENON --gpu-run GPU_RUN OUT MODEL...
               [--precision fp32,bf16] [--sm 80,90] [--data-sets N] [--jobs N]
               [--sweeps real|tiny|none] [--most-mb N] [--timed MODEL]...
               [--preset TEST-MODELS [--full FOLDER]]
               [--all TEST-MODELS [--share K/N]]

MODEL is a folder in ONNX's test layout. Each is compiled for CUDA in each
precision, with machine code for --sm where ptxas is found; inputs and expected
outputs become raw bytes, and what `tenon explain` foretells of each kernel for
the last --sm goes along. --sweeps adds single ops at many sizes (sweeps.py).
--timed adds a model that is too large to carry: its weights, an external file
of floats, become a few numbers again and again, which compress to nearly
nothing. Then no output is as it should be, and only times are of use.
--preset takes what fits one call of ten minutes and 64 MB: all sweeps, one data
set of a test model of each kind in all precisions, and with --full the models
TIMED of a folder, timed in bf16 (and GPT-2 with weights of few bits). --all takes one data set of every model in
fp32 and bf16, or, as that is too much for one folder, the K-th of N shares of
them. Artifacts of both are packed, which run.sh undoes.
With --most-mb, models are left out, and named, from where the folder would
grow beyond it. What cannot be prepared is said, left out, and makes the exit
status 1.
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
import sweeps

TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64",
         9: "bool", 10: "f16", 11: "f64", 12: "u32", 13: "u64", 16: "bf16"}
# As `tenon verify` allows.
ROUNDING = {"bf16": 1e-2, "fp16": 2e-3, "int8": 1e-1, "int8-weights": 3e-2,
            "int4-weights": 2e-1}
PRECISIONS = ",".join(("fp32", *ROUNDING))
HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
EXPLAINED = ("80", "90", "100", "120")
QUANTIZED = re.compile(
    r".*QuantizeLinear|QLinear.*|.*Integer|.*NBits|QGemm|QAttention"
    r"|DynamicQuantizeMatMul|DynamicQuantizeLSTM")


OF_EACH_KIND = (
    "bert_ts17", "gpt2_ts17", "llama_ts17", "vit_ts17", "resnet_ts17",
    "convnext_ts17", "t5_decoder_ts17", "whisper_encoder_ts17", "swin_ts17",
    "mlp_ts17", "moe_dy20", "mixer_dy20", "gemma2_ts17", "qwen2_ts17",
    "phi3_ts17", "clip_text_ts17", "opt_t5_decoder_merged", "bert_fp16",
    "resnet_fp16", "resnet_int8qdq", "bert_int8qdq", "llama_int4")
# Decoders wait for weights, and are timed with fewer bits of them as well.
TIMED_IN = {"gpt2": ("bf16", "int8-weights", "int4-weights")}
TIMED = ("bert", "gpt2", "vit", "resnet", "convnext", "swin", "t5_encoder",
         "whisper_encoder")


class Unprepared(Exception):
    """A sentence: why there is nothing to run."""


def tolerance(graph):
    """As `tenon verify` has it: relative to an output's largest magnitude."""
    allowed = 1e-4
    types = [tensor.data_type for tensor in graph.initializer]
    types += [value.type.tensor_type.elem_type
              for value in (*graph.input, *graph.output)]
    for node in graph.node:
        if QUANTIZED.fullmatch(node.op_type):
            return 1e-1
        for attribute in node.attribute:
            types.append(attribute.t.data_type)
            if attribute.HasField("g"):
                allowed = max(allowed, tolerance(attribute.g))
    return max(allowed, 1e-2) if any(t in HALVES for t in types) else allowed


def compile_model(options, model, artifact, precision):
    command = [options.tenon, "compile", model, "-o", artifact,
               "--target=cuda", f"--precision={precision}"]
    if options.sm:
        command.append(f"--sm={options.sm}")
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise Unprepared(result.stderr.strip() or
                         f"tenon compile ended with {result.returncode}")


def by_stem(names):
    """Kernels of the same ops, in order; their names end in an ordinal, and
    behind it in which alternative for other sizes they are."""
    stems = {}
    for name in names:
        base = re.sub(r"_(else|over)\d+$", "", name)
        stem, _, ordinal = base.rpartition("_")
        stems.setdefault(stem, {}).setdefault(int(ordinal), []).append(name)
    return {stem: [names for _, names in sorted(kernels.items())]
            for stem, kernels in stems.items()}


def predictions(options, model, artifact, precision, dims=()):
    """The manifest's lines of what kernels should take. Known sizes may spare
    a kernel or two: those of the same ops are then the same in order."""
    command = [options.tenon, "explain", model, "--target=cuda",
               f"--precision={precision}"]
    known = [sm for sm in options.sm.split(",") if sm in EXPLAINED]
    command += [f"--sm={known[-1]}"] if known else []
    for dim in dims:
        command += ["--dim", dim]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise Unprepared(result.stderr.strip() or "tenon explain failed")
    rows = re.findall(r"^ *(\S+) us +\d+ x .* waves +(\S+) \(\w+\)$",
                      result.stdout, re.M)
    times = {kernel: time for time, kernel in rows}
    text = subprocess.run([options.tenon, "inspect", "--json", artifact],
                          capture_output=True, text=True, check=True).stdout
    ours = by_stem(kernel["name"] for kernel in json.loads(text)["kernels"])
    # Whichever alternative runs there is the one that was explained.
    return [f"predict {name} {times[explained[0]]}"
            for stem, others in by_stem(times).items()
            if len(others) == len(ours.get(stem, ()))
            for names, explained in zip(ours[stem], others) for name in names]


def dims_of(graph, data):
    """What a data set's inputs say of the sizes that have names."""
    dims = {}
    tensors = {}
    for path in data.glob("input_*.pb"):
        tensor = onnx.load_tensor(path)
        tensors[tensor.name] = tensor
    for value in graph.input:
        shape = value.type.tensor_type.shape.dim
        if value.name in tensors:
            for dim, size in zip(shape, tensors[value.name].dims):
                if dim.dim_param:
                    dims[dim.dim_param] = size
    return [f"{key}={size}" for key, size in dims.items()]


def value_names(options, artifact):
    text = subprocess.run([options.tenon, "inspect", "--json", artifact],
                          capture_output=True, text=True, check=True).stdout
    values = json.loads(text)
    return {what: [value["name"] for value in values[what + "s"]]
            for what in ("input", "output")}


def read_tensors(data, what, names):
    """The tensors of a data set in the artifact's order."""
    tensors = []
    while (path := data / f"{what}_{len(tensors)}.pb").exists():
        tensors.append(onnx.load_tensor(path))
    if len(tensors) != len(names):
        raise Unprepared(f"{data} has {len(tensors)} {what}s, but the model "
                         f"{len(names)}")
    by_name = {tensor.name: tensor for tensor in tensors}
    if set(by_name) == set(names):
        return [by_name[name] for name in names]
    return tensors


def write_tensor(tensor, path):
    """Returns its words in the manifest."""
    if tensor.data_type not in TYPES:
        raise Unprepared(f"a tensor of type {tensor.data_type} is none of "
                         "Tenon's")
    path.write_bytes(tensor.raw_data
                     or numpy_helper.to_array(tensor).tobytes())
    dims = "x".join(map(str, tensor.dims)) or "-"
    return f"{TYPES[tensor.data_type]} {dims}"


def write_data(out, name, folder, names, count, what=("input", "output")):
    """The manifest's lines of so many data sets."""
    lines = []
    sets = sorted(folder.glob("test_data_set_*"),
                  key=lambda path: int(path.name.rsplit("_", 1)[1]))
    for data in sets[:count]:
        target = pathlib.Path("data") / name / data.name.rsplit("_", 1)[1]
        (out / target).mkdir(parents=True, exist_ok=True)
        lines.append("data")
        for each in what:
            tensors = read_tensors(data, each, names[each])
            for i, tensor in enumerate(tensors):
                file = target / f"{each}_{i}.raw"
                words = write_tensor(tensor, out / file)
                lines.append(f"{each} {words} {file}")
    if not lines:
        raise Unprepared(f"there is no test_data_set_* in {folder}")
    return lines


def prepare(options, folder):
    """The manifest's lines of a model in all precisions."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    allowed = tolerance(model.graph)
    name = re.sub(r"[^\w.-]", "_", folder.name)
    lines, data = [], None
    for precision in options.precision.split(","):
        artifact = f"{name}.{precision}.tenon"
        compile_model(options, folder / "model.onnx", options.out / artifact,
                      precision)
        if data is None:
            names = value_names(options, options.out / artifact)
            data = write_data(options.out, name, folder, names,
                              options.data_sets)
        limit = max(allowed, ROUNDING.get(precision, 0))
        dims = dims_of(model.graph, folder / "test_data_set_0")
        lines += [f"model {name}.{precision} {artifact} {limit:g}",
                  *predictions(options, folder / "model.onnx",
                               options.out / artifact, precision, dims),
                  *data]
        if options.packed:
            compress(options.out / artifact, options.out)
            (options.out / artifact).unlink()
    return lines


def compress(artifact, out):
    with artifact.open("rb") as plain, \
            gzip.open(out / f"{artifact.name}.gz", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def with_few_numbers(folder, scratch):
    """A copy of a model whose weights, an external file of floats, are a few
    numbers again and again."""
    model = pathlib.Path(scratch, "model.onnx")
    shutil.copy(folder / "model.onnx", model)
    numbers = np.linspace(0.001, 0.03, 1024, dtype=np.float32).tobytes()
    with model.with_name("weights.bin").open("wb") as weights:
        size = (folder / "weights.bin").stat().st_size
        for at in range(0, size, len(numbers)):
            weights.write(numbers[:size - at])
    return model


def prepare_timed(options, folder):
    """The manifest's lines of a model whose weights are none."""
    name = re.sub(r"[^\w.-]", "_", folder.name) + "_timed"
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    dims = dims_of(graph, folder / "test_data_set_0")
    lines = []
    # Elsewhere, for here it would take the room of others.
    with tempfile.TemporaryDirectory() as scratch:
        model = with_few_numbers(folder, scratch)
        wanted = options.precision.split(",")
        timed = TIMED_IN.get(folder.name, ("bf16",))
        for precision in [each for each in timed if each in wanted] or wanted:
            artifact = pathlib.Path(scratch, f"{name}.{precision}.tenon")
            compile_model(options, model, artifact, precision)
            names = value_names(options, artifact)
            lines += [f"model {name}.{precision} {artifact.name} 0",
                      *predictions(options, model, artifact, precision, dims),
                      *write_data(options.out, name, folder, names, 1,
                                  ("input",))]
            compress(artifact, options.out)
    return lines


def prepare_sweep(options, case):
    """The manifest's lines of a case of a sweep."""
    with tempfile.TemporaryDirectory() as scratch:
        model = sweeps.write(case, pathlib.Path(scratch))
        artifact = f"{sweeps.name(case)}.tenon"
        compile_model(options, model, options.out / artifact, "fp32")
        return [sweeps.manifest_line(case, artifact),
                *predictions(options, model, options.out / artifact, "fp32")]


def megabytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*")
               if path.is_file()) / 1e6


def title(what):
    return sweeps.name(what) if isinstance(what, tuple) else what


def attempt(options, prepares, what):
    """Lines, and what is wrong; neither where there is no room."""
    if prepares == prepare and megabytes(options.out) > options.most_mb:
        return [], None
    try:
        return prepares(options, what), None
    except (Unprepared, OSError) as problem:
        return [], f"{title(what)}: {problem}"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--gpu-run", required=True)
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--sm", default="")
    parser.add_argument("--data-sets", type=int,
                        help="of each model, at most; all are the default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sweeps", choices=sweeps.CASES, default="none")
    parser.add_argument("--timed", type=pathlib.Path, action="append",
                        default=[])
    parser.add_argument("--most-mb", type=float, default=float("inf"))
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="*")
    parser.add_argument("--preset", type=pathlib.Path)
    parser.add_argument("--full", type=pathlib.Path)
    parser.add_argument("--all", type=pathlib.Path)
    parser.add_argument("--share", default="1/1")
    options = parser.parse_args()
    options.packed = options.preset or options.all
    if options.packed:
        options.data_sets, options.most_mb = 1, 60
    if options.all:
        first, step = map(int, options.share.split("/"))
        models = [path.parent for path in options.all.glob("*/model.onnx")]
        options.models += sorted(models)[first - 1::step]
    if options.preset:
        options.sweeps = "real"
        options.precision = PRECISIONS
        options.models += [options.preset / name for name in OF_EACH_KIND]
        if options.full:
            options.timed += [options.full / name for name in TIMED]
    return options


def main():
    options = arguments()
    toolkit = os.environ.get("PATH", "") + ":/usr/local/cuda/bin"
    if options.sm and not shutil.which("ptxas", path=toolkit):
        print("prepare.py: there is no ptxas, so artifacts have PTX alone, "
              "which the driver compiles", file=sys.stderr)
        options.sm = ""
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(options.gpu_run, options.out / "gpu_run")
    for script in ("run.sh", "run_torch.py"):
        shutil.copy(pathlib.Path(__file__).with_name(script), options.out)
    work = [*((prepare_sweep, case) for case in sweeps.CASES[options.sweeps]),
            *((prepare_timed, folder) for folder in options.timed),
            *((prepare, folder) for folder in options.models)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda each: attempt(options, *each), work))
    lines = [line for part, _ in results for line in part]
    (options.out / "manifest.txt").write_text("\n".join(lines) + "\n")
    problems = [problem for _, problem in results if problem]
    for problem in problems:
        print(f"prepare.py: {problem}", file=sys.stderr)
    for (_, what), (part, problem) in zip(work, results):
        if not part and not problem:
            print(f"prepare.py: {title(what)} is left out: there is no room")
    done = [prepares for (prepares, _), (part, _) in zip(work, results) if part]
    models = sum(prepares != prepare_sweep for prepares in done)
    print(f"{models} models and {len(done) - models} cases of sweeps, "
          f"{megabytes(options.out):.1f} MB in {options.out}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
