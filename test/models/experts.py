#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MoE and QMoE of com.microsoft in all their forms, against a mixture written
out token by token: on the CPU and on a simulated GPU. ONNX Runtime, whose
kernels know some of the forms, agrees with it to 1e-6.

    experts.py TENON DRIVER
"""
import sys
import tempfile

import numpy
from one_block import kernels, verified, written
from onnx.reference.op_run import OpRun

HIDDEN, INNER, EXPERTS = 64, 96, 5


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softmax(x):
    x = numpy.exp(x - x.max())
    return x / x.sum()


ACTIVATIONS = {
    "relu": lambda x: numpy.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + numpy.tanh(
        numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x),
    "identity": lambda x: x,
}


def mixture(x, router, layers, of_router=None, *, k=1, activation_type="relu",
            normalize_routing_weights=0, swiglu_fusion=0, activation_alpha=1.0,
            activation_beta=0.0, swiglu_limit=numpy.inf):
    """`layers`: weights [experts, rows, columns] and biases of fc1, fc2, fc3."""
    def linear(layer, expert, x):
        weight, bias = layer
        return weight[expert] @ x + (0 if bias is None else bias[expert])

    def hidden(expert, x):
        first = linear(layers[0], expert, x)
        if activation_type != "swiglu":
            return ACTIVATIONS[activation_type](first)
        half = len(first) // 2
        gate, other = {0: lambda: (first, linear(layers[2], expert, x)),
                       1: lambda: (first[::2], first[1::2]),
                       2: lambda: (first[:half], first[half:])}[swiglu_fusion]()
        gate = numpy.minimum(gate, swiglu_limit)
        other = numpy.clip(other, -swiglu_limit, swiglu_limit)
        return gate * sigmoid(activation_alpha * gate) * (other
                                                          + activation_beta)

    rows, y = x.reshape(-1, x.shape[-1]).astype(numpy.float64), []
    for token, (row, logits) in enumerate(zip(rows, router)):
        chosen = numpy.argsort(-logits, kind="stable")[:k]
        shares = (softmax(logits) if of_router is None
                  else of_router[token])[chosen]
        if normalize_routing_weights:
            shares = shares / shares.sum()
        y.append(sum(share * linear(layers[1], expert, hidden(expert, row))
                     for share, expert in zip(shares, chosen)))
    return numpy.array(y, numpy.float32).reshape(x.shape)


class MoE(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, router, *rest, **attributes):
        rest = list(rest) + [None] * (6 - len(rest))
        layers = list(zip(rest[::2], rest[1::2]))
        return (mixture(x, router, layers, **attributes),)


def unpacked(packed, bits, count):
    """The first numbers of each row of bytes, low bits first."""
    steps = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    every = packed[..., None] >> steps & (2**bits - 1)
    return every.reshape(*packed.shape[:-1], -1)[..., :count].astype(float)


class QMoE(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, router, *rest, expert_weight_bits=4, block_size=0,
             **attributes):
        rest = list(rest) + [None] * (13 - len(rest))
        layers = []
        for i in range(3):
            packed, scale, bias = rest[3 * i:3 * i + 3]
            if packed is None:
                continue
            bits = attributes.pop(f"fc{i + 1}_expert_weight_bits",
                                  expert_weight_bits)
            columns = packed.shape[2] * 8 // bits
            block = block_size or columns
            scale = scale.reshape(*packed.shape[:2], columns // block, 1)
            zero = float(2**(bits - 1))
            if rest[9 + i] is not None:
                zero = rest[9 + i].reshape(*packed.shape[:2], -1)
                zero = unpacked(zero, bits, columns // block)[..., None]
            numbers = unpacked(packed, bits, columns)
            numbers = numbers.reshape(*packed.shape[:2], -1, block)
            weight = (numbers - zero) * scale
            layers.append((weight.reshape(*packed.shape[:2], columns), bias))
        return (mixture(x, router, layers, rest[12], **attributes),)


def tokens(g, rank=2):
    """Inputs of a few tokens, and of more than a group of rows."""
    counts = (3, 150)
    given = [g.noise(count, HIDDEN) for count in counts]
    if rank == 3:
        given = [each.reshape(1, *each.shape) for each in given]
    dims = ["T", HIDDEN] if rank == 2 else ["B", "S", HIDDEN]
    router = ["T", EXPERTS] if rank == 2 else ["R", EXPERTS]
    return (g.input("x", dims, *given),
            g.input("router", router,
                    *(g.noise(count, EXPERTS) for count in counts)))


def fused(attributes):
    return 2 if attributes.get("swiglu_fusion", 0) else 1


def plain(rank=2, bias=True, third=False, **attributes):
    def build(g):
        rows = INNER * fused(attributes)
        shapes = [(rows, HIDDEN), (HIDDEN, INNER)]
        operands = list(tokens(g, rank))
        for shape in shapes + [(INNER, HIDDEN)] * third:
            weight = g.noise(EXPERTS, *shape) / numpy.float32(8)
            operands += [weight, g.noise(EXPERTS, shape[0]) if bias else ""]
        g.output(g("MoE", *operands, domain="com.microsoft", **attributes))
    return build


def few_bits(bits, block=0, zeros=False, third=False, shares=False,
             **attributes):
    """`bits`: of fc1 and fc2; `shares`: with weights apart from the router."""
    def build(g):
        rows = INNER * fused(attributes)
        shapes = [(rows, HIDDEN), (HIDDEN, INNER)] + [(INNER, HIDDEN)] * third
        widths = [bits[0], bits[1], bits[0]]
        operands, points = list(tokens(g)), []
        for (height, width), each in zip(shapes, widths):
            blocks = width // block if block else 1
            scales = (EXPERTS, height, blocks) if block else (EXPERTS, height)
            make = g.random.integers
            packed = make(0, 256, (EXPERTS, height, width * each // 8))
            operands += [
                packed.astype(numpy.uint8),
                (numpy.abs(g.noise(*scales)) / 2**each / 4).astype("float32"),
                g.noise(EXPERTS, height)]
            spared = -(-blocks * each // 8)
            points.append(make(0, 256, scales[:2] + (spared,) * (block > 0))
                          .astype(numpy.uint8))
        operands += [""] * (11 - len(operands))
        operands += points if zeros else [""] * len(points)
        if shares:
            operands += [""] * (14 - len(operands))
            operands.append(g.input("shares", ["T", EXPERTS], *(
                numpy.abs(g.noise(count, EXPERTS)) for count in (3, 150))))
        if block:
            attributes["block_size"] = block
        g.output(g("QMoE", *operands, domain="com.microsoft",
                   expert_weight_bits=bits[0],
                   fc2_expert_weight_bits=bits[1], **attributes))
    return build


SWIGLU = {"activation_type": "swiglu", "activation_alpha": 1.702,
          "activation_beta": 1.0, "swiglu_limit": 0.7, "k": 2}

CASES = {
    "relu": plain(k=2),
    "gelu": plain(k=1, activation_type="gelu", rank=3),
    "silu": plain(k=2, activation_type="silu", normalize_routing_weights=1,
                  bias=False),
    "identity": plain(k=EXPERTS, activation_type="identity"),
    "interleaved": plain(swiglu_fusion=1, **SWIGLU),
    "halves": plain(swiglu_fusion=2, **SWIGLU),
    "apart": plain(third=True, activation_type="swiglu", k=2),
    "four": few_bits((4, 4), 32, swiglu_fusion=1, normalize_routing_weights=1,
                     **SWIGLU),
    "four_zeros": few_bits((4, 4), 16, zeros=True, swiglu_fusion=1, **SWIGLU),
    "four_columns": few_bits((4, 4), swiglu_fusion=2, **SWIGLU),
    "eight_four": few_bits((8, 4), 32, third=True, zeros=True,
                           activation_type="swiglu", k=2),
    "eight_columns": few_bits((8, 8), zeros=True, k=2, activation_type="silu"),
    "two": few_bits((2, 2), 32, zeros=True, k=2),
    "shares": few_bits((4, 8), 32, shares=True, k=2,
                       normalize_routing_weights=1),
}


def check_kernels(tenon, folder):
    """Whether all layers multiply what is stored, and none what it becomes."""
    products = [each["schedule"] for each in kernels(tenon, folder)
                if "matmul" in each["name"] or "dequantize" in each["name"]]
    good = len(products) >= 2 and set(products) == {"PackedMatmul"}
    if not good:
        print(f"{folder.name}: its products are by {products}")
    return good


def main():
    tenon, driver = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = written(CASES, scratch, new_ops=[MoE, QMoE])
        for folder in folders:
            # Numbers of 2 bits have no kernel of their own.
            bad += folder.name != "two" and not check_kernels(tenon, folder)
        bad += not verified(tenon, folders, driver)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
