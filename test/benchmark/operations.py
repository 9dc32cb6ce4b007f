#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes single operations as models, to run beside their peers.

    operations.py OUT [PATTERN...]
    zoo.py check --tenon TENON OUT
    zoo.py time --tenon TENON --seconds 0.1 OUT
    zoo.py write --title TITLE -o PAGE OUT

OUT/NAME has model.onnx and test_data_set_0 with noise and ONNX Runtime's outputs, as
zoo.py reads them; PATTERN chooses by name ("conv-*"). A time of few microseconds says
what a call costs. It needs onnxruntime; CI runs none of this, but for a test of the
list (operations_test.py).
"""
import fnmatch
import json
import pathlib
import sys

import numpy as np

OPSET = 23
# What zoo.py reads: a name has all sizes.
CASES = [{"symbols": {}, "operation": True}]
RNG = np.random.default_rng(0)


class Input(np.ndarray):
    """What the model takes; any other array is a constant of the file."""


def noise(*shape, low=None, high=None):
    if low is None:
        return RNG.standard_normal(shape, np.float32)
    return np.float32(low) + RNG.random(shape, np.float32) * np.float32(high - low)


def given(*shape, **limits):
    return noise(*shape, **limits).view(Input)


def numbers(*values):
    return np.array(values, np.int64)


class Graph:
    """Collects nodes; each call of `add` returns the name of its first output."""

    def __init__(self):
        self.nodes, self.inputs, self.constants = [], {}, {}

    def name(self, value):
        if value is None or isinstance(value, str):
            return value or ""
        kind = self.inputs if isinstance(value, Input) else self.constants
        for name, known in kind.items():
            if known is value:
                return name
        name = f"x{len(kind)}" if kind is self.inputs else f"c{len(kind)}"
        kind[name] = np.asarray(value)
        return name

    def add(self, op, *arguments, outputs=1, domain="", **attributes):
        import onnx.helper
        names = [f"y{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(
            op, [self.name(value) for value in arguments], names, domain=domain, **attributes))
        return names[0]

    def model(self):
        """Outputs are what no node reads; their shapes are left to the reader."""
        import onnx
        from onnx import helper, numpy_helper
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for node in self.nodes for name in node.output if name not in read]
        graph = helper.make_graph(
            self.nodes, "operation",
            [helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for name, value in self.inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                  ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        for output in model.graph.output:
            if not output.type.WhichOneof("value"):  # GroupNormalization's, as its input.
                output.type.CopyFrom(model.graph.input[0].type)
        return model


def single(op, *arguments, **attributes):
    graph = Graph()
    graph.add(op, *arguments, **attributes)
    return graph


# Elementwise

ANY = dict(low=-4, high=4)
POSITIVE = dict(low=0.1, high=4)
UNIT = dict(low=-0.9, high=0.9)
UNARY = {**dict.fromkeys(
    ("Relu LeakyRelu Elu Celu Selu Sigmoid HardSigmoid HardSwish Tanh Erf Exp Neg Abs Floor "
     "Ceil Round Sign Sin Cos Tan Atan Sinh Cosh Asinh Softplus Softsign Mish Gelu "
     "ThresholdedRelu").split(), ANY),
    **dict.fromkeys("Log Sqrt Reciprocal".split(), POSITIVE),
    **dict.fromkeys("Asin Acos Atanh".split(), UNIT), "Acosh": dict(low=1, high=9)}


def elementwise():
    for op, limits in UNARY.items():
        yield f"{op}-1024x1024", single(op, given(1024, 1024, **limits))
    for op in ("Relu", "Sigmoid", "Gelu"):
        yield f"{op}-64", single(op, given(64, **ANY))
    yield "Gelu-tanh-1024x1024", single("Gelu", given(1024, 1024), approximate="tanh")
    yield "Clip-1024x1024", single("Clip", given(1024, 1024), np.float32(0), np.float32(6))
    yield "PRelu-64x56x56", single("PRelu", given(1, 64, 56, 56), noise(64, 1, 1))
    for op in ("Add", "Mul", "Div", "Max", "Pow"):
        left = POSITIVE if op == "Pow" else ANY
        yield f"{op}-1024x1024", single(op, given(1024, 1024, **left),
                                        given(1024, 1024, **POSITIVE))
    for shape in ((1024,), (1024, 1), (1, 1)):
        name = "x".join(map(str, shape))
        yield f"Add-1024x1024-{name}", single("Add", given(1024, 1024), given(*shape))
    yield "Mul-64x56x56-64x1x1", single("Mul", given(1, 64, 56, 56), given(1, 64, 1, 1))
    yield "Mod-1024x1024", single("Mod", given(1024, 1024, **ANY),
                                  given(1024, 1024, **POSITIVE), fmod=1)
    for op in ("Less", "Equal"):
        yield f"{op}-1024x1024", single(op, given(1024, 1024), given(1024, 1024))
    yield "Where-1024x1024", single("Where", (noise(1024, 1024) > 0).view(Input),
                                    given(1024, 1024), given(1024, 1024))
    for to, name in ((10, "f16"), (6, "i32"), (7, "i64"), (2, "u8")):
        yield f"Cast-f32-{name}-1024x1024", single("Cast", given(1024, 1024, **POSITIVE), to=to)
    pixels = RNG.integers(0, 256, (1024, 1024)).astype(np.uint8).view(Input)
    yield "Cast-u8-f32-1024x1024", single("Cast", pixels, to=1)
    graph = Graph()
    x = given(1024, 1024)
    graph.add("Mul", x, graph.add("Sigmoid", x))
    yield "SiLU-1024x1024", graph


# Reductions, norms and what goes along an axis

PLACES = {"rows": ((1024, 1024), 1), "columns": ((1024, 1024), 0), "middle": ((32, 64, 512), 1),
          "few": ((65536, 4), 1), "short": ((16384, 64), 1)}


def reductions():
    for op in "ReduceSum ReduceMean ReduceMax ReduceProd ReduceL2 ReduceLogSumExp".split():
        for place, (shape, axis) in PLACES.items():
            yield f"{op}-{place}", single(op, given(*shape, low=0.5, high=1.5), numbers(axis),
                                          keepdims=0)
    for op in ("ReduceSum", "ReduceMax"):
        yield f"{op}-all", single(op, given(1024, 1024), keepdims=0)
    for place, (shape, axis) in PLACES.items():
        yield f"ArgMax-{place}", single("ArgMax", given(*shape), axis=axis)
        yield f"Softmax-{place}", single("Softmax", given(*shape), axis=axis)
        yield f"CumSum-{place}", single("CumSum", given(*shape), np.int64(axis))
    yield "GlobalAveragePool-2048x7x7", single("GlobalAveragePool", given(1, 2048, 7, 7))
    yield "GlobalAveragePool-64x112x112", single("GlobalAveragePool", given(1, 64, 112, 112))
    for rows, size in ((12 * 128, 128), (12 * 512, 512), (1, 50257), (64, 32000), (8, 1000)):
        yield f"Softmax-{rows}x{size}", single("Softmax", given(rows, size))
    yield "LogSoftmax-64x32000", single("LogSoftmax", given(64, 32000))
    for rows, size in ((1, 768), (128, 768), (512, 1024), (3136, 96), (128, 4096)):
        yield f"LayerNorm-{rows}x{size}", single(
            "LayerNormalization", given(rows, size), noise(size), noise(size))
        yield f"RMSNorm-{rows}x{size}", single("RMSNormalization", given(rows, size), noise(size))
    for channels, edge in ((64, 56), (256, 32), (320, 64)):
        shape = f"{channels}x{edge}x{edge}"
        x = given(1, channels, edge, edge)
        scale, bias = noise(channels), noise(channels)
        yield f"GroupNorm-{shape}", single("GroupNormalization", x, scale, bias, num_groups=32)
        yield f"InstanceNorm-{shape}", single("InstanceNormalization", x, scale, bias)
        yield f"BatchNorm-{shape}", single("BatchNormalization", x, scale, bias, noise(channels),
                                           noise(channels, **POSITIVE))
        yield f"LRN-{shape}", single("LRN", x, size=5)
    for k, (rows, size) in ((5, (64, 1000)), (50, (1, 50257)), (300, (1, 8400)), (1, (512, 64))):
        yield f"TopK-{k}-{rows}x{size}", single("TopK", given(rows, size), numbers(k), outputs=2)


# Moves


def moves():
    for shape, order in (((1024, 1024), (1, 0)), ((1, 128, 12, 64), (0, 2, 1, 3)),
                         ((8, 64, 56, 56), (0, 2, 3, 1)), ((8, 56, 56, 64), (0, 3, 1, 2)),
                         ((64, 128, 64), (2, 1, 0)), ((256, 256, 3), (2, 0, 1)),
                         ((1, 3, 640, 640), (0, 2, 3, 1))):
        yield (f"Transpose-{'x'.join(map(str, shape))}-{''.join(map(str, order))}",
               single("Transpose", given(*shape), perm=order))
    for axis in (0, 1):
        yield f"Concat-axis{axis}", single("Concat", given(512, 512), given(512, 512), axis=axis)
    yield "Concat-columns", single("Concat", *(given(4096, 1) for _ in range(8)), axis=1)
    yield "Concat-channels", single("Concat", *(given(1, 64, 56, 56) for _ in range(4)), axis=1)
    yield "Split-channels", single("Split", given(1, 256, 56, 56), numbers(64, 64, 64, 64),
                                   axis=1, outputs=4)
    yield "Split-last", single("Split", given(512, 2304), numbers(768, 768, 768), axis=1,
                               outputs=3)
    yield "Slice-every-second", single("Slice", given(64, 112, 112), numbers(0, 0),
                                       numbers(112, 112), numbers(1, 2), numbers(2, 2))
    yield "Slice-reversed", single("Slice", given(1024, 1024), numbers(-1), numbers(-9999),
                                   numbers(1), numbers(-1))
    for mode in ("constant", "reflect", "edge"):
        yield f"Pad-{mode}", single("Pad", given(1, 64, 56, 56),
                                    numbers(0, 0, 3, 3, 0, 0, 3, 3), mode=mode)
    rows = RNG.integers(0, 30000, 512).view(Input)
    yield "Gather-rows", single("Gather", noise(30000, 768), rows)
    columns = RNG.integers(0, 1024, 512)
    yield "Gather-columns", single("Gather", given(1024, 1024), columns, axis=1)
    places = RNG.integers(0, 1024, (1024, 256)).view(Input)
    yield "GatherElements", single("GatherElements", given(1024, 1024), places, axis=1)
    yield "ScatterElements", single("ScatterElements", given(1024, 1024), places,
                                    given(1024, 256), axis=1)
    pairs = RNG.permutation(4096)[:2048].reshape(2048, 1).view(Input)
    yield "GatherND", single("GatherND", given(4096, 256), pairs)
    yield "ScatterND", single("ScatterND", given(4096, 256), pairs, given(2048, 256))
    yield "Expand", single("Expand", given(1, 8, 1, 128, 64), numbers(1, 8, 4, 128, 64))
    yield "Tile", single("Tile", given(64, 1, 256), numbers(1, 16, 2))
    yield "DepthToSpace", single("DepthToSpace", given(1, 256, 64, 64), blocksize=2)
    yield "SpaceToDepth", single("SpaceToDepth", given(1, 64, 128, 128), blocksize=2)
    yield "Trilu", single("Trilu", given(8, 512, 512), upper=0)
    yield "OneHot", single("OneHot", RNG.integers(0, 1000, 512).view(Input), np.int64(1000),
                           np.array([0, 1], np.float32))
    for mode, factor in (("nearest", 2), ("linear", 2), ("cubic", 2), ("linear", 0.5),
                         ("nearest", 4)):
        yield f"Resize-{mode}-{factor}", single(
            "Resize", given(1, 64, 40, 40), None, np.array([1, 1, factor, factor], np.float32),
            mode=mode)
    yield "Resize-camera", single("Resize", given(1, 3, 720, 1280), None, None,
                                  numbers(1, 3, 224, 224), mode="linear")


# Products

WEIGHTS = ((1, 768, 768), (1, 4096, 4096), (8, 768, 3072), (32, 1024, 1024), (128, 768, 768),
           (128, 768, 3072), (128, 3072, 768), (512, 1024, 1024), (197, 384, 1152),
           (1000, 2000, 1), (4096, 3, 64), (4096, 64, 3), (33, 65, 129), (16, 8192, 64),
           (3136, 96, 384))
ACTIVATIONS = (((256, 256), (256, 256)), ((1024, 1024), (1024, 1024)), ((256, 1024), (1024, 64)),
               ((12, 128, 64), (12, 64, 128)), ((12, 128, 128), (12, 128, 64)),
               ((12, 1, 64), (12, 64, 512)), ((64, 49, 32), (64, 32, 49)),
               ((512, 8, 8), (512, 8, 8)), ((1, 512), (512, 1)), ((2048, 16), (16, 2048)))


def products():
    for m, k, n in WEIGHTS:
        yield f"MatMul-{m}x{k}x{n}", single("MatMul", given(m, k), noise(k, n))
    for left, right in ACTIVATIONS:
        shapes = "-".join("x".join(map(str, shape)) for shape in (left, right))
        yield f"MatMul-activations-{shapes}", single("MatMul", given(*left), given(*right))
    yield "Gemm-transposed-256x512x1024", single(
        "Gemm", given(256, 512), given(1024, 512), noise(1024), transB=1)
    for equation, left, right in (("bhid,bhjd->bhij", (1, 12, 128, 64), (1, 12, 128, 64)),
                                  ("bij,jk->bik", (8, 128, 256), (256, 512)),
                                  ("bhwc,hkc->bhwk", (2, 14, 14, 64), (14, 14, 64))):
        yield f"Einsum-{equation.replace(',', '-').replace('->', '-')}", single(
            "Einsum", given(*left), given(*right), equation=equation)
    for heads, queries, keys, size in ((12, 128, 128, 64), (12, 512, 512, 64), (8, 1, 2048, 128),
                                       (4, 4096, 77, 40), (16, 49, 49, 32)):
        yield f"Attention-{heads}x{queries}x{keys}x{size}", single(
            "Attention", given(1, heads, queries, size), given(1, heads, keys, size),
            given(1, heads, keys, size))
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, size in ((50, 1, 128), (100, 8, 256)):
            more = {"linear_before_reset": 1} if op == "GRU" else {}
            yield f"{op}-{steps}x{batch}x{size}", single(
                op, given(steps, batch, size), 0.1 * noise(1, gates * size, size),
                0.1 * noise(1, gates * size, size), 0.1 * noise(1, 2 * gates * size),
                hidden_size=size, **more)


# Convolutions and pools

# Channels in and out, edge of the image, edge of the filter, stride, groups.
IMAGES = ((3, 64, 224, 7, 2, 1), (3, 32, 224, 3, 2, 1), (64, 64, 56, 3, 1, 1),
          (128, 128, 28, 3, 1, 1), (256, 256, 14, 3, 1, 1), (512, 512, 7, 3, 1, 1),
          (64, 256, 56, 1, 1, 1), (256, 64, 56, 1, 1, 1), (512, 2048, 7, 1, 1, 1),
          (256, 512, 56, 1, 2, 1), (128, 128, 56, 3, 2, 1), (32, 32, 112, 3, 1, 32),
          (96, 96, 112, 3, 2, 96), (384, 384, 14, 7, 1, 384), (960, 960, 7, 5, 1, 960),
          (128, 128, 56, 3, 1, 32), (3, 768, 224, 16, 16, 1), (1, 16, 512, 3, 1, 1),
          (64, 3, 256, 3, 1, 1), (320, 4, 64, 3, 1, 1), (17, 33, 40, 3, 1, 1))
LINES = ((1, 64, 16000, 10, 5, 1), (512, 512, 400, 3, 2, 1), (256, 256, 200, 31, 1, 256),
         (80, 384, 3000, 3, 1, 1))


def convolved(inner, outer, image, taps, stride, groups, op="Conv", **attributes):
    filters = (outer, inner // groups) if op == "Conv" else (inner, outer // groups)
    return single(op, given(1, inner, *image), 0.1 * noise(*filters, *taps), noise(outer),
                  strides=[stride] * len(image), group=groups, **attributes)


def images():
    for inner, outer, edge, taps, stride, groups in IMAGES:
        pads = [0 if taps == stride else taps // 2] * 4
        yield (f"Conv-{inner}-{outer}-{edge}-k{taps}-s{stride}-g{groups}",
               convolved(inner, outer, (edge,) * 2, (taps,) * 2, stride, groups, pads=pads))
    yield "Conv-256-256-28-k3-dilated", convolved(256, 256, (28, 28), (3, 3), 1, 1, pads=[4] * 4,
                                                  dilations=[4, 4])
    for inner, outer, length, taps, stride, groups in LINES:
        yield (f"Conv1d-{inner}-{outer}-{length}-k{taps}-s{stride}-g{groups}",
               convolved(inner, outer, (length,), (taps,), stride, groups, pads=[taps // 2] * 2))
    yield "Conv3d-3-64-8x112", convolved(3, 64, (8, 112, 112), (3, 3, 3), 1, 1, pads=[1] * 6)
    yield "Conv3d-64-64-4x28", convolved(64, 64, (4, 28, 28), (3, 3, 3), 1, 1, pads=[1] * 6)
    for inner, outer, edge, taps, stride in ((256, 128, 32, 2, 2), (128, 64, 32, 4, 2),
                                             (64, 64, 32, 3, 1)):
        yield (f"ConvTranspose-{inner}-{outer}-{edge}-k{taps}-s{stride}",
               convolved(inner, outer, (edge,) * 2, (taps,) * 2, stride, 1, "ConvTranspose"))
    for op in ("MaxPool", "AveragePool"):
        for channels, edge, taps, stride in ((64, 112, 3, 2), (128, 28, 3, 1), (64, 56, 2, 2),
                                             (256, 20, 5, 1)):
            yield f"{op}-{channels}x{edge}-k{taps}-s{stride}", single(
                op, given(1, channels, edge, edge), kernel_shape=[taps] * 2,
                strides=[stride] * 2, pads=[(taps - 1) // 2] * 4)


def operations():
    """Each name and graph; a name says sizes in the order of the operation."""
    for family in (elementwise, reductions, moves, products, images):
        yield from family()


def write(graph, folder):
    import onnx
    import onnxruntime
    import zoo
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(graph.model(), str(folder / "model.onnx"))
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    zoo.write_set(folder / "test_data_set_0", session,
                  {name: np.asarray(value) for name, value in graph.inputs.items()})
    (folder / "cases.json").write_text(json.dumps(CASES))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    out, patterns = pathlib.Path(sys.argv[1]), sys.argv[2:] or ["*"]
    for name, graph in operations():
        if (out / name / "cases.json").exists():
            continue
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            write(graph, out / name)


if __name__ == "__main__":
    main()
