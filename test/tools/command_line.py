#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the command line of tenon to its contract.

    command_line.py TENON TEST-MODELS FAKE-CUDA-DRIVER
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TENON, MODELS, DRIVER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
MLP = MODELS / "mlp_ts17"
# For what is the same at each level: code for all of them takes its time.
NATIVE = "--cpu=native"
# Of its products in a run of one row: 64 x 128, 128 x 128 and 128 x 32.
WEIGHTS = 64 * 128 + 128 * 128 + 128 * 32
failures = []


def run(*arguments, code=0, out="", err=""):
    """Runs tenon; its exit code and texts must be as given."""
    done = subprocess.run(
        [TENON, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    if done.returncode != code or out not in done.stdout or err not in done.stderr:
        failures.append(
            f"{' '.join(map(str, arguments))}\n  exit {done.returncode}, "
            f"expected {code}\n  {done.stdout}{done.stderr}"
        )
    return done.stdout


def expect(holds, what):
    if not holds:
        failures.append(what)


def check_cuda(folder):
    model = MLP / "model.onnx"
    both, again = folder / "both.tenon", folder / "again.tenon"
    text = run("compile", model, "--target=cuda", "--emit=ptx", out=".visible .entry")
    expect(text.startswith("//") and "\0" not in text, "PTX is not plain text")
    run("compile", model, "--target=cpu,cuda", "-o", both, out="kernels")
    run("compile", model, "--target=cpu,cuda", "-o", again)
    expect(both.read_bytes() == again.read_bytes(), "PTX differs from run to run")
    run("run", both, "--inputs", MLP / "test_data_set_0", out="f32")
    check_device(both, MLP / "test_data_set_0")
    run("compile", model, "--emit=ptx", code=1, err="name that target first")
    run("compile", model, "--target=cuda", "--emit=llvm", code=1, err="for CPUs")
    run("compile", model, "--target=cuda", "--cpu=native", "-o", both, code=1,
        err="CPUs are no target")
    run("compile", model, "--sm=80", "-o", both, code=1, err="CUDA is no target")
    run("compile", model, "--target=cuda", "--precision=fp16", "-o", again,
        out="kernels")
    run("compile", model, "--target=cpu,cuda", "--precision=fp16", "-o", again,
        out="kernels")
    run("compile", model, "--target=tpu", "-o", both, code=2, err="tpu")
    run("explain", model, "--target=cuda", "--sm=80", out="A100 (sm_80)")
    run("explain", model, "--target=cuda", "--sm=81", code=2, err="81")
    check_few_bits_on_devices()
    check_table_on_devices()


def check_batches(folder):
    model, whole = MLP / "model.onnx", MODELS / "gpt2_ts17" / "model.onnx"
    made = folder / "batch.tenon"
    run("compile", model, NATIVE, "-o", made, out=" at a time")
    data = MLP / "test_data_set_0"
    expected = run("run", made, "--inputs", data)
    for items in 1, 2:
        text = run("compile", model, NATIVE, f"--batch-at-once={items}", "-o",
                   made, out=" at a time")
        expect("all at once" not in text, "a batch in pieces is said to be whole")
        expect(run("run", made, "--inputs", data) == expected,
               "pieces of a batch give other results")
    text = run("compile", model, NATIVE, "--batch-at-once=all", "-o", made)
    expect(" at a time" not in text, "a whole batch is said to be in pieces")
    run("compile", whole, NATIVE, "--batch-at-once=2", "-o", made,
        out="batch    all at once")
    run("explain", whole, out="a batch runs at once: caches lie as an app keeps them")
    for wrong in "0", "-1", "some", "1.5", "2147483648":
        run("compile", model, f"--batch-at-once={wrong}", "-o", made, code=2,
            err="--batch-at-once")


def check_equal_dims():
    """A mask whose batch has a name of its own is said to have that of the ids."""
    model = MODELS / "gpt2_dy20" / "model.onnx"
    text = run("compile", model, "--emit=graph", "--dim", "s31=s11", out="<s11, s64>")
    expect("s31" not in text, "a dim that is another is still there")
    run("verify", model.parent, "--dim", "s31=s11", out="1 passed")
    run("verify", model.parent, "--dim", "s31=s27", code=1, out='"attention_mask" is i64[2, 8], but the model takes')
    run("compile", model, "--emit=graph", "--dim", "s31=batch", code=1,
        err="no input has a dim 'batch'; there are s11,")
    circle = ["--dim=s31=s11", "--dim=s11=s27", "--dim=s27=s31"]
    run("compile", model, "--emit=graph", *circle, code=1,
        err="'s31' is said to be others in a circle")


def check_table_on_devices():
    """A table that is looked up and multiplied by is there once."""
    text = run("compile", MODELS / "gpt2_dy20" / "model.onnx", "--target=cuda",
               "--emit=kernels", out="graph.transpose")
    expect(".transposed" not in text, "a weight is stored both ways round")


def check_few_bits_on_devices():
    """Weights are read in few bits, and the fewer the less there is to read."""
    model = MODELS / "gpt2_ts17" / "model.onnx"
    foretold = []
    run("compile", model, "--target=cuda", "--precision=int8", "--emit=kernels",
        out='layouts ["", "quads32"')
    for precision, layout in (("bf16", ""), ("int8-weights", "bytes32"),
                              ("int4-weights", "nibbles32")):
        ours = ["--target=cuda", f"--precision={precision}"]
        text = run("compile", model, *ours, "--emit=kernels", out=layout)
        expect("@dequantize" not in text, f"{precision} has a kernel that dequantizes")
        one = [f"--dim={name}=1" for name in ("batch", "seq")]
        text = run("explain", model, *ours, *one, out="as a model of it says")
        foretold.append(float(re.search(r"([\d.]+) MB on", text)[1]))
    expect(sorted(foretold, reverse=True) == foretold, f"bytes foretold: {foretold}")
    # Where more is asked for than a model keeps, kernels are looked at one by one.
    for precision in ("int8-weights", "int4-weights"):
        text = run("verify", MODELS / "gpt2_ts17", "--device", "cuda", "--cuda-driver",
                   DRIVER, f"--precision={precision}", "--max-error=1e-9", code=1)
        error = re.search(r"specification is \w*dequantize\w* .* error (\S+)", text)
        expect(error and float(error[1]) < 1e-6, text)


def check_precision_plan(folder):
    model, plan, artifact = MLP / "model.onnx", folder / "p.json", folder / "p.tenon"
    run("compile", NATIVE, model, "--precision=bf16", "--precision-plan", plan, "-o",
        artifact)
    by_precision = artifact.read_bytes()
    rows = json.loads(plan.read_text())["ops"]
    expect(
        len(rows) == 3
        and {(row["kind"], row["precision"]) for row in rows} == {("matmul", "bf16")},
        f"the plan says {rows}",
    )
    run("compile", NATIVE, model, "--precision-plan", plan, "-o", artifact)
    expect(artifact.read_bytes() == by_precision, "a plan makes something else")
    # Kernels read the bits: no weight is made of them at run time.
    for precision, layout in (("int4-weights", "nibbles48"), ("int8-weights", "lines48"),
                              ("int8", "packed48_quads")):
        text = run("compile", model, f"--precision={precision}", "--emit=kernels",
                   out=layout)
        expect("@dequantize" not in text, f"{precision} has a kernel that dequantizes")
    edited = folder / "edited.json"
    edited.write_text(plan.read_text().replace("bf16", "fp32", 2))
    run("compile", model, "--precision-plan", edited, "--emit=graph", out="bf16")
    run("verify", MLP, "--precision-plan", edited, out="1 passed")
    run("explain", model, "--precision-plan", edited, out="bf16_2")
    edited.write_text(plan.read_text().replace(rows[1]["op"], "nowhere"))
    run("compile", model, "--precision-plan", edited, "-o", artifact, code=1,
        err="names matmul 'nowhere', which this model does not have")
    edited.write_text(plan.read_text().replace("bf16", "bf17", 1))
    run("compile", model, "--precision-plan", edited, "-o", artifact, code=2,
        err="there is no precision 'bf17'")
    edited.write_text(plan.read_text().replace("bf16", "fp16", 1))
    text = run("compile", model, "--precision-plan", edited, "--emit=graph", out="bf16")
    expect("xf16>" in text, "a plan's fp16 is not taken")
    run("verify", MLP, "--precision-plan", edited, out="1 passed")
    run("compile", model, "--precision-plan", folder / "none.json", "-o", artifact,
        code=2, err="none.json")


def check_block_sizes(folder):
    """Scales of larger blocks are fewer bytes, and plans know how many."""
    model, plan, artifact = MLP / "model.onnx", folder / "w.json", folder / "w.tenon"
    sizes = []
    for block in (16, 32, 64, 128):
        run("compile", NATIVE, model, "--precision=int4-weights", "--block-size", block,
            "--precision-plan", plan, "-o", artifact)
        by_option = artifact.read_bytes()
        held = json.loads(run("inspect", artifact, "--json"))
        sizes.append(held["weights_bytes"])
        rows = json.loads(plan.read_text())["ops"]
        expect(all(row.get("block", 32) == block for row in rows),
               f"the plan says {rows}")
        run("compile", NATIVE, model, "--precision-plan", plan, "-o", artifact)
        expect(artifact.read_bytes() == by_option, "a plan makes other blocks")
    expect(sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1],
           f"weights in larger blocks have {sizes} bytes")
    # A table that is looked up has 8 bits where products have 4.
    gpt2 = MODELS / "gpt2_ts17" / "model.onnx"
    run("compile", gpt2, "--precision=int4-weights", "--cpu=native",
        "--precision-plan", plan, "-o", artifact)
    by_option, rows = artifact.read_bytes(), json.loads(plan.read_text())["ops"]
    expect({row["precision"] for row in rows if row["kind"] == "gather"}
           == {"int8-weights"}, f"the plan says {rows}")
    run("compile", gpt2, "--cpu=native", "--precision-plan", plan, "-o", artifact)
    expect(artifact.read_bytes() == by_option, "a plan makes other tables")
    run("explain", gpt2, "--precision=int4-weights", out="its table has 8 bits")
    run("explain", model, "--precision=int8-weights", "--block-size=16",
        out="has 8 bits and a scale for each 16 steps of k")
    run("verify", MLP, "--precision=int8-weights", "--block-size=64", out="1 passed")
    run("compile", NATIVE, model, "--precision=auto", "--max-error", 0.5, "--block-size=64",
        "-o", artifact, "--precision-plan", plan)
    for row in json.loads(plan.read_text())["ops"]:
        expect(("block" in row) == row["precision"].endswith("-weights"), f"{row}")
    run("compile", model, "--precision=int4-weights", "--block-size=48", "-o",
        artifact, code=2, err="48")
    for others in (["--precision=int8"], ["--precision-plan", plan]):
        run("compile", model, *others, "--block-size=64", "-o", artifact, code=2,
            err="--block-size is for --precision=int8-weights")


def check_compensated(folder):
    """Weights that are rounded by inputs err less, and plans ask for the inputs."""
    artifact, plan = folder / "r.tenon", folder / "r.json"
    for name, precision in (("bert_ts17", "int4-weights"), ("mlp_ts17", "int8-weights")):
        model, data = MODELS / name / "model.onnx", MODELS / name
        options = [f"--precision={precision}", "--block-size=64", "--precision-plan", plan]

        def compiled(*arguments, **others):
            run("compile", model, "--cpu=native", *arguments, "-o", artifact, **others)
            return artifact.read_bytes()

        def error():
            bench = run("bench", artifact, "--inputs", data / "test_data_set_0",
                        "--seconds", 0.01, "--json")
            return json.loads(bench)["error"]

        compiled(*options)
        nearest = error()
        by_data = compiled(*options, "--calibrate", data, out="rounded by what they meet")
        expect(error() < 0.7 * nearest, f"{name} errs {error()}, to nearest {nearest}")
        rows = json.loads(plan.read_text())["ops"]
        expect(all(row.get("compensated") for row in rows
                   if row["precision"] == precision), f"the plan says {rows}")
        again = ["--precision-plan", plan]
        expect(compiled(*again, "--calibrate", data) == by_data,
               f"{name}: a plan and its inputs make something else")
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(mine)})
        expect(compiled(*options, "--calibrate", data) == by_data,
               f"{name}: one thread rounds otherwise")
        os.sched_setaffinity(0, mine)
        compiled(*again, code=1, err="compile with --calibrate DIR")
        run("verify", data, *again, out="compile with --calibrate DIR", code=1)
        run("verify", data, *again, "--calibrate", data, out="1 passed")
        run("explain", model, *again, out="a scale for each")
        plain = [{key: row[key] for key in row if key != "compensated"} for row in rows]
        plan.write_text(json.dumps({"format": 1, "ops": plain}))
        compiled(*again)
        expect(error() == nearest, f"{name}: without inputs it errs {error()}")
    run("compile", model, "--precision=int4-weights", "--calibrate", data,
        "--target=cuda", "-o", artifact, code=2, err="for CPUs alone")
    run("verify", data, "--precision=int8", "--calibrate", data, "--json",
        out='"passed":1')
    run("verify", data, "--precision=bf16", "--calibrate", data, code=1,
        out="--calibrate is for")
    run("compile", model, "--precision=int4-weights", "--calibrate",
        MODELS / "bert_ts17", "-o", artifact, code=1, err="test_data_set_0")


def check_quantized_models():
    """Products of models that come quantized multiply what they come as."""
    for name in ("bert_int8qdq", "vit_int8qdq", "bert_int8dynamic"):
        run("compile", MODELS / name / "model.onnx", "--emit=kernels",
            out='schedule "PackedMatmulInt8"')
    for how in ([], ["--precision=bf16"], ["--precision=int8"]):
        text = run("compile", MODELS / "llama_int4" / "model.onnx", "--emit=kernels",
                   *how, out="nibbles48")
        expect("@dequantize" not in text, f"llama_int4 dequantizes with {how}")
    # GPUs multiply such weights by bf16; where f32 is asked for, by what they are,
    # unless the model itself allows less (accuracy_level).
    cuda = ["--target=cuda", "--emit=kernels"]
    ours = [MODELS / "genai_llama_int4" / "model.onnx", *cuda]
    for how in ([], ["--precision=bf16"]):
        text = run("compile", *ours, *how, out="nibbles32")
        expect("@dequantize" not in text, f"genai_llama_int4 dequantizes with {how}")
    exact = [MODELS / "llama_int4" / "model.onnx", *cuda]
    expect("nibbles32" not in run("compile", *exact), "f32 meets numbers of 4 bits")


def check_kv_cache(folder):
    gpt2, artifact = MODELS / "gpt2_ts17", folder / "cache.tenon"
    model, data = gpt2 / "model.onnx", gpt2 / "test_data_set_0"
    devices = ["--device", "cuda", "--cuda-driver", DRIVER]
    for kept in ("f16", "bf16"):
        run("compile", NATIVE, model, f"--kv-cache={kept}", "--target=cpu,cuda", "-o",
            artifact)
        info = json.loads(run("inspect", artifact, "--json"))
        types = {value["name"]: value["type"] for value in info["inputs"]}
        expect(types["past_k0"] == kept, f"inputs have types {types}")
        # Data comes in f32, and is compared as such.
        run("run", artifact, "--inputs", data, out=f"present_k0 {kept}[")
        for device in ([], devices):
            error = json.loads(run("bench", artifact, "--inputs", data, "--json",
                                   "--seconds", 0.1, *device))["error"]
            expect(error and error < 1e-2, f"bench: caches in {kept} err {error}")
    run("compile", NATIVE, model, "--kv-cache=int8", "--target=cpu,cuda", "-o",
        artifact)
    info = json.loads(run("inspect", artifact, "--json"))
    types = {value["name"]: value["type"] for value in info["inputs"]}
    expect(types["past_k0"] == "i8" and types["past_k0.scale"] == "f32",
           f"inputs have types {types}")
    run("run", artifact, "--inputs", data, "--outputs", folder / "kept",
        out="present_k0.scale f32[")
    for device in ([], devices):
        error = json.loads(run("bench", artifact, "--inputs", data, "--json",
                               "--seconds", 0.1, *device))["error"]
        expect(error and error < 2e-2, f"bench: caches in int8 err {error}")
    run("run", artifact, "--random", "past_k0=1x4x3x16", code=1, err="has no value")
    run("verify", gpt2, "--kv-cache=bf16", "--max-error=1e-3", code=1,
        out="of what --kv-cache rounds")
    run("explain", model, "--kv-cache=bf16", out="Attention")
    run("compile", NATIVE, model, "--kv-cache=bf16", "--precision=auto", "--max-error=0.5",
        "-o", artifact, out="launches")
    run("compile", MLP / "model.onnx", "--kv-cache=f16", "-o", artifact, code=1,
        err="no cache can be kept in f16: no input comes back with rows behind it")
    run("compile", model, "--kv-cache=f16", "--precision=bf16", "--target=cuda", "-o",
        artifact, code=1, err="multiply bf16; keep it in that")
    for bad in ("int4", "bf17", ""):
        run("compile", model, f"--kv-cache={bad}", "-o", artifact, code=2,
            err="--kv-cache")


def check_auto_precision(folder):
    model, plan, artifact = MLP / "model.onnx", folder / "a.json", folder / "a.tenon"

    def precisions(*arguments):
        cpu = [] if "--target=cuda" in arguments else [NATIVE]
        run("compile", model, *cpu, "--precision=auto", "--precision-plan", plan, "-o",
            artifact, *arguments, out="auto is ")
        rows = json.loads(plan.read_text())["ops"]
        return {row["precision"] for row in rows}, [row["error"] for row in rows]

    chosen, errors = precisions("--max-error", 0.5, "--calibrate", MLP)
    # Which of them is fastest is this CPU's affair.
    expect("fp32" not in chosen and min(errors) > 0, f"auto chose {chosen} {errors}")
    # Convolutions have 8 bits only where their images were calibrated.
    images = MLP.parent / "resnet_ts17"
    run("compile", NATIVE, images / "model.onnx", "--precision=auto", "--max-error", 0.5,
        "--calibrate", images, "--precision-plan", plan, "-o", artifact, out="1 of 1 conv")
    rows = json.loads(plan.read_text())["ops"]
    expect([row["op"] for row in rows if row["precision"] == "int8"] ==
           [row["op"] for row in rows if "scale" in row] != [], f"auto chose {rows}")
    run("verify", images, "--precision-plan", plan, "--max-error", 2e-2, out="1 passed")
    chosen, errors = precisions("--max-error", 0)
    expect(chosen == {"fp32"} and max(errors) == 0, f"auto chose {chosen} {errors}")
    run("verify", MLP, "--precision-plan", plan, "--max-error", 1e-4, out="1 passed")
    run("compile", NATIVE, model, "--precision=auto", "-o", artifact,
        out="seeded sets of inputs")
    chosen, _ = precisions("--max-error", 0.5, "--max-memory", "80KB")
    expect("fp32" not in chosen, f"auto chose {chosen} for 80 KB")
    run("compile", model, "--precision=auto", "--max-error", 0, "--max-memory", "80KB",
        "-o", artifact, code=1, err="allow more of one")
    # For a GPU CPUs measure what it would round; small ops are launches' affair.
    chosen, _ = precisions("--max-error", 0.5, "--target=cuda")
    expect(chosen == {"fp32"}, f"auto chose {chosen} where launches bind")
    chosen, errors = precisions("--max-error", 1e-2, "--max-memory", "80KB",
                                "--target=cuda", "--calibrate", MLP)
    expect(chosen != {"fp32"} and max(errors) < 1e-2, f"auto chose {chosen} {errors}")
    run("verify", MLP, "--device", "cuda", "--cuda-driver", DRIVER, "--precision-plan",
        plan, "--max-error", 1e-2, out="1 passed")
    run("compile", model, "--precision=auto", "--target=cpu,cuda", "-o", artifact,
        code=2, err="chooses for one target")
    run("compile", model, "--precision=auto", "--calibrate", folder / "no", "-o",
        artifact, code=2, err="no")
    run("compile", model, "--precision=auto", "--calibrate", folder, "-o", artifact,
        code=1, err="cannot be opened")
    run("verify", MLP, "--precision=auto", code=2, err="auto")
    # What is the only set of its sizes chooses, too.
    for rows, says in (([20, 20], "2 sets of inputs, one for auto alone"),
                       ([20, 1], "2 sets of inputs:")):
        for i, count in enumerate(rows):
            sets = folder / f"by{rows[-1]}" / f"test_data_set_{i}"
            sets.mkdir(parents=True)
            write_npy(sets / "input_0.npy", count, 64)
        run("compile", NATIVE, model, "--precision=auto", "--calibrate", sets.parent, "-o",
            artifact, out=says)


def check_static_int8(folder):
    """Calibrated scales: no kernel looks for a row's largest magnitude."""
    artifact, plan = folder / "s.tenon", folder / "s.json"
    for name, most in (("bert_ts17", 0.02), ("gpt2_dy20", 0.02), ("mlp_ts17", 0.02)):
        model = MODELS / name / "model.onnx"
        static = ["--precision=int8", "--calibrate", MODELS / name]
        text = run("compile", NATIVE, model, *static, "--precision-plan", plan, "-o",
                   artifact)
        counts = re.search(r"int8 by mse of \d sets of inputs: (\d+) of (\d+) prod", text)
        # One scale errs more than those of rows: not all products can have it.
        expect(counts and 5 * int(counts[1]) > 2 * int(counts[2]), f"{name}: {text}")
        rows = [row for row in json.loads(plan.read_text())["ops"] if "scale" in row]
        expect(len(rows) == int(counts[1]), f"{name}: the plan has {len(rows)} scales")
        expect(name != "gpt2_dy20" or any("shifts" in row for row in rows),
               f"{name}: no channel is smoothed")
        by_data = artifact.read_bytes()
        run("compile", NATIVE, model, "--precision-plan", plan, "-o", artifact)
        expect(artifact.read_bytes() == by_data, f"{name}: a plan makes something else")
        text = run("compile", model, "--precision-plan", plan, "--emit=kernels",
                   out='schedule "PackedMatmulInt8"')
        expect(counts[1] != counts[2] or "quantize_rows" not in text,
               f"{name} looks for rows' scales")
        run("verify", MODELS / name, "--precision-plan", plan, "--max-error", most,
            out="1 passed")
        outputs = [folder / f"threads{threads}" for threads in (1, 2, 4)]
        for threads, output in zip((1, 2, 4), outputs):
            run("run", artifact, "--inputs", MODELS / name / "test_data_set_0",
                "--threads", threads, "--outputs", output)
        first = {file.name: file.read_bytes() for file in outputs[0].iterdir()}
        for output in outputs[1:]:
            expect({file.name: file.read_bytes() for file in output.iterdir()} == first,
                   f"{name} gives other results for other threads")
    resnet, convs = MODELS / "resnet_ts17", folder / "convs.json"
    run("compile", NATIVE, resnet / "model.onnx", "--precision=int8", "--calibrate",
        resnet, "--precision-plan", convs, "-o", artifact,
        out="1 of 1 convolutions static")
    run("compile", resnet / "model.onnx", "--precision-plan", convs, "--emit=kernels",
        out='ConvInt8"')
    run("verify", resnet, "--precision-plan", convs, "--max-error", 0.02, out="1 passed")
    model, compile_mlp = MLP / "model.onnx", [
        "compile", MLP / "model.onnx", NATIVE, "-o", artifact]
    for choice in ("minmax", "percentile"):
        run(*compile_mlp, "--precision=int8", "--calibrate", MLP, "--calibration", choice,
            out=f"int8 by {choice} of 2 sets of inputs: 3 of 3 products static")
    few = folder / "few"
    few.mkdir()
    write_npy(few / "input_0.npy", 15, 64)
    run(*compile_mlp, "--precision=int8", "--calibrate", few,
        out="0 of 3 products static, 0 of them with channels smoothed; 3 dynamic, as "
            "inputs have fewer than 16 rows")
    run(*compile_mlp, "--precision=int8", "--calibration=mse", code=2, err="--calibrate")
    for others in (["--precision=bf16"], ["--precision-plan", plan], []):
        run(*compile_mlp, *others, "--calibrate", MLP, code=2,
            err="--calibrate is for --precision=int8")
    empty = folder / "empty"
    empty.mkdir()
    run(*compile_mlp, "--precision=int8", "--calibrate", MLP, "--target=cpu,cuda",
        out="products static")
    run("compile", model, "--precision=int8", "--calibrate", MLP, "--target=cuda",
        "--sm=90", "--emit=kernels", out="quads32")
    run("compile", model, "--precision-plan", plan, "--target=cuda", "-o", artifact)
    run(*compile_mlp, "--precision=int8", "--calibrate", empty, code=1,
        err="cannot be opened")
    run(*compile_mlp, "--precision=int8", "--calibrate", MODELS / "bert_ts17", code=1,
        err="test_data_set_0")
    row = json.loads(plan.read_text())["ops"][0] | {"shifts": [1, 2]}
    plan.write_text(json.dumps({"format": 1, "ops": [row]}))
    run("compile", model, "--precision-plan", plan, "-o", artifact, code=1,
        err="but the precision plan has 2 shifts; calibrate again")


def check_device(both, data):
    device = ["--device", "cuda:0", "--cuda-driver", DRIVER]
    expect(
        run("run", both, "--inputs", data, *device, out="f32")
        == run("run", both, "--inputs", data),
        "a device's results look different",
    )
    bench = json.loads(run("bench", both, "--inputs", data, *device, "--seconds",
                           0.01, "--profile", "--json"))
    expect(bench["error"] < 1e-4 and bench["limits"] is None,
           f"bench --device says {bench}")
    run("verify", MLP, *device, out="1 passed")
    held = json.loads(run("inspect", both, "--json"))
    other = held["other_programs"][0]
    expect(
        held["target"] == "cpu" and held["levels"] and not held["images"]
        and other["target"] == "cuda" and other["images"][0]["kind"] == "ptx"
        and all(kernel["threads"] for kernel in other["kernels"]),
        "inspect --json lacks a program",
    )
    run("inspect", both, out="program   for cuda")
    run("run", both, "--device", "abacus", code=2, err="abacus")
    run("run", both, "--device", "cuda:9", "--cuda-driver", DRIVER, code=1,
        err="there is no CUDA device 9")
    run("run", both, "--device", "cuda", "--cuda-driver", "/none/libcuda.so",
        code=1, err="cannot load the CUDA driver")


def check_compile(folder):
    artifact = folder / "a.tenon"
    run("compile", MLP / "model.onnx", "-o", artifact, out="kernels")
    run("compile", MLP / "model.onnx", "-o", folder / "b.tenon")
    expect(
        artifact.read_bytes() == (folder / "b.tenon").read_bytes(),
        "the same model gives two artifacts",
    )
    expect(artifact.stat().st_mode & 0o111 == 0, "an artifact is executable")
    for stage, text in {
        "graph": "func.func @main",
        "regions": "kernel.region",
        "kernels": "kernel.func",
        "exec": "exec.launch",
        "llvm": "define",
    }.items():
        run("compile", MLP / "model.onnx", "--emit", stage, out=text)
    run("compile", MLP / "model.onnx", f"--emit=object", "-o", folder / "a.o")
    run("compile", MLP / "model.onnx", code=2, err="-o FILE")
    run("compile", MLP / "model.onnx", "-o", artifact, "--cpu", "z80", code=1,
        err="z80")
    run("compile", MLP / "model.onnx", "-o", artifact,
        "--require-fused=attention,norm,activation,rotary")
    run("compile", MODELS / "bert_int8qdq" / "model.onnx", "-o", artifact,
        "--require-fused=attention", code=1, err="Softmax': attention is not fused")
    run("compile", MLP / "model.onnx", "-o", artifact, "--require-fused=norms",
        code=2, err="'norms' is none of")
    run("compile", MLP / "model.onnx", "-o", artifact, "--dim", "batch", code=2,
        err="--dim batch")
    run("compile", MLP / "model.onnx", "-o", artifact, "--seed=-1", code=2,
        err="--seed -1: give a number within")
    run("compile", MLP / "model.onnx", "-o", artifact, "--seed=input", code=2,
        err="no node of the model draws random numbers")
    check_equal_dims()
    run("compile", MLP / "model.onnx", "-o", folder / "none/a", code=1,
        err="cannot write")
    plan = folder / "plan.svg"
    run("compile", MLP / "model.onnx", "-o", artifact, "--plan", plan)
    drawing = ElementTree.parse(plan).getroot()
    titles = [title.text for title in drawing.iter() if title.tag.endswith("title")]
    expect(
        len(titles) > 2 and all(" bytes at " in title for title in titles),
        f"the plan shows {titles}",
    )
    run(
        *["compile", MLP / "model.onnx", "--emit", "graph", "--plan", plan],
        code=2,
        err="no memory plan",
    )
    run("compile", artifact, "-o", folder / "c.tenon", code=2)
    expect(not (folder / "c.tenon").exists(), "a failed compile leaves a file")
    return artifact


def write_npy(path, rows, columns):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns})}}"
    header = header.ljust(117) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        + bytes(4 * rows * columns)
    )


def check_levels(folder):
    """An artifact has the levels whose instructions its program needs."""
    artifact = folder / "levels.tenon"
    plain = ["x86-64-v3", "x86-64-v4"]
    bytes_ = ["x86-64-v3", "x86-64-v3-vnni", "x86-64-v4", "x86-64-v4-vnni"]
    for name, options, levels in (
        ("bert_ts17", [], plain),
        ("bert_ts17", ["--precision=bf16"],
         plain + ["x86-64-v4-fp16", "x86-64-v4-bf16", "x86-64-v4-amx"]),
        # Attention beside products of bytes is in bf16; in a quantized file not.
        ("bert_ts17", ["--precision=int8"],
         bytes_ + ["x86-64-v4-fp16", "x86-64-v4-bf16", "x86-64-v4-amx"]),
        ("bert_int8qdq", [], bytes_ + ["x86-64-v4-amx"]),
    ):
        run("compile", MODELS / name / "model.onnx", *options, "-o", artifact)
        held = json.loads(run("inspect", artifact, "--json"))["levels"]
        names = [level["name"] for level in held]
        expect(names == levels, f"{name} {options} has code for {names}")


def check_run(artifact, folder):
    data = MLP / "test_data_set_0"
    run("run", artifact, "--inputs", data, "--outputs", folder / "out", out="y f32")
    expect((folder / "out/output_0.npy").exists(), "run --outputs wrote nothing")
    run("run", artifact, "--random", "x=3x64", "--threads", 1, out="y f32[3x32]")
    write_npy(folder / "x.npy", 5, 64)
    run("run", artifact, f"x={folder / 'x.npy'}", out="y f32[5x32]")
    run("run", artifact, "--inputs", f"x={folder / 'x.npy'}", out="y f32[5x32]")
    run("run", artifact, f"q={folder / 'x.npy'}", code=1, err="q")
    run("run", artifact, "--random", "x=3x63", code=1, err="64")
    run("run", artifact, code=1, err="'x' has no value")
    run("run", artifact, "--device=cuda", "--cuda-driver", DRIVER, code=1,
        err="it has no program for CUDA devices")
    run("run", artifact, "--random", "z=1", code=1, err="z")
    run("run", folder / "none", code=1, err="none")
    bench = json.loads(
        run("bench", artifact, "--inputs", data, "--seconds", 0.1, "--json")
    )
    expect(
        set(bench) >= {"latency_ms", "runs", "load_ms", "memory_bytes", "error"}
        and set(bench["latency_ms"]) == {"min", "median", "p90", "p99"}
        and set(bench["memory_bytes"]) == {"weights", "arena", "peak_rss"}
        and bench["error"] < 1e-4,
        f"bench --json says {bench}",
    )
    profile = json.loads(
        run("bench", artifact, "--inputs", data, "--seconds", 0.1, "--json", "--profile")
    )
    check_profile(profile)
    text = run("bench", artifact, "--inputs", data, "--seconds", 0.1, "--profile",
               out="PackedMatmul")
    expect(
        all(part in text for part in ("GF/s", "all kernels", "limits ", "roofline ")),
        f"bench --profile says {text}",
    )
    check_trace(artifact, data, folder / "trace.json")
    together = json.loads(
        run("bench", artifact, "--inputs", data, "--seconds", 0.1, "--json",
            "--sessions", 2, "--threads", 1)
    )["together"]
    expect(
        together["sessions"] == 2 and together["runs_per_second"] > 0
        and together["added_bytes"] < 1 << 24,
        f"bench --sessions says {together}",
    )
    run("bench", artifact, "--inputs", data, "--sessions", 0, code=2)
    run("bench", artifact, "--dim", "batch=3", "--seconds", 0.1, out="median")
    for wrong, error in (([], "give --dim batch=N"), (["--dim", "batch=1..3"], "batch=N"),
                         (["--dim", "b=3"], "open are batch\n"),
                         (["--dim", "batch=3", "--inputs", data], "leave out --dim")):
        run("bench", artifact, *wrong, code=1, err=error)
    check_balance(artifact, data)
    run("inspect", artifact, "--verify", out="PackedMatmul")
    expect(
        json.loads(run("inspect", artifact, "--json"))["inputs"][0]["name"] == "x",
        "inspect --json lacks the input",
    )
    run("inspect", MLP / "model.onnx", code=2)


def check_profile(profile):
    kernels, total, limits = profile["kernels"], profile["sum"], profile["limits"]
    expect(
        any(kernel["schedule"] == "PackedMatmul" for kernel in kernels)
        and abs(sum(kernel["share"] for kernel in kernels) - 1) < 1e-6
        and all(kernel["limit"] in ("flops", "weights", "data") for kernel in kernels)
        and all(kernel["percent"] > 0 for kernel in kernels),
        f"bench --profile says {kernels}",
    )
    for name in ("ms", "flops", "bytes", "weight_bytes", "roofline_ms", "launches"):
        expect(
            abs(sum(kernel[name] for kernel in kernels) / total[name] - 1) < 1e-6,
            f"bench --profile: the sum of {name} is not that of the kernels",
        )
    expect(
        total["flops"] == 2 * WEIGHTS and total["weight_bytes"] >= 4 * WEIGHTS
        and total["bytes"] > total["weight_bytes"],
        f"bench --profile says {total}",
    )
    expect(
        all(limits[name] > 0 for name in ("f32_gflops", "weights_gbs", "data_gbs")),
        f"bench --profile says {limits}",
    )


def check_balance(artifact, data):
    """`bench --balance`: one thread has all the work, many share what there is."""
    balances = json.loads(
        run("bench", artifact, "--inputs", data, "--seconds", 0.05, "--json",
            "--balance", 1, 64)
    )["balance"]
    expect([balance["threads"] for balance in balances] == [1, 64],
           f"bench --balance says {balances}")
    alone, shared = balances
    expect(abs(alone["speedup"] - 1) < 1e-9, f"one thread takes {alone}")
    expect(1 <= shared["speedup"] <= 64, f"64 threads take {shared}")
    for balance in balances:
        for member in ("ms", "work_ms"):
            whole = sum(kernel[member] for kernel in balance["kernels"])
            expect(abs(whole - balance[member]) <= 1e-9 * whole + 1e-12,
                   f"kernels do not add up: {balance}")
    run("bench", artifact, "--inputs", data, "--seconds", 0.05, "--balance", 8,
        out="balance  8 threads: ")
    run("bench", artifact, "--inputs", data, "--balance", 0, code=2)
    run("bench", artifact, "--inputs", data, "--balance", 257, code=2)


def check_trace(artifact, data, path):
    run("bench", artifact, "--inputs", data, "--seconds", 0.1, "--trace", path)
    events = json.loads(path.read_text())["traceEvents"]
    runs = [event for event in events if event["name"] == "run"]
    launches = [event for event in events if event.get("args", {}).get("kernel")]
    expect(
        len(runs) == 3 and len(launches) > 0 and len(launches) % 3 == 0,
        f"bench --trace wrote {events}",
    )
    expect(
        all(event["ph"] == "X" and event["dur"] >= 0 for event in runs + launches)
        and all(event["args"]["nodes"] for event in launches)
        and any(event["args"]["flops"] > 0 for event in launches),
        f"bench --trace wrote {events}",
    )
    for event in launches:
        inside = [
            r for r in runs
            if r["ts"] <= event["ts"]
            and event["ts"] + event["dur"] <= r["ts"] + r["dur"] + 1e-3
        ]
        expect(len(inside) == 1, f"bench --trace: no run around {event}")
    ends = [event["ts"] + event["dur"] for event in launches]
    starts = [event["ts"] for event in launches]
    expect(
        all(end <= start + 1e-3 for end, start in zip(ends, starts[1:])),
        "bench --trace: launches overlap",
    )
    run("bench", artifact, "--inputs", data, "--seconds", 0.1,
        "--trace", path.parent / "none" / "t.json", code=1, err="cannot be written")


def check_verify(folder):
    run("verify", MLP, out="1 passed, 0 failed, 0 unsupported")
    run("verify", "--reference", MLP, out="1 passed, 0 failed, 0 unsupported")
    run("verify", MLP / "model.onnx", out="1 passed")
    run("verify", "--max-error", "0", MLP, code=1, out="FAIL")
    run("verify", folder / "none", code=1, out="FAIL")
    result = json.loads(run("verify", "--json", MLP))
    expect(
        result["passed"] == 1 and result["models"][0]["status"] == "ok",
        f"verify --json says {result}",
    )


def check_the_rest(folder):
    run("check", MLP / "model.onnx", out="supported")
    expect(
        json.loads(run("check", MLP / "model.onnx", "--json"))["status"]
        == "supported",
        "check --json lacks its status",
    )
    (folder / "bad.onnx").write_bytes(b"no model")
    run("check", folder / "bad.onnx", code=2)
    run("explain", MLP / "model.onnx", out="/0/Gemm (Gemm) -> matmul")
    run("--help", out="compile")
    run(code=2)
    run("verify", "--frob", MLP, code=2)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_cuda(folder)
        check_batches(folder)
        check_precision_plan(folder)
        check_block_sizes(folder)
        check_compensated(folder)
        check_quantized_models()
        check_auto_precision(folder)
        check_kv_cache(folder)
        check_static_int8(folder)
        artifact = check_compile(folder)
        check_levels(folder)
        check_run(artifact, folder)
        check_verify(folder)
        check_the_rest(folder)
    print("\n".join(failures) or "the command line keeps its contract")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
