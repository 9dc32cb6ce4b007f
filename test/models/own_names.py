#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose exporter was told no names: each axis of each input has one of
its own, as `dynamic_axes` with lists gives them. They compute the same, and with
what `explain` proposes for --dim their attention is fused again.

    own_names.py TENON TEST_MODELS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import onnx

# With a cache or without, decoders and encoders, of both exporters.
MODELS = ("bert_dy20 gemma2_ts17 gpt2_ts17 llama_dy23 llama_ts17 opt_gpt2 "
          "phi3_ts17 t5_decoder_ts17").split()
MOST_ROUNDS = 4


def renamed(source, folder):
    shutil.copytree(source, folder)
    path = folder / "model.onnx"
    model = onnx.load(path, load_external_data=False)
    for value in model.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                dim.dim_param = f"{value.name}_dynamic_axes_{i + 1}"
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, path)


def proposed(tenon, path, known):
    """The options that `explain` proposes beside those given."""
    told = subprocess.run([tenon, "explain", path, *known], check=True,
                          capture_output=True, text=True).stdout
    options = re.findall(r"--dim (\S+) lets more be fused", told)
    return sorted({"--dim=" + option for option in options} - set(known))


def main():
    tenon, models = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        folders = [pathlib.Path(scratch, name) for name in MODELS]
        for folder in folders:
            renamed(models / folder.name, folder)
        result = subprocess.run([tenon, "verify", *folders], text=True,
                                capture_output=True)
        print(result.stdout, result.stderr)
        good = f"{len(folders)} passed, 0 failed, 0 unsupported" in result.stdout
        for folder in folders:
            path, known = folder / "model.onnx", []
            for _ in range(MOST_ROUNDS):
                known += proposed(tenon, path, known)
            compiled = subprocess.run(
                [tenon, "compile", path, *known, "--require-fused=attention",
                 "-o", folder / "model.tenon"], text=True, capture_output=True)
            print(folder.name, *known, compiled.stderr)
            good &= compiled.returncode == 0
            verified = subprocess.run([tenon, "verify", folder, *known],
                                      text=True, capture_output=True)
            print(verified.stdout, verified.stderr)
            good &= verified.returncode == 0
    sys.exit(not good)


if __name__ == "__main__":
    main()
