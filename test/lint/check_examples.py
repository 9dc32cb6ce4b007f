#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if an op or pass in a .td file has no ```mlir example that runs.

usage: check_examples.py BIN_OF_LLVM TENON_OPT

An op's example must parse and verify; values that it does not define become
arguments of a function around it. A pass's example is a module before and,
after a line `// becomes`, what the pass makes of it.
"""
import json
import pathlib
import re
import subprocess
import sys

# What these do depends on weights, which are not part of the IR; a gtest of
# their name shows it.
needs_weights = {"KeepHalvesPass", "LowerRecurrencesPass", "LowerWeightsPass",
                 "ShareTablesPass", "ViewWeightsPass"}

root = pathlib.Path(__file__).resolve().parents[2]
llvm, tenon_opt = map(pathlib.Path, sys.argv[1:3])


def records(path):
    """Ops as (name, None, text) and passes as (name, flag, text)."""
    command = [llvm / "llvm-tblgen", "--dump-json", "-I", root,
               "-I", llvm.parent / "include", path]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True)
    dump = json.loads(done.stdout)
    for name in dump["!instanceof"].get("Op", []):
        record = dump[name]
        dialect = dump[record["opDialect"]["def"]]["name"]
        yield f'{dialect}.{record["opName"]}', None, record["description"]
    for name in dump["!instanceof"].get("PassBase", []):
        yield name, "--" + dump[name]["argument"], dump[name]["description"]


def split_types(text):
    """The types of a list in parentheses, or of one up to the end of line."""
    depth, types, current = 0, [], ""
    for at, char in enumerate(text):
        if char in "(<[":
            depth += 1
            if depth == 1 and char == "(":
                continue
        elif char in ")>]" and text[at - 1] != "-":
            depth -= 1
            if depth == 0 and char == ")":
                break
        if char == "," and depth <= 1 and current.count("<") == current.count(">"):
            types.append(current.strip())
            current = ""
        elif char == "\n" and depth == 0:
            break
        else:
            current += char
    return types + ([current.strip()] if current.strip() else [])


def operand_types(text):
    """Each value that an op of the text uses, with its type."""
    types = {}
    for match in re.finditer(r"\b(?:graph|kernel|ptx)\.[\w.]+", text):
        depth, at = 0, match.end()
        while at < len(text) and not (text[at] == ":" and depth == 0):
            depth += text[at] in "([{<"
            depth -= text[at] in ")]}>" and text[at - 1] != "-"
            at += 1
        values = re.findall(r"%\w+", text[match.end():at])
        types.update(zip(values, split_types(text[at + 1:].lstrip())))
    return types


def wrapped(text):
    if re.match(r"(func\.func|kernel\.func|exec\.program)\b", text):
        return text
    types = operand_types(text)
    defined = set()
    for names in re.findall(r"^ *((?:%\w+(?:, )?)+) =", text, re.M):
        defined |= set(re.findall(r"%\w+", names))
    for arguments in re.findall(r"^ *\^\w+\((.*)\):", text, re.M):
        defined |= set(re.findall(r"(%\w+):", arguments))
    arguments = [f"{value}: {kind}" for value, kind in types.items() if value not in defined]
    return f'func.func @example({", ".join(arguments)}) {{\n{text}\nreturn\n}}\n'


def run(text, *flags):
    done = subprocess.run([tenon_opt, "-", *flags], input=text, text=True, capture_output=True)
    return done.stdout, done.stderr


def check(name, flag, description):
    blocks = re.findall(r"```mlir\n(.*?)```", description, re.S)
    if name in needs_weights and not blocks:
        return None
    if len(blocks) != 1:
        return f"{name}: has {len(blocks)} examples; one is wanted"
    lines = blocks[0].splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    text = "\n".join(line[indent:] for line in lines)
    if not flag:
        if name not in text:
            return f"{name}: its example does not show it"
        _, errors = run(wrapped(text))
        return errors and f"{name}: {errors}"
    before, found, after = text.partition("// becomes\n")
    if not found:
        return f"{name}: its example has no line `// becomes`"
    made, errors = run(before, flag)
    expected, more = run(after)
    if errors or more:
        return f"{name}: {errors}{more}"
    return made != expected and f"{name}: makes\n{made}where the example says\n{expected}"


faults = [
    fault
    for path in sorted([*root.glob("dialects/*/*.td"), *root.glob("compiler/**/*Passes.td")])
    if path.stem not in ("ConvPasses", "GraphPointwise", "PrecisionPasses",
                         "PtxHopper")  # Included by others.
    for record in records(path)
    if (fault := check(*record))
]
print("\n".join(faults) or "examples ok")
sys.exit(bool(faults))
