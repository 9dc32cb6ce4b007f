#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results have the same bits for any number of threads, whoever steals work.

    threads.py TENON TEST-MODELS

Runs a model of each family with 1, 2, 3 and more threads, which cut launches
into other pieces: on a machine with fewer cores, threads then come late and
find pieces taken.
"""
import pathlib
import subprocess
import sys
import tempfile

TENON, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
FAMILIES = """bert_ts17 bert_int8dynamic clip_text_ts17 convnext_ts17 gemma2_ts17
    genai_llama_int4 gpt2_dy20 llama_ts17 mixer_dy20 mlp_dy20 moe_dy20
    opt_t5_decoder_merged phi3_ts17 qwen2_ts17 resnet_ts17 swin_ts17 vit_ts17
    whisper_encoder_ts17""".split()
CASES = [(name, []) for name in FAMILIES] + [
    ("llama_ts17", ["--kv-cache=" + type]) for type in ("bf16", "int8")]


def outputs(artifact, inputs, threads):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [TENON, "run", artifact, "--inputs", inputs, "--outputs", folder,
             "--threads", str(threads)],
            check=True, stdout=subprocess.DEVNULL, timeout=120)
        return {
            path.name: path.read_bytes()
            for path in sorted(pathlib.Path(folder).iterdir())
        }


failures = []
with tempfile.TemporaryDirectory() as folder:
    artifact = pathlib.Path(folder) / "model.tenon"
    for name, options in CASES:
        subprocess.run(
            [TENON, "compile", MODELS / name / "model.onnx", "-o", artifact,
             "--cpu", "native", *options],
            check=True, stdout=subprocess.DEVNULL, timeout=120)
        for inputs in sorted((MODELS / name).glob("test_data_set_*")):
            alone = outputs(artifact, inputs, 1)
            if not alone:
                failures.append(f"{name} {options}: no outputs")
            for threads in (2, 3, 4, 4, 7, 16):
                if outputs(artifact, inputs, threads) != alone:
                    failures.append(
                        f"{name} {options}, {inputs.name}: {threads} threads give "
                        "other bits")
print("\n".join(failures) or f"{len(CASES)} models ok")
sys.exit(bool(failures))
