#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small malformed ONNX models, one per way in which a file can be bad.

    bad_inputs.py DIR

Each is DIR/NNN_what.onnx; 000 is a good model and 070 one with good external
data. The files that external data points at lie beside them.
"""
import os
import random
import sys

import onnx
from onnx import TensorProto as T
from onnx import helper as h

DIR = sys.argv[1] if len(sys.argv) > 1 else "."
MODELS = {}
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def put(name, model):
    MODELS[name] = (
        model if isinstance(model, bytes) else model.SerializeToString()
    )


def info(name, shape=(2, 3), dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def out(rank, name="y", dtype=T.FLOAT):
    return info(name, [f"d{i}" for i in range(rank)], dtype)


def model(
    nodes, ins=None, outs=None, inits=(), opset=17, ir=8, functions=(),
    name="g", domains=(),
):
    graph = h.make_graph(
        nodes,
        name,
        [info("x")] if ins is None else ins,
        [info("y")] if outs is None else outs,
        list(inits),
    )
    imports = [h.make_opsetid("", opset)]
    imports += [h.make_opsetid(domain, 1) for domain in domains]
    result = h.make_model(graph, opset_imports=imports)
    result.ir_version = ir
    result.functions.extend(functions)
    return result


node = h.make_node
RELU = [node("Relu", ["x"], ["y"])]


def constant(name, dtype, dims, values):
    return h.make_tensor(name, dtype, dims, values)


def ints(name, *values):
    return constant(name, T.INT64, [len(values)], values)


def raw(dims, data, dtype=T.FLOAT, name="w"):
    tensor = T()
    tensor.name, tensor.data_type, tensor.raw_data = name, dtype, data
    tensor.dims.extend(dims)
    return tensor


def containers():
    good = model(RELU).SerializeToString()
    noise = random.Random(1)
    put("000_control_good", good)
    put("001_empty", b"")
    put("002_one_byte", b"\x08")
    put("003_random", bytes(noise.randrange(256) for _ in range(4096)))
    put("004_truncated_half", good[: len(good) // 2])
    put("005_trailing_garbage", good + b"\xff" * 64)
    put(
        "006_git_lfs_pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        + b"0" * 64 + b"\nsize 123\n",
    )
    put("007_html_404", b"<!DOCTYPE html><html><title>404</title></html>")
    put("008_zip_magic", b"PK\x03\x04" + b"\0" * 60)
    put("009_len_prefix_lies", b"\x3a\xff\xff\xff\xff\x07" + b"\0" * 8)
    put("010_varint_overlong", b"\x08" + b"\xff" * 20)
    empty = h.make_model(h.make_graph([], "g", [], []))
    put("011_no_graph", empty.SerializeToString()[:4])
    put("012_ort_format", b"\x24\0\0\0ORTM" + b"\0" * 56)
    put("013_tensorflow_lite", b"\x1c\0\0\0TFL3" + b"\0" * 56)
    put("014_safetensors", b"\x10\0\0\0\0\0\0\0" + b'{"w": {"a": 1}} ')


def versions():
    for version in (0, 9999):
        put(f"020_ir_{version}", model(RELU, ir=version))
    for version in (0, 999):
        put(f"021_opset_{version}", model(RELU, opset=version))
    none = model(RELU)
    del none.opset_import[:]
    put("022_no_opset", none)
    twice = model(RELU)
    twice.opset_import.append(h.make_opsetid("", 9))
    put("023_dup_opset", twice)
    put("024_unknown_op", model([node("NoSuchOp", ["x"], ["y"])]))
    evil = node("Relu", ["x"], ["y"], domain="evil")
    put("025_unknown_domain", model([evil], domains=["evil"]))


# The Python classes refuse deep nesting, so it is written byte by byte.
def varint(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def field(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def nested_ifs(depth):
    def branch(name, body):
        kind = varint(20 << 3) + varint(onnx.AttributeProto.GRAPH)
        return field(5, field(1, name) + field(6, body) + kind)

    def graph(content, name, output):
        return content + field(2, name) + field(
            12, info(output).SerializeToString()
        )

    def identity(output):
        made = node("Identity", ["x"], [output]).SerializeToString()
        return graph(field(1, made), output, output)

    body = identity("o0")
    for i in range(1, depth + 1):
        name = "y" if i == depth else f"o{i}"
        made = field(1, "c") + field(2, name) + field(4, "If")
        made += branch("then_branch", body)
        made += branch("else_branch", identity(f"e{i}"))
        body = graph(field(1, made), f"g{i}", name)
    for value in (info("x"), info("c", (), T.BOOL)):
        body += field(11, value.SerializeToString())
    shell = model([], ins=[], outs=[])
    shell.ClearField("graph")
    return shell.SerializeToString() + field(7, body)


def graphs():
    relu, add = "Relu", "Add"
    put("030_cycle", model([
        node(add, ["x", "b"], ["a"]),
        node(relu, ["a"], ["b"]),
        node(relu, ["b"], ["y"]),
    ]))
    put("031_dup_output", model(RELU + [node("Neg", ["x"], ["y"])]))
    put("032_undefined_input", model([node(add, ["x", "nowhere"], ["y"])]))
    put("033_output_not_made", model([node(relu, ["x"], ["z"])]))
    put("034_no_inputs_to_node", model([node(add, [], ["y"])]))
    put("035_too_many_outputs", model([node(relu, ["x"], ["y", "z", "w"])]))
    put("036_if_nest_20", nested_ifs(20))
    put("037_if_nest_200", nested_ifs(200))
    last = 99_999
    put("038_chain_100k", model([
        node(relu, [f"t{i - 1}" if i else "x"], ["y" if i == last else f"t{i}"])
        for i in range(last + 1)
    ]))


def functions():
    imports = [h.make_opsetid("", 17), h.make_opsetid("f", 1)]

    def function(name, body):
        return h.make_function("f", name, ["X"], ["Y"], body, imports)

    def call(name, source="X", target="Y"):
        return node(name, [source], [target], domain="f")

    def calling(name, made):
        return model([call(name, "x", "y")], functions=made, domains=["f"])

    put("040_fn_self", calling("a", [function("a", [call("a")])]))
    put("041_fn_mutual", calling(
        "a", [function("a", [call("b")]), function("b", [call("a")])]
    ))
    inner = h.make_graph([call("a", "X", "t")], "t", [], [info("t")])
    other = h.make_graph([node("Identity", ["X"], ["e"])], "e", [], [info("e")])
    condition = node(
        "Constant", [], ["c"], value=constant("v", T.BOOL, [], [1])
    )
    choice = node("If", ["c"], ["Y"], then_branch=inner, else_branch=other)
    put("042_fn_cycle_in_if",
        calling("a", [function("a", [condition, choice])]))
    doubling = [function("f0", [node("Relu", ["X"], ["Y"])])]
    for i in range(1, 31):
        twice = [call(f"f{i - 1}", "X", "m"), call(f"f{i - 1}", "m", "Y")]
        doubling.append(function(f"f{i}", twice))
    put("043_fn_billion_laughs_2^30", calling("f30", doubling))


def with_initializer(*tensors):
    return model([node("Add", ["x", "w"], ["y"])], inits=tensors)


def tensors():
    def case(name, tensor):
        put(name, with_initializer(tensor))

    good = raw([2, 3], b"\0" * 24)
    case("050_dim_negative", raw([-1, 3], b"\0" * 12))
    case("051_dims_product_overflow", raw([1 << 32, 1 << 32, 4], b"\0" * 4))
    wraps = [4194305, 4194305, 211106198978564]  # The product is 4 mod 2^64.
    case("052_dims_wrap_to_4", raw(wraps, b"\0" * 16))
    case("053_dims_1e12_no_data", raw([1 << 40], b""))
    case("054_raw_short", raw([2, 3], b"\0" * 8))
    case("055_raw_long", raw([2, 3], b"\0" * 999))
    case("056_raw_not_multiple", raw([2, 3], b"\0" * 23))
    case("057_dtype_0", raw([2, 3], b"\0" * 24, 0))
    case("058_dtype_999", raw([2, 3], b"\0" * 24, 999))
    two = raw([2, 3], b"\0" * 24)
    two.float_data.extend([1.0] * 6)
    case("059_two_value_fields", two)
    case("060_string_in_raw", raw([1], b"abc", T.STRING))
    short = T()
    short.name, short.data_type = "w", T.FLOAT
    short.dims.append(1_000_000)
    short.float_data.append(1.0)
    case("061_float_data_short", short)
    put("062_dup_initializer", with_initializer(good, good))
    case("063_rank_100000", raw([1] * 100_000, b"\0" * 4))


def external(location, offset=None, length=None, extra=()):
    tensor = T()
    tensor.name, tensor.data_type = "w", T.FLOAT
    tensor.dims.extend([2, 3])
    tensor.data_location = T.EXTERNAL
    entries = [("location", location), ("offset", offset), ("length", length)]
    for key, value in entries + list(extra):
        if value is not None:
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    return with_initializer(tensor)


def external_files():
    def write(name):
        with open(f"{DIR}/{name}", "wb") as file:
            file.write(b"\0" * 24)

    def make(create, target, name):
        if not os.path.lexists(f"{DIR}/{name}"):
            create(target, f"{DIR}/{name}")

    write("w.bin")
    write("hard_src.bin")
    os.makedirs(f"{DIR}/sub", exist_ok=True)
    make(os.symlink, "/etc/passwd", "link.bin")
    make(os.symlink, "/etc", "linkdir")
    make(os.link, f"{DIR}/hard_src.bin", "hard.bin")
    if not os.path.lexists(f"{DIR}/fifo.bin"):
        os.mkfifo(f"{DIR}/fifo.bin")


def external_data():
    external_files()
    cases = {
        "ok": external("w.bin", "0", "24"),
        "dotdot": external("../../../../etc/passwd"),
        "dotdot_mid": external("sub/../../../../../etc/passwd"),
        "absolute": external("/etc/passwd"),
        "symlink": external("link.bin"),
        "parent_symlink": external("linkdir/passwd"),
        "hardlink": external("hard.bin"),
        "fifo": external("fifo.bin"),
        "directory": external("sub"),
        "missing": external("nope.bin"),
        "empty_location": external(""),
        "nul_in_location": external("w.bin\0../../x"),
        "backslash": external("..\\..\\etc\\passwd"),
        "dev_zero": external("/dev/zero"),
        "offset_negative": external("w.bin", "-1", "24"),
        "offset_past_end": external("w.bin", "100", "24"),
        "length_petabyte": external("w.bin", "0", str(1 << 50)),
        "offset_plus_len_overflow": external("w.bin", str(INT64_MAX - 7), "24"),
        "non_numeric": external("w.bin", "abc", "x"),
        "length_mismatch": external("w.bin", "0", "8"),
        "dunder_key": external("w.bin", "0", "24", [("__class__", "x")]),
        "dup_location": external(
            "w.bin", "0", "24", [("location", "/etc/passwd")]
        ),
        "ort_mem_marker": external("*/_ORT_MEM_ADDR_/*", "4096", "24"),
    }
    for i, (name, made) in enumerate(cases.items()):
        put(f"{70 + i:03d}_ext_{name}", made)


def attributes():
    def one(op, **attrs):
        count = 2 if op == "Concat" else 1
        return model([node(op, ["x"] * count, ["y"], **attrs)])

    put("100_transpose_dup_perm", one("Transpose", perm=[0, 0]))
    put("101_transpose_perm_oob", one("Transpose", perm=[0, 7]))
    put("102_concat_axis_oob", one("Concat", axis=9))
    put("103_attr_wrong_type", one("Concat", axis="zero"))
    put("104_softmax_axis_int64min", one("Softmax", axis=INT64_MIN))

    def conv(kernel, **attrs):
        size = 4
        for dim in kernel:
            size *= dim
        return model(
            [node("Conv", ["x", "W"], ["y"], **attrs)],
            ins=[info("x", (1, 1, 8, 8))],
            outs=[out(4)],
            inits=[raw(kernel, b"\0" * size, name="W")],
        )

    put("105_conv_weight_rank", conv([1, 1, 3, 3, 3]))
    put("106_conv_stride0", conv([1, 1, 3, 3], strides=[0, 0]))
    put("107_conv_group0", conv([1, 1, 3, 3], group=0))
    put("108_conv_pads_max", conv([1, 1, 3, 3], pads=[INT64_MAX] * 4))


def values():
    def case(name, op, ins, inits, rank, given=None, dtype=T.FLOAT, **attrs):
        put(name, model(
            [node(op, ins, ["y"], **attrs)],
            ins=given, outs=[out(rank, dtype=dtype)], inits=inits,
        ))

    case("109_reshape_two_minus1", "Reshape", ["x", "s"],
         [ints("s", -1, -1)], 2)
    case("110_reshape_overflow", "Reshape", ["x", "s"],
         [ints("s", 1 << 40, 1 << 40, -1)], 3)
    case("111_constantofshape_bomb", "ConstantOfShape", ["s"],
         [ints("s", 1 << 30, 1 << 30)], 2, [])
    case("112_expand_bomb", "Expand", ["c", "s"],
         [constant("c", T.FLOAT, [1], [1.0]), ints("s", 1 << 42)], 1, [])
    bounds = [
        constant(name, T.FLOAT, [], [value])
        for name, value in zip("abd", (0.0, 1e18, 1.0))
    ]
    case("113_range_bomb", "Range", list("abd"), bounds, 1, [])
    bounds = [
        constant(name, T.INT64, [], [value])
        for name, value in zip("abd", (0, 5, 0))
    ]
    case("114_range_delta0", "Range", list("abd"), bounds, 1, [], T.INT64)
    case("115_tile_bomb", "Tile", ["x", "r"], [ints("r", 1 << 31, 1 << 31)], 2)
    case("116_onehot_depth", "OneHot", ["i", "d", "v"],
         [ints("d", 1 << 40), constant("v", T.FLOAT, [2], [0, 1])], 2,
         [info("i", (2,), T.INT64)])
    sliced = ["x", "a", "b", "ax", "st"]
    case("117_slice_step0", "Slice", sliced,
         [ints("a", 0), ints("b", 2), ints("ax", 0), ints("st", 0)], 2)
    case("118_slice_int64min", "Slice", sliced,
         [ints("a", INT64_MAX), ints("b", INT64_MIN), ints("ax", 0),
          ints("st", INT64_MIN)], 2)
    case("119_gather_oob", "Gather", ["x", "i"], [ints("i", 1000)], 2)
    case("120_einsum_scalar", "Einsum", ["x"], [], 2, [info("x", ())],
         equation="...ij->ji")
    case("121_einsum_bad", "Einsum", ["x"], [], 1, equation="->->")
    put("122_split_zero", model(
        [node("SplitToSequence", ["x", "s"], ["q"]),
         node("SequenceAt", ["q", "z"], ["y"])],
        outs=[out(2)],
        inits=[constant(n, T.INT64, [], [0]) for n in "sz"],
    ))
    put("123_matmul_mismatch", model(
        [node("MatMul", ["x", "w"], ["y"])], inits=[raw([7, 5], b"\0" * 140)]
    ))
    case("126_int_div_zero", "Div", ["a", "b"],
         [constant("a", T.INT32, [1], [-(1 << 31)]),
          constant("b", T.INT32, [1], [0])], 1, [], T.INT32)
    put("127_dql_scale_nan", model(
        [node("DequantizeLinear", ["q", "s"], ["y"])],
        ins=[info("q", (2, 3), T.INT8)],
        inits=[constant("s", T.FLOAT, [], [float("nan")])],
    ))


def loops():
    body = h.make_graph(
        [node("Identity", ["cin"], ["cout"]),
         node("Identity", ["vin"], ["vout"])],
        "b",
        [info("it", (), T.INT64), info("cin", (), T.BOOL), info("vin")],
        [info("cout", (), T.BOOL), info("vout")],
    )
    put("124_loop_forever", model(
        [node("Loop", ["n", "c", "x"], ["y"], body=body)],
        inits=[constant("n", T.INT64, [], [INT64_MAX]),
               constant("c", T.BOOL, [], [True])],
    ))
    put("125_scan_no_inputs", model(
        [node("Scan", [], ["y"], body=body, num_scan_inputs=5)]
    ))


def names():
    cases = {
        "script_tag": "<script>alert(1)</script>",
        "ansi_escape": "\x1b[2J\x1b]0;pwn\x07",
        "format_string": "%s%s%n",
        "path": "../../../tmp/pwn",
        "newline_json": '"},\n{"x":"',
        "very_long": "A" * 1_000_000,
        "empty_graph_name": "",
        "c_keyword": "int main(){}",
        "nul": "a\0b",
    }
    for i, (kind, text) in enumerate(cases.items()):
        made = model([node("Relu", ["x"], ["y"], name=text)], name=text)
        made.producer_name = text
        put(f"{130 + i:03d}_name_{kind}", made)


def value_infos():
    put("140_dim_negative_input",
        model(RELU, ins=[info("x", (-5, 3))], outs=[out(2)]))
    put("141_elem_type_0", model(RELU, ins=[info("x", (2, 3), 0)]))
    put("142_dup_graph_input", model(RELU, ins=[info("x"), info("x")]))
    put("143_declared_shape_lies", model(RELU, outs=[info("y", (9, 9))]))
    put("144_dim_int64max", model(
        [node("Concat", ["x", "x"], ["y"], axis=0)],
        ins=[info("x", (INT64_MAX, 3))], outs=[out(2)],
    ))
    sparse = onnx.SparseTensorProto()
    sparse.values.CopyFrom(raw([2], b"\0" * 8))
    sparse.indices.CopyFrom(ints("i", 5, 1 << 40))
    sparse.dims.extend([2, 3])
    made = model([node("Add", ["x", "w"], ["y"])])
    made.graph.sparse_initializer.append(sparse)
    put("145_sparse_index_oob", made)


def main():
    os.makedirs(DIR, exist_ok=True)
    for section in (
        containers, versions, graphs, functions, tensors, external_data,
        attributes, values, loops, names, value_infos,
    ):
        section()
    for name, data in MODELS.items():
        with open(f"{DIR}/{name}.onnx", "wb") as file:
            file.write(data)
    print(len(MODELS), "files in", DIR)


if __name__ == "__main__":
    main()
