# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of one op at one size, for gpu_run to time and check.

A case is (kind, type, dims) as gpu_run's manifest has it: see run/Manifest.h.
"""
import onnx
from onnx import TensorProto, helper

ELEMENTS = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16,
            "bf16": TensorProto.BFLOAT16}
# Of the largest magnitude; sums are f32, results are rounded to the type.
TOLERANCE = {"f32": 2e-4, "f16": 4e-3, "bf16": 2e-2}

CUBES = [(size, size, size) for size in (512, 1024, 2048, 4096, 8192)]
# The second one-row product is beyond any cache.
PRODUCTS = [*CUBES, (1, 4096, 4096), (1, 16384, 8192), (16, 4096, 4096), (128, 768, 768),
            (128, 3072, 768), (128, 768, 3072), (4096, 4096, 128)]
ATTENTIONS = [(1, 12, 128, 64), (1, 16, 1024, 64), (1, 16, 8192, 128),
              (4, 32, 2048, 128)]
ROWS = [(16384, 1024), (8192, 8192)]

REAL = [
    *(("gemm", kind, dims) for kind in ELEMENTS for dims in PRODUCTS),
    *((which, kind, dims) for which in ("attention", "causal")
      for kind in ("f32", "bf16") for dims in ATTENTIONS),
    *((which, kind, dims) for which in ("add", "softmax", "layernorm",
                                        "transpose")
      for kind in ("f32", "bf16") for dims in ROWS),
]
TINY = [
    *(("gemm", kind, dims) for kind in ELEMENTS
      for dims in ((70, 40, 33), (1, 48, 64))),
    ("attention", "f32", (1, 2, 18, 16)), ("causal", "bf16", (2, 1, 9, 8)),
    *((which, kind, (9, 70)) for which, kind in (
        ("add", "bf16"), ("softmax", "f32"), ("layernorm", "f32"),
        ("transpose", "f16"))),
]
CASES = {"real": REAL, "tiny": TINY, "none": []}


def name(case):
    kind, element, dims = case
    return f"{kind}.{element}.{'x'.join(map(str, dims))}"


def model(case):
    """The ONNX model of a case: inputs alone, no weights of any size."""
    kind, element, dims = case
    dims, constants = list(dims), []
    result, inputs = dims, [dims]
    if kind == "gemm":
        m, n, k = dims
        inputs, result = [[m, k], [k, n]], [m, n]
        op = ("MatMul", {})
    elif kind in ("attention", "causal"):
        inputs = [dims, dims, dims]
        op = ("Attention", {"is_causal": int(kind == "causal")})
    elif kind == "add":
        inputs = [dims, dims]
        op = ("Add", {})
    elif kind == "softmax":
        op = ("Softmax", {"axis": -1})
    elif kind == "layernorm":
        constants = [helper.make_tensor("scale", ELEMENTS[element], [dims[1]],
                                        [1.0] * dims[1])]
        op = ("LayerNormalization", {"axis": -1, "epsilon": 1e-5})
    else:
        result = dims[::-1]
        op = ("Transpose", {"perm": [1, 0]})
    value = helper.make_tensor_value_info
    places = [value(f"x{i}", ELEMENTS[element], shape)
              for i, shape in enumerate(inputs)]
    node = helper.make_node(
        op[0], [v.name for v in places] + [c.name for c in constants], ["y"],
        name=kind, **op[1])
    graph = helper.make_graph(
        [node], kind, places, [value("y", ELEMENTS[element], result)],
        constants)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def write(case, folder):
    path = folder / f"{name(case)}.onnx"
    onnx.save(model(case), path)
    return path


def manifest_line(case, artifact):
    kind, element, dims = case
    return (f"sweep {kind} {element} {'x'.join(map(str, dims))} {name(case)} "
            f"{artifact} {TOLERANCE[element]:g}")
