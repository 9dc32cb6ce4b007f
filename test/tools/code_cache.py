#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models with and without a folder that keeps the code of functions.

    code_cache.py TENON TEST-MODELS
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TENON, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])


def tenon(*arguments, cache=None):
    """What a run gives; `cache` is the environment's folder."""
    environment = dict(os.environ)
    environment.pop("TENON_CODE_CACHE", None)
    if cache is not None:
        environment["TENON_CODE_CACHE"] = str(cache)
    return subprocess.run(
        [TENON, *map(str, arguments)],
        capture_output=True, text=True, timeout=300, env=environment,
    )


def compiled(model, folder, *arguments, cache=None):
    artifact = folder / "model.tenon"
    done = tenon("compile", MODELS / model / "model.onnx", "--cpu=x86-64-v3", "-o",
                 artifact, *arguments, cache=cache)
    assert done.returncode == 0, done.stderr
    return artifact.read_bytes()


def kept(cache):
    """Files that keep code."""
    return sorted(
        path for path in cache.glob("llvmcache-*")
        if path.name not in ("llvmcache-probe", "llvmcache.timestamp")
    )


def check_same_bytes(folder):
    """Artifacts do not depend on what was kept, nor on how it is asked for."""
    cache = folder / "new" / "cache"
    without = compiled("mlp_ts17", folder)
    assert compiled("mlp_ts17", folder) == without, "not the same without a cache"
    assert compiled("mlp_ts17", folder, f"--code-cache={cache}") == without
    files = kept(cache)
    assert files, "nothing is kept"
    assert compiled("mlp_ts17", folder, cache=cache) == without
    assert kept(cache) == files, "equal functions are kept twice"
    assert compiled("mlp_ts17", folder, "--code-cache=off", cache=folder / "no") == without
    assert not (folder / "no").exists(), "off does not turn it off"
    return without, cache


def check_it_is_read(folder, without, cache):
    """Code that lies under another's key is taken for its own."""
    a, b, *_ = kept(cache)
    bytes_of_a, bytes_of_b = a.read_bytes(), b.read_bytes()
    a.write_bytes(bytes_of_b), b.write_bytes(bytes_of_a)
    done = tenon("compile", MODELS / "mlp_ts17/model.onnx", "--cpu=x86-64-v3",
                 "-o", folder / "wrong.tenon", cache=cache)
    assert done.returncode != 0 or (folder / "wrong.tenon").read_bytes() != without
    # Half a file is not taken.
    for path, content in ((a, bytes_of_a), (b, bytes_of_b)):
        path.write_bytes(content[: len(content) // 2])
    assert compiled("mlp_ts17", folder, cache=cache) == without
    assert (a.read_bytes(), b.read_bytes()) == (bytes_of_a, bytes_of_b)


def check_models_share(folder, cache):
    """Another export of a network has few functions of its own."""
    compiled("bert_ts17", folder, cache=cache)
    first = len(kept(cache))
    compiled("bert_ts11", folder, cache=cache)
    added = len(kept(cache)) - first
    assert added < first / 2, f"{added} new beside {first}"
    done = tenon("verify", MODELS / "bert_ts17", MODELS / "bert_ts11", cache=cache)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def check_refusals(folder):
    file = folder / "file"
    file.write_text("text")
    for command in (["compile", MODELS / "mlp_ts17/model.onnx", "-o", folder / "x"],
                    ["verify", MODELS / "mlp_ts17"]):
        done = tenon(*command, f"--code-cache={file}")
        said = done.stdout + done.stderr
        assert done.returncode in (1, 2), said
        assert f"code cannot be kept in '{file}'" in said, said
    assert not (folder / "x").exists()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    without, cache = check_same_bytes(folder)
    check_it_is_read(folder, without, cache)
    check_models_share(folder, cache)
    check_refusals(folder)
print("code is kept and found")
