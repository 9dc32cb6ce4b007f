#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models that are odd rather than broken, one per rule of an operator
or limit that is easily forgotten.

    odd_models.py DIR

Some must be refused and some must work: bad_models.csv says which.
"""
import os
import sys

import onnx
from bad_models import (
    INT64_MAX, constant, field, info, ints, model, node, out, raw, varint,
)
from onnx import TensorProto as T
from onnx import helper as h

MODELS = {}


def put(name, made):
    made = made if isinstance(made, bytes) else made.SerializeToString()
    MODELS[name] = made


def one(name, op, ins, inits=(), rank=2, given=None, opset=17, dtype=T.FLOAT,
        outs=None, **attrs):
    """A model of one node."""
    outs = outs or [out(rank, dtype=dtype)]
    made = node(op, ins, [o.name for o in outs], **attrs)
    put(name, model(
        [made], ins=given, outs=outs, inits=inits, opset=opset, ir=10,
    ))


def attention():
    def heads(name, q, k, extra=(), ins=(), opset=24, **attrs):
        given = [info("q", q), info("k", k), info("v", k), *extra]
        one(name, "Attention", ["q", "k", "v", *ins], rank=4, given=given,
            opset=opset, **attrs)

    heads("200_attention_3_heads_on_2", (1, 3, 5, 4), (1, 2, 5, 4))
    heads("201_attention_head_size_0", (1, 2, 5, 0), (1, 2, 5, 0))
    heads("202_attention_mask_rank_5", (1, 2, 5, 4), (1, 2, 5, 4),
          [info("m", (1, 1, 2, 5, 5))], ["m"])
    heads("203_attention_softcap_nan", (1, 2, 5, 4), (1, 2, 5, 4),
          softcap=float("nan"))
    heads("204_attention_past_disagrees", (1, 2, 5, 4), (1, 2, 5, 4),
          [info("pk", (1, 2, 3, 4)), info("pv", (1, 2, 4, 4))],
          ["", "pk", "pv"])
    heads("205_attention_past_key_alone", (1, 2, 5, 4), (1, 2, 5, 4),
          [info("pk", (1, 2, 3, 4))], ["", "pk"])
    heads("206_attention_rank_2", (5, 4), (5, 4))
    heads("207_attention_3d_without_heads", (1, 5, 8), (1, 5, 8))
    heads("208_attention_heads_do_not_divide", (1, 5, 8), (1, 5, 8),
          q_num_heads=3, kv_num_heads=3)
    heads("209_attention_heads_negative", (1, 5, 8), (1, 5, 8),
          q_num_heads=-2, kv_num_heads=-2)


def quantized():
    def dequantize(name, blocks, size, data=None, dtype=T.INT8):
        tensor = raw([6, 4], data or b"\0" * 24, dtype, "q")
        scale = raw([blocks, 4], b"\0\0\x80\x3f" * (4 * blocks), name="s")
        one(name, "DequantizeLinear", ["q", "s"], [tensor, scale], given=[],
            opset=21, block_size=size, axis=0)

    dequantize("210_block_size_negative", 2, -3)
    dequantize("211_block_size_does_not_fit", 2, 5)
    dequantize("212_block_size_huge", 1, INT64_MAX)
    dequantize("213_int4_wrong_packing", 2, 3, b"\0" * 24, T.INT4)
    dequantize("214_int4_good", 2, 3, b"\0" * 12, T.INT4)
    odd = raw([3, 1], b"\x21\x03", T.INT4, "q")
    scale = constant("s", T.FLOAT, [], [1.0])
    one("215_int4_odd_count", "DequantizeLinear", ["q", "s"], [odd, scale],
        given=[], opset=21)
    float8 = raw([4], b"\0" * 3, T.FLOAT8E4M3FN, "q")
    one("216_float8_short", "Cast", ["q"], [float8], 1, [], 21, to=T.FLOAT)


def extents():
    one("220_matmul_empty_k", "MatMul", ["a", "b"],
        given=[info("a", (2, 0)), info("b", (0, 3))])
    one("221_topk_beyond_the_axis", "TopK", ["x", "k"], [ints("k", 9)],
        outs=[out(2), out(2, "i", T.INT64)])
    one("222_topk_negative", "TopK", ["x", "k"], [ints("k", -1)],
        outs=[out(2), out(2, "i", T.INT64)])
    scales = constant("s", T.FLOAT, [4], [1, 1, 1e9, 1e9])
    image = [info("x", (1, 1, 8, 8))]
    one("223_resize_by_1e9", "Resize", ["x", "", "s"], [scales], 4, image)
    scales = constant("s", T.FLOAT, [4], [1, 1, float("nan"), -1.0])
    one("224_resize_by_nan", "Resize", ["x", "", "s"], [scales], 4, image)
    far = 1 << 62
    one("225_pad_by_minus_2^62", "Pad", ["x", "p"],
        [ints("p", -far, -far, -far, -far)])
    one("226_pad_by_2^62", "Pad", ["x", "p"], [ints("p", far, far, far, far)])
    one("227_cumsum_two_axes", "CumSum", ["x", "a"], [ints("a", 0, 1)])
    one("228_scatternd_overlapping", "ScatterND", ["x", "i", "u"],
        [constant("i", T.INT64, [2, 1], [0, 0]),
         raw([2, 3], b"\0" * 24, name="u")])
    one("229_scatternd_outside", "ScatterND", ["x", "i", "u"],
        [constant("i", T.INT64, [1, 1], [7]),
         raw([1, 3], b"\0" * 12, name="u")])
    one("230_split_sizes_do_not_add_up", "Split", ["x", "s"], [ints("s", 1, 7)],
        outs=[out(2), out(2, "z")], axis=0)
    one("231_split_negative_size", "Split", ["x", "s"], [ints("s", -1, 3)],
        outs=[out(2), out(2, "z")], axis=0)
    one("232_gather_minus_2^63", "Gather", ["x", "i"],
        [ints("i", -INT64_MAX - 1)])
    one("233_maxpool_kernel_2^62", "MaxPool", ["x"], (), 4, image,
        kernel_shape=[far, far])
    one("234_maxpool_dilation_0", "MaxPool", ["x"], (), 4, image,
        kernel_shape=[2, 2], dilations=[0, 0])
    one("235_convtranspose_padding_2^62", "ConvTranspose", ["x", "w"],
        [raw([1, 1, 3, 3], b"\0" * 36)], 4, image, output_padding=[far, far])
    one("236_depth_to_space_0", "DepthToSpace", ["x"], (), 4, image,
        blocksize=0)
    one("237_eyelike_diagonal_2^62", "EyeLike", ["x"], k=far)
    one("238_trilu_diagonal_2^62", "Trilu", ["x", "k"],
        [constant("k", T.INT64, [], [-far])])
    one("239_shape_start_after_end", "Shape", ["x"], (), 1, dtype=T.INT64,
        start=5, end=-9)
    one("240_mod_by_zero", "Mod", ["a", "b"],
        [constant("a", T.INT32, [1], [-(1 << 31)]),
         constant("b", T.INT32, [1], [-1])], 1, [], dtype=T.INT32)
    one("241_bitshift_by_64", "BitShift", ["a", "b"],
        [constant("a", T.UINT32, [1], [7]), constant("b", T.UINT32, [1], [64])],
        1, [], dtype=T.UINT32, direction="LEFT")
    one("242_dft_of_length_2^40", "DFT", ["x", "n"],
        [constant("n", T.INT64, [], [1 << 40])], 3, [info("x", (1, 8, 1))])
    one("243_window_of_2^62", "HannWindow", ["n"],
        [constant("n", T.INT64, [], [1 << 62])], 1, [])
    one("244_lstm_hidden_0", "LSTM", ["x", "w", "r"],
        [raw([1, 0, 3], b"", name="w"), raw([1, 0, 0], b"", name="r")], 4,
        [info("x", (2, 1, 3))], hidden_size=0)
    one("308_lrn_of_booleans", "LRN", ["x"], rank=3,
        given=[info("x", (1, 3, 4), T.BOOL)], dtype=T.BOOL, size=5)


def resizes():
    image = info("x", (1, 1, 8, 8))
    one("309_resize_by_three_scales", "Resize", ["x", "", "s"], (), 4,
        [image, info("s", (3,))])
    one("310_resize_by_scales_of_any_number", "Resize", ["x", "", "s"], (), 4,
        [image, info("s", ["N"])])
    one("311_resize_by_a_matrix", "Resize", ["x", "", "s"], (), 4,
        [image, info("s", (2, 2))])
    one("312_resize_crop_without_roi", "Resize", ["x", "", "s"],
        [constant("s", T.FLOAT, [4], [1, 1, 2, 2])], 4, [image],
        coordinate_transformation_mode="tf_crop_and_resize")
    one("313_resize_crop_by_seven_numbers", "Resize", ["x", "r", "s"],
        [constant("s", T.FLOAT, [4], [1, 1, 2, 2])], 4,
        [image, info("r", (7,))],
        coordinate_transformation_mode="tf_crop_and_resize")
    one("314_resize_aspect_of_nothing", "Resize", ["x", "", "", "s"],
        [ints("s", 1, 1, 4, 4)], 4, [info("x", (1, 1, 0, 8))], opset=19,
        keep_aspect_ratio_policy="not_larger")


def dims():
    named = [info("a", ["N"]), info("b", ["N"])]
    one("250_one_name_two_sizes", "Add", ["a", "b"], (), 1, named)
    product = "9999999999 * 9999999999 * 9999999999"
    for name, text in (
        ("251_dim_sum_overflows", f"N + {INT64_MAX}"),
        ("252_dim_product_overflows", product),
        ("253_dim_divides_by_zero", "N // 0"),
        ("254_dim_parentheses", "(" * 50_000),
        ("255_dim_operators", "+-*/" * 1000),
        ("256_dim_terms", " + ".join(f"n{i}" for i in range(3000))),
    ):
        one(name, "Relu", ["x"], (), 1, [info("n", ["N"]), info("x", [text])])
    # Each doubles the last one's size: 2^70 N in the end.
    doubling = [
        node("Concat", [f"t{i}"] * 2, [f"t{i + 1}"], axis=0) for i in range(70)
    ]
    put("257_doubling_of_N", model(
        doubling, ins=[info("t0", ["N"])], outs=[out(1, "t70")]
    ))
    squares = [node("Shape", ["x"], ["s"])] + [
        node("Mul", [f"m{i}" if i else "s"] * 2, [f"m{i + 1}"])
        for i in range(40)
    ]
    put("258_squares_of_N", model(
        squares + [node("ConstantOfShape", ["m40"], ["y"])],
        ins=[info("x", ["N"])], outs=[out(1)],
    ))


def structure():
    count = 100_000
    names = [f"x{i}" for i in range(count)]
    put("260_100k_inputs", model(
        [node("Relu", ["x7"], ["y"])], ins=[info(n, (1,)) for n in names],
        outs=[info("y", (1,))],
    ))
    empty = [raw([0], b"", name=f"w{i}") for i in range(count)]
    put("261_100k_empty_initializers", model([node("Relu", ["x"], ["y"])],
        inits=empty))
    put("262_30k_terms_of_one_sum", model([node("Sum", ["x"] * 30_000, ["y"])]))

    def choice(then, other, extra=(), first=()):
        chosen = node("If", ["c"], ["y"], then_branch=then, else_branch=other)
        return model([*first, chosen, *extra],
                     ins=[info("x"), info("c", (), T.BOOL)])

    def branch(name, source, result="r"):
        return h.make_graph([node("Neg", [source], [result])], name, [],
                            [info(result)])

    put("263_branch_uses_a_later_name",
        choice(branch("a", "late"), branch("b", "x"),
               [node("Relu", ["x"], ["late"])]))
    put("264_branches_of_one_name",
        choice(branch("a", "x"), branch("a", "x")))
    put("265_branch_shadows_a_name",
        choice(branch("a", "x", "t"), branch("b", "x"),
               first=[node("Relu", ["x"], ["t"])]))
    put("266_branches_of_other_types", choice(
        branch("a", "x"),
        h.make_graph([node("Cast", ["x"], ["r"], to=T.INT64)], "b", [],
                     [info("r", dtype=T.INT64)]),
    ))
    clip = [constant("hi", T.FLOAT, [], [1.0])]
    one("267_optional_input_in_the_middle", "Clip", ["x", "", "hi"], clip)
    deep = [node("Add", [f"t{i // 2}" if i else "x", f"t{i - 1}" if i else "x"],
                 [f"t{i}"]) for i in range(3000)]
    put("268_3000_readers", model(deep, outs=[info("t2999")]))


def loops():
    def body(nodes, state="r", name="b"):
        return h.make_graph(
            nodes, name,
            [info(f"{name}_i", (), T.INT64), info(f"{name}_c", (), T.BOOL),
             info(f"{name}_v", None)],
            [info(f"{name}_c", (), T.BOOL), info(state, None)],
        )

    def loop(name, steps, inner, flag="", ins=None, rank=2):
        put(name, model(
            [node("Loop", ["n", flag, "x"], ["y"], name[4:], body=inner)],
            ins=ins,
            outs=[out(rank)],
            inits=[constant("n", T.INT64, [], [steps]),
                   constant("two", T.INT64, [], [2])],
        ))

    negate = [node("Neg", ["b_v"], ["r"])]
    loop("290_loop_2^62_times", 1 << 62, body(negate))
    nested = body([node("Neg", ["b0_v"], ["r0"])], "r0", "b0")
    for i in range(1, 30):
        nested = body([node("Loop", ["two", "", f"b{i}_v"], [f"r{i}"],
                            body=nested)], f"r{i}", f"b{i}")
    loop("291_30_loops_in_each_other", 2, nested)
    long = [node("Neg", [f"t{i - 1}" if i else "b_v"], [f"t{i}"])
            for i in range(50_000)]
    loop("292_loop_of_50k_nodes", 3, body(long, "t49999"))
    double = [node("Concat", ["b_v", "b_v"], ["r"], axis=0)]
    loop("293_loop_doubles_62_times", 62, body(double))
    loop("294_loop_no_times", 0, body(negate))
    loop("295_loop_while_an_input_says_so", 9, body(negate), "flag",
         [info("x"), info("flag", (), T.BOOL)])
    loop("296_loop_reads_its_result", 2, body([node("Neg", ["y"], ["r"])]))
    step = h.make_graph([node("Neg", ["e"], ["o"])], "b", [info("e", (0,))],
                        [info("o", (0,))])
    one("297_scan_of_2^40_steps", "Scan", ["x"],
        given=[info("x", (1 << 40, 0))], body=step, num_scan_inputs=1)


def sequences():
    def listed(name, nodes, inits=(), ins=None, rank=2):
        put(name, model(
            [node("SequenceConstruct", ["x", "x"], ["q"]), *nodes], ins=ins,
            outs=[out(rank)], inits=inits,
        ))

    def place(value):
        return [constant("p", T.INT64, [], [value])]

    join = node("ConcatFromSequence", ["r"], ["y"], axis=0)
    listed("300_sequence_is_the_output", [node("Identity", ["q"], ["y"])])
    listed("301_sequence_at_2^62", [node("SequenceAt", ["q", "p"], ["y"])],
           place(1 << 62))
    listed("302_sequence_erased_to_nothing",
           [node("SequenceErase", ["q"], ["a"]),
            node("SequenceErase", ["a"], ["b"]),
            node("SequenceErase", ["b"], ["r"]), join])
    listed("303_sequence_of_sequences",
           [node("SequenceConstruct", ["q", "q"], ["r"]), join])
    listed("304_split_to_2^30_tensors",
           [node("SplitToSequence", ["h"], ["r"], keepdims=0), join],
           ins=[info("x"), info("h", (1 << 30,))], rank=1)
    listed("305_split_by_minus_2^63",
           [node("SplitToSequence", ["x", "p"], ["r"]), join],
           place(-1 << 63))
    body = h.make_graph([node("Add", ["a", "b"], ["c"])], "b",
                        [info("a", None), info("b", None)], [info("c", None)])
    listed("306_map_of_two_lengths",
           [node("SequenceErase", ["q"], ["s"]),
            node("SequenceMap", ["q", "s"], ["r"], body=body), join])
    listed("307_optional_of_nothing",
           [node("Optional", [], ["o"]),
            node("OptionalGetElement", ["o"], ["y"])])


def functions():
    imports = [h.make_opsetid("", 17)]

    def function(nodes, **attrs):
        return h.make_function("f", "F", ["X"], ["Y"], nodes, imports, **attrs)

    def calling(made, **attrs):
        call = node("F", ["x"], ["y"], domain="f", **attrs)
        return model([call], functions=[made], domains=["f"])

    leaky = node("LeakyRelu", ["X"], ["Y"])
    reference = onnx.AttributeProto()
    reference.name, reference.ref_attr_name = "alpha", "slope"
    reference.type = onnx.AttributeProto.FLOAT
    leaky.attribute.append(reference)
    default = h.make_attribute("slope", "steep")
    put("270_default_of_another_type",
        calling(function([leaky], attribute_protos=[default])))
    put("271_reference_to_nothing", calling(function([leaky])))
    put("272_reference_good", calling(function([leaky], attributes=["slope"]),
                                      slope=0.5))
    stray = node("LeakyRelu", ["x"], ["y"])
    stray.attribute.append(reference)
    put("273_reference_outside_a_function", model([stray]))
    put("274_function_twice", model(
        [node("F", ["x"], ["y"], domain="f")], domains=["f"],
        functions=[function([node("Relu", ["X"], ["Y"])])] * 2))
    put("275_function_makes_nothing", calling(function([])))
    many = node("F", ["x"] * 3, ["y"], domain="f")
    plain = function([node("Relu", ["X"], ["Y"])])
    put("276_call_with_too_many_inputs",
        model([many], domains=["f"], functions=[plain]))


def files():
    good = model([node("Relu", ["x"], ["y"])])
    for value in "ab":
        entry = good.metadata_props.add()
        entry.key, entry.value = "author", value
    put("280_metadata_key_twice", good)
    plain = model([node("Relu", ["x"], ["y"])]).SerializeToString()
    put("281_unknown_field_of_8MB", plain + field(4000, b"\0" * (8 << 20)))
    put("282_million_unknown_fields",
        plain + (varint(4000 << 3) + b"\1") * 1_000_000)
    loud = model([node("Relu", ["x"], ["y"])])
    loud.producer_name = "p" * (8 << 20)
    put("283_producer_of_8MB", loud)
    named = model([node("Relu", ["x"], ["qqqq"], name="zzzz")],
                  outs=[info("qqqq")]).SerializeToString()
    put("284_names_not_utf8", named.replace(b"qqqq", b"\xff\xc0\x80\xfe")
        .replace(b"zzzz", b"\xed\xa0\x80\xff"))
    put("285_groups_in_groups", b"\x0b" * 100_000)


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for section in (
        attention, quantized, extents, resizes, dims, structure, loops,
        sequences, functions, files,
    ):
        section()
    for name, data in MODELS.items():
        with open(f"{directory}/{name}.onnx", "wb") as file:
            file.write(data)
    print(len(MODELS), "files in", directory)


if __name__ == "__main__":
    main()
