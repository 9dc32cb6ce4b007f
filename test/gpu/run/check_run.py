#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""prepare.py and run.sh do what they should, on a GPU that is simulated.

    check_run.py TENON GPU_RUN FAKE-CUDA TEST-MODELS FAKE-CUBLAS
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TENON, GPU_RUN, DRIVER = sys.argv[1:4]
MODELS = pathlib.Path(sys.argv[4])
CUBLAS = sys.argv[5]
NAMES = ("bert_ts17", "gpt2_ts17", "mlp_ts17")
PREPARE = pathlib.Path(__file__).parents[1] / "prepare.py"
PAGE = PREPARE.with_name("page.py")


def expect(true, text, *more):
    if not true:
        sys.exit("\n".join(("check_run.py: " + text, *map(str, more))))


def prepare(out, *options, models=NAMES):
    result = subprocess.run(
        [sys.executable, "-B", PREPARE, "--tenon", TENON, "--gpu-run", GPU_RUN,
         "--data-sets=1", *options, out, *(MODELS / name for name in models)],
        capture_output=True, text=True)
    expect(result.returncode == 0, "prepare.py fails", result.stderr)
    return result.stdout


def run(out, *options, driver=DRIVER, **settings):
    """Its exit status, and gpu.md; settings are the simulated driver's."""
    with tempfile.TemporaryDirectory() as elsewhere:
        result = subprocess.run(
            [out / "run.sh", "--driver", driver, "--seconds", "0",
             *options],
            capture_output=True, text=True, cwd=elsewhere,
            env={**os.environ, **settings})
        text = (pathlib.Path(elsewhere) / "gpu.md").read_text()
    expect(result.stdout == text, "gpu.md is not what was printed", text)
    return result.returncode, text


def results(text):
    """What the first table says of each model."""
    return dict(re.findall(r"^\| (\S+) \| \d+ \|.* (\w+) \|$", text, re.M))


def check_all_agree(out):
    status, text = run(out)
    wanted = {f"{name}.{precision}": "ok"
              for name in NAMES for precision in ("fp32", "bf16")}
    expect(status == 0 and results(text) == wanted, "not all models agree",
           text)
    expect("6 models ok, 0 failed" in text, "there is no count", text)
    expect(re.search(r"A copy of .* GB/s", text), "there is no copy", text)
    for name in wanted:
        row = re.search(rf"^\| {re.escape(name)} \| (.*) \| ok \|$", text, re.M)
        expect(len(re.findall(r"\d+\.\d{4} \|", row[1])) == 5,
               f"{name} has not all latencies, a graph's among them", text)
        expect(re.search(rf"^\| {re.escape(name)} \| \w+ \w+ \| \d+ \| "
                         r"\d+\.\d+ \| \S+ \| \d+\.\d+ \|", text, re.M),
               f"{name} has no kernels", text)
        expect(re.search(rf"^\| {re.escape(name)} \| \w+ \w+ \| \d+ \| \S+ \| "
                         r"\d+% \|", text, re.M),
               f"nothing was predicted of {name}", text)


def keep(out, *names):
    """Leaves only these models in the manifest."""
    manifest = out / "manifest.txt"
    models = re.split(r"^(?=model )", manifest.read_text(), flags=re.M)
    manifest.write_text("".join(
        text for text in models if text.split(" ")[1:2] and
        text.split(" ")[1] in names))


def check_failures(out):
    keep(out, "mlp_ts17.fp32", "mlp_ts17.bf16", "gpt2_ts17.fp32")
    expected = out / "data/mlp_ts17/0/output_0.raw"
    right = expected.read_bytes()
    expected.write_bytes(struct.pack("<f", 0.75) + right[4:])
    status, text = run(out)
    expect(status == 1 and results(text) == {
        "mlp_ts17.fp32": "FAILED", "mlp_ts17.bf16": "FAILED",
        "gpt2_ts17.fp32": "ok"}, "a wrong output is not found", text)
    expect(re.search(r"^- mlp_ts17.fp32: .*data set 0: output 0: the relative "
                     r"error is \S+ at element 0", text, re.M),
           "nothing says what is wrong", text)
    keep(out, "mlp_ts17.fp32")
    expected.write_bytes(right[4:])
    status, text = run(out)
    expect(status == 1 and "prepare it again" in text,
           "a file that is too short is not found", text)
    (out / "manifest.txt").write_text("model a b 1e-4\ndata\ninput f32 1xx2 c\n")
    status, text = run(out)
    expect(status == 2 and "manifest.txt, line 3: " in text,
           "a bad manifest is not found", text)


def check_ends(out):
    """A model that takes too long is ended, and stops no other; nor does one
    whose kernel makes the driver end its process."""
    status, text = run(out, "--limit", "0")
    expect(status == 1 and "0 models ok, 6 failed" in text
           and set(results(text).values()) == {"FAILED"}
           and text.count("seconds and was ended") == 6,
           "the limit is not held", text)
    status, text = run(out, FAKE_CUDA_INSTRUCTIONS="100")
    expect(status == 1 and "0 models ok, 6 failed" in text
           and text.count("its process exited with") == 6,
           "a process that ends stops others", text)


def check_no_driver(out):
    status, text = run(out, driver="/nonexistent/libcuda.so.1")
    expect(status == 2 and "gpu_run: " in text and "libcuda.so.1" in text,
           "nothing says that there is no driver", text)


def check_bare(out):
    """With nothing on PATH but what every machine has: no Python."""
    with tempfile.TemporaryDirectory() as tools:
        for tool in ("cat", "date", "dirname", "grep", "gzip", "tee", "uname"):
            os.symlink(shutil.which(tool), pathlib.Path(tools) / tool)
        status, text = run(out, PATH=tools)
    expect(status == 0, "it does not run without Python", text)
    return text


def check_all(out):
    """All models of a folder, packed, in shares."""
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            os.symlink(MODELS / name, pathlib.Path(folder) / name)
        prepare(out, "--all", folder, "--share", "3/3", models=())
    names = {path.name for path in out.glob("*.tenon*")}
    expect(names == {f"{NAMES[2]}.{precision}.tenon.gz"
                     for precision in ("fp32", "bf16")},
           "a share is not what it should be", names)
    text = check_bare(out)
    expect("2 models ok, 0 failed" in text, "packed models do not run", text)


def page_of(*reports):
    """What page.py makes of a report, and perhaps an earlier one."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "setting").write_text("# A device of none\n")
        for i, report in enumerate(reports):
            (folder / f"{i}.md").write_text(report)
        earlier = ["--earlier", folder / "1.md"] if len(reports) > 1 else []
        result = subprocess.run(
            [sys.executable, "-B", PAGE, "--setting", folder / "setting", *earlier,
             "-o", folder / "page.md", folder / "0.md"], capture_output=True, text=True)
        if result.returncode:
            return result.stderr
        return (folder / "page.md").read_text()


def check_page(models, sweeps):
    """The page has each row, ratios where there are peers, and what was before."""
    page = page_of(models, models)
    name = NAMES[-1]
    expect(re.search(rf"^\| {name}, bf16 \| (\S+) \| \S+ \| \S+ \| \1 \|$", page, re.M),
           "a timed model is not beside what it was", page)
    torch = "\n| case | ms |\n|---|--:|\n| softmax.f32.9x70 | 1.5 |\n"
    page = page_of(sweeps + models + torch)
    gemms = re.findall(r"^\| gemm\.\S+ \| \w+ \|.* \| (\S+) \| - \| \d+% \| \S+ \| ok \|$",
                       page, re.M)
    expect(len(gemms) == 6 and "-" not in gemms, "there are no ratios", page)
    expect(re.search(r"^\| softmax\.f32\.9x70 \|.* \| - \| \d+\.\d+ \| \d+% \|", page, re.M),
           "torch is not beside a softmax", page)
    expect("page.py" not in page_of("Nothing.") and "has no table of models" in page_of("Nothing."),
           "a report without tables makes a page")


def check_sweeps(out):
    """Single ops, beside another's library; no room for models."""
    said = prepare(out, "--sweeps=tiny", "--most-mb=0", "--precision=fp32")
    timed = out.with_name("timed")
    prepare(timed, "--timed", MODELS / NAMES[-1], "--precision=bf16")
    keep(timed, NAMES[-1] + "_timed.bf16")
    expect((timed / f"{NAMES[-1]}_timed.bf16.tenon.gz").stat().st_size
           < 3 * (timed / f"{NAMES[-1]}.bf16.tenon").stat().st_size / 4,
           "weights that are none are not small")
    status, models = run(timed)
    expect(status == 0 and results(models) == {NAMES[-1] + "_timed.bf16": "ok"},
           "a model that is timed alone does not run", models)
    expect("0 models and 12 cases" in said
           and said.count("is left out: there is no room") == len(NAMES),
           "models are not left out", said)
    status, text = run(out, "--cublas", CUBLAS)
    rows = re.findall(r"^\| (\w+)\.\S+ \w+ \| \S+ \| \S+ \| \S+ \| \S+ \| "
                      r"(\S+) \| (\S+) \| \S+ \| \d+% \|.* ok \|$", text, re.M)
    expect(status == 0 and len(rows) == 12 and "12 cases ok, 0 failed" in text,
           "not all cases of sweeps agree", text)
    expect(all((row[0] == "gemm") == (row[1] != "-") == (row[2] != "-")
               for row in rows), "cuBLAS is timed where it should not", text)
    check_page(models, text)
    text = check_bare(out)
    expect("cuBLAS is left out" in text and "Torch is left out" in text,
           "what is left out is not said", text)
    expect(run(out, "--cublas", DRIVER)[1].count("lacks a function") == 6,
           "nothing says that a library is not cuBLAS", text)
    manifest = out / "manifest.txt"
    lines = manifest.read_text()
    manifest.write_text(lines.replace("add.bf16.9x70.tenon 0.02",
                                      "transpose.f16.9x70.tenon 0.02"))
    status, text = run(out)
    expect(status == 1 and "11 cases ok, 1 failed" in text,
           "another op's kernel is taken", text)
    manifest.write_text(lines.replace("softmax.f32.9x70.tenon 0.0002",
                                      "softmax.f32.9x70.tenon 0"))
    status, text = run(out)
    expect(status == 1 and "11 cases ok, 1 failed" in text
           and "- softmax.f32.9x70: of samples of the output" in text,
           "an output that is not exact is not found", text)


with tempfile.TemporaryDirectory() as folder:
    check_sweeps(pathlib.Path(folder) / "sweeps")
    check_all(pathlib.Path(folder) / "all")
    prepared = pathlib.Path(folder) / "prepared"
    prepare(prepared)
    check_no_driver(prepared)
    check_ends(prepared)
    check_all_agree(prepared)
    check_failures(prepared)
print("prepare.py and run.sh ok")
