//===- ToleranceTest.cpp - How exact a model's results can be -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Tolerance.h"
#include "gtest/gtest.h"

#include "onnx-ml.pb.h"

using namespace tenon;

namespace {

/// Of f32 outside, with a node inside.
onnx::ModelProto modelOf(const std::string &op) {
  onnx::ModelProto model;
  onnx::GraphProto *graph = model.mutable_graph();
  graph->add_input()->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
  graph->add_node()->set_op_type(op);
  return model;
}

void addTo(onnx::ModelProto &model, int64_t type) {
  onnx::AttributeProto *to =
      model.mutable_graph()->mutable_node(0)->add_attribute();
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(type);
}

TEST(Tolerance, F32) {
  EXPECT_EQ(defaultTolerance(modelOf("Add")), 1e-4);
  onnx::ModelProto wide = modelOf("Cast");
  addTo(wide, onnx::TensorProto::DOUBLE);
  EXPECT_EQ(defaultTolerance(wide), 1e-4);
}

TEST(Tolerance, HalvesBetweenCasts) {
  for (auto type : {onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16}) {
    onnx::ModelProto model = modelOf("Cast");
    addTo(model, type);
    EXPECT_EQ(defaultTolerance(model), 1e-2);
    EXPECT_FALSE(isQuantized(model));
  }
}

TEST(Tolerance, HalvesOutside) {
  onnx::ModelProto model = modelOf("Add");
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::FLOAT16);
  EXPECT_EQ(defaultTolerance(model), 1e-2);
}

TEST(Tolerance, Quantized) {
  onnx::ModelProto model = modelOf("QuantizeLinear");
  EXPECT_EQ(defaultTolerance(model), 1e-1);
  EXPECT_TRUE(isQuantized(model));
  // Stored bytes alone are floats that all agree on.
  EXPECT_FALSE(isQuantized(modelOf("DequantizeLinear")));
}

} // namespace
