#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the cases of a manifest's sweeps by torch, for run.sh.

    run_torch.py MANIFEST [--device cuda] [--seconds S]

Prints a table in Markdown; nothing, with exit status 3, without torch or the
device.
"""
import argparse
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(3)

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def function(kind, inputs):
    functional = torch.nn.functional
    if kind == "gemm":
        return lambda: torch.matmul(*inputs)
    if kind in ("attention", "causal"):
        return lambda: functional.scaled_dot_product_attention(
            *inputs, is_causal=kind == "causal")
    if kind == "add":
        return lambda: inputs[0] + inputs[1]
    if kind == "softmax":
        return lambda: torch.softmax(inputs[0], -1)
    if kind == "layernorm":
        return lambda: functional.layer_norm(inputs[0], inputs[0].shape[-1:])
    return lambda: inputs[0].t().contiguous()


def shapes(kind, dims):
    if kind == "gemm":
        m, n, k = dims
        return [(m, k), (k, n)]
    return [dims] * (3 if len(dims) == 4 else 2 if kind == "add" else 1)


def milliseconds(call, device, seconds):
    """The mean of calls that follow each other, after a few."""
    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    for _ in range(3):
        call()
    wait()
    count, start = 0, time.perf_counter()
    while count < 10 or time.perf_counter() - start < seconds:
        for _ in range(10):
            call()
        count += 10
        wait()
    return (time.perf_counter() - start) * 1e3 / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("manifest")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=0.2)
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit(3)
    device = torch.device(options.device)
    print(f"\ntorch {torch.__version__}, called again and again\n")
    print("| case | ms |\n|---|--:|", flush=True)
    with open(options.manifest, encoding="utf-8") as lines:
        words = [line.split() for line in lines if line.startswith("sweep ")]
    for _, kind, element, dims, name, *_ in words:
        dims = tuple(map(int, dims.split("x")))
        try:
            inputs = [torch.rand(shape, device=device).to(TYPES[element])
                      for shape in shapes(kind, dims)]
            took = milliseconds(function(kind, inputs), device, options.seconds)
            print(f"| {name} | {took:.4f} |", flush=True)
        except RuntimeError as error:
            print(f"| {name} | {str(error).splitlines()[0]} |", flush=True)


if __name__ == "__main__":
    main()
