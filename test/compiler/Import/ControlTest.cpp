//===- ControlTest.cpp - Constants and branches ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

class ControlTest : public ImportTest {
protected:
  /// y = flag ? Relu(x) : Neg(other), each in a body.
  onnx::NodeProto *choose(const std::string &flag, const std::string &other) {
    onnx::NodeProto *node = graph.node("If", {flag}, {"y"});
    GraphBuilder yes = addBody(node, "then_branch");
    yes.node("Relu", {"x"}, {"t"});
    yes.output("t");
    GraphBuilder no = addBody(node, "else_branch");
    no.node("Neg", {other}, {"e"});
    no.output("e");
    graph.output("y");
    return node;
  }
  void flag(bool value) {
    onnx::TensorProto *tensor = graph.graph->add_initializer();
    tensor->set_name("flag");
    tensor->set_data_type(onnx::TensorProto::BOOL);
    tensor->add_int32_data(value);
  }
};

TEST_F(ControlTest, AConstantConditionTakesItsBranch) {
  graph.input("x", {2});
  flag(false);
  choose("flag", "x");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.if"), 0);
  EXPECT_EQ(count("graph.neg"), 1);
  EXPECT_EQ(count("graph.max"), 0);
}

TEST_F(ControlTest, DimsInWhichBranchesDifferAreSymbols) {
  graph.input("x", {"n", 4});
  graph.input("z", {"m", 4});
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  choose("flag", "z");
  expectText("graph.if %arg2 : (tensor<i1>) -> "
             "tensor<?x4xf32, #graph.dims<branch, 4>>");
}

TEST_F(ControlTest, BranchesOfDifferentRankAreRefused) {
  graph.input("x", {2});
  graph.input("z", {2, 2});
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  choose("flag", "z");
  expectReason("its branches give tensors of rank 1 and 2");
}

/// Squeeze where a size is `compared`, as PyTorch writes it.
class SqueezeWhereOneTest : public ControlTest {
protected:
  void build(int64_t compared, const std::string &other) {
    graph.input("x", {"n", "m"});
    graph.input("z", {"n", "m"});
    graph.node("Shape", {"x"}, {"shape"});
    graph.ints("axis", {1});
    graph.ints("compared", {compared});
    graph.node("Gather", {"shape", "axis"}, {"size"});
    graph.node("Equal", {"size", "compared"}, {"flag"});
    onnx::NodeProto *node = graph.node("If", {"flag"}, {"y"});
    GraphBuilder yes = addBody(node, "then_branch");
    yes.node("Squeeze", {"x", "axis"}, {"t"});
    yes.output("t");
    GraphBuilder no = addBody(node, "else_branch");
    no.node("Identity", {other}, {"e"});
    no.output("e");
    graph.output("y");
  }
};

TEST_F(SqueezeWhereOneTest, TheSizeHasToBeOne) {
  build(1, "x");
  expectText("graph.require");
  EXPECT_EQ(count("graph.if"), 0);
}

TEST_F(SqueezeWhereOneTest, AnotherSizeIsRefused) {
  build(2, "x");
  expectReason("its branches give tensors of rank 1 and 2");
}

TEST_F(SqueezeWhereOneTest, AnotherValueIsRefused) {
  build(1, "z");
  expectReason("its branches give tensors of rank 1 and 2");
}

TEST_F(ControlTest, ProblemsOfBothBranchesAreReported) {
  graph.input("x", {2});
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto *node = choose("flag", "x");
  for (onnx::AttributeProto &attribute : *node->mutable_attribute())
    addInt(attribute.mutable_g()->mutable_node(0), "unknown", 0);
  EXPECT_TRUE(run()) << "attributes that an operator lacks are ignored";
  module = nullptr;
  report = {};
  for (onnx::AttributeProto &attribute : *node->mutable_attribute()) {
    attribute.mutable_g()->mutable_node(0)->set_op_type("Flatten");
    attribute.mutable_g()->mutable_node(0)->mutable_attribute(0)->set_name(
        "axis");
    attribute.mutable_g()->mutable_node(0)->mutable_attribute(0)->set_i(5);
  }
  EXPECT_FALSE(run());
  EXPECT_EQ(report.issues.size(), 2u) << report.str();
}

TEST_F(ControlTest, EveryFormOfConstant) {
  auto constant = [&](const std::string &name) {
    onnx::NodeProto *node = graph.node("Constant", {}, {name});
    graph.output(name);
    return addAttribute(node, name);
  };
  constant("value_float")->set_f(1.5f);
  constant("value_int")->set_i(-7);
  constant("value_floats")->add_floats(2.5f);
  onnx::AttributeProto *ints = constant("value_ints");
  ints->add_ints(3);
  ints->add_ints(4);
  onnx::TensorProto *tensor = constant("value")->mutable_t();
  tensor->set_data_type(onnx::TensorProto::INT8);
  tensor->add_int32_data(9);
  std::string all = text();
  for (const char *part :
       {"dense<1.500000e+00> : tensor<f32>", "dense<-7> : tensor<i64>",
        "dense<2.500000e+00> : tensor<1xf32>", "dense<[3, 4]> : tensor<2xi64>",
        "dense<9> : tensor<i8>"})
    EXPECT_TRUE(llvm::StringRef(all).contains(part)) << part << all;
}

TEST_F(ControlTest, DropoutIsGoneOutsideOfTraining) {
  graph.input("x", {2});
  graph.node("Dropout", {"x"}, {"a", "mask"});
  graph.node("Identity", {"a"}, {"y"});
  graph.output("y");
  expectText("return %arg0 : tensor<2xf32>");
}

TEST_F(ControlTest, DropoutSaysWhenItRunsThatItTrains) {
  graph.input("x", {2});
  graph.input("deterministic", {}, onnx::TensorProto::BOOL);
  graph.node("Not", {"deterministic"}, {"training"});
  graph.node("Dropout", {"x", "", "training"}, {"y"});
  graph.output("y");
  std::string all = text();
  for (const char *part :
       {"graph.bind %1 {hi = array<i64: 1>, lo = array<i64: 0>",
        "that makes 'y': training mode is random"})
    EXPECT_TRUE(llvm::StringRef(all).contains(part)) << part << all;
}

} // namespace
} // namespace tenon
