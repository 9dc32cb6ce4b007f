#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes ONNX's own node tests: write_node_tests.py DIR.

Each becomes DIR/NAME/{model.onnx, test_data_set_0/{input,output}_I.pb}.
Values that are not tensors are written as ONNX's tools write them: a list as
a SequenceProto, an absent optional as an OptionalProto.
"""
import pathlib
import sys
import warnings

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import node


def to_proto(value, info):
    if isinstance(value, TensorProto):
        value = TensorProto.FromString(value.SerializeToString())
        value.name = info.name
        return value
    if info.type.HasField("map_type"):
        return numpy_helper.from_dict(value, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name)
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def write_case(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    ((inputs, outputs),) = case.data_sets
    graph = case.model.graph
    for kind, values, infos in (
        ("input", inputs, graph.input),
        ("output", outputs, graph.output),
    ):
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            proto = to_proto(value, info)
            (data / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())


def main():
    out = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    np.random.seed(0)
    cases = node.collect_testcases()
    for case in cases:
        write_case(case, out / case.name)
    print(f"{len(cases)} node tests written to {out}")


if __name__ == "__main__":
    main()
