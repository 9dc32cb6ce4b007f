//===- FunctionsTest.cpp - Functions are expanded where they are called ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

class FunctionsTest : public ImportTest {
protected:
  FunctionsTest() {
    import("my", 1);
    graph.input("x", {2, 3});
    graph.output("y");
  }
  onnx::FunctionProto *function(const std::string &name, const Names &inputs,
                                const Names &outputs) {
    onnx::FunctionProto *made = model.add_functions();
    made->set_domain("my");
    made->set_name(name);
    for (const std::string &input : inputs)
      made->add_input(input);
    for (const std::string &output : outputs)
      made->add_output(output);
    *made->mutable_opset_import() = model.opset_import();
    return made;
  }
  static onnx::NodeProto *add(onnx::FunctionProto *to, const std::string &op,
                              const Names &inputs, const Names &outputs,
                              const std::string &domain = "") {
    onnx::NodeProto *node = to->add_node();
    GraphBuilder::fill(node, op, inputs, outputs, domain);
    return node;
  }
};

TEST_F(FunctionsTest, CallsOfCallsAreExpanded) {
  onnx::FunctionProto *inner = function("Twice", {"a"}, {"b"});
  add(inner, "Add", {"a", "a"}, {"b"});
  onnx::FunctionProto *outer = function("Four", {"a"}, {"b"});
  add(outer, "Twice", {"a"}, {"m"}, "my");
  add(outer, "Twice", {"m"}, {"b"}, "my");
  graph.node("Four", {"x"}, {"y"}, "my")->set_name("f");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.add"), 2);
  module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "graph.add")
      EXPECT_TRUE(llvm::cast<mlir::NameLoc>(op->getLoc())
                      .getName()
                      .strref()
                      .starts_with("f/Twice:"));
  });
}

TEST_F(FunctionsTest, AttributesComeFromTheCallOrTheDefault) {
  onnx::FunctionProto *flat = function("Flat", {"a"}, {"b"});
  onnx::AttributeProto *missing = flat->add_attribute_proto();
  missing->set_name("where");
  missing->set_type(onnx::AttributeProto::INT);
  missing->set_i(0);
  onnx::AttributeProto *axis =
      addAttribute(add(flat, "Flatten", {"a"}, {"b"}), "axis");
  axis->set_ref_attr_name("where");
  axis->set_type(onnx::AttributeProto::INT);
  onnx::NodeProto *given = graph.node("Flat", {"x"}, {"z"}, "my");
  addInt(given, "where", 2);
  graph.node("Flat", {"z"}, {"y"}, "my");
  ASSERT_TRUE(run()) << report.str();
  // [2, 3] to [6, 1] by the attribute, then to [1, 6] by the default.
  expectText("tensor<6x1xf32>");
  expectText("return %1 : tensor<1x6xf32>");
}

TEST_F(FunctionsTest, InputsLeftOutAreAbsentInside) {
  onnx::FunctionProto *clip = function("Limit", {"a", "lo", "hi"}, {"b"});
  add(clip, "Clip", {"a", "lo", "hi"}, {"b"});
  graph.floats("one", {}, {1});
  graph.node("Limit", {"x", "", "one"}, {"y"}, "my");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.min"), 1);
  EXPECT_EQ(count("graph.max"), 0);
}

TEST_F(FunctionsTest, FunctionsOfTheModelComeBeforeOperators) {
  onnx::FunctionProto *relu = function("Relu", {"a"}, {"b"});
  add(relu, "Neg", {"a"}, {"b"});
  graph.node("Relu", {"x"}, {"y"}, "my");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.neg"), 1);
}

TEST_F(FunctionsTest, WhatOnnxDefinesByABodyIsExpanded) {
  graph.ints("size", {10})->clear_dims();
  graph.node("HannWindow", {"size"}, {"w"});
  graph.node("ReduceSum", {"w"}, {"s"});
  graph.node("Add", {"x", "s"}, {"y"});
  EXPECT_TRUE(run()) << report.str();
  EXPECT_GE(count("graph.cos"), 1);
}

TEST_F(FunctionsTest, UnusedCallsNeedNoMeaning) {
  graph.node("Relu", {"x"}, {"y"});
  graph.node("Unknown", {"x"}, {"z"}, "my");
  EXPECT_TRUE(run()) << report.str();
}

TEST_F(FunctionsTest, ProblemsInsideAreNamed) {
  onnx::FunctionProto *bad = function("Bad", {"a"}, {"b"});
  addInt(add(bad, "Flatten", {"a"}, {"b"}), "axis", 9);
  graph.node("Bad", {"x"}, {"y"}, "my")->set_name("call");
  expectReason("node 'call/Flatten:b' (ai.onnx.Flatten, opset 17): its axis 9 "
               "lies outside a tensor of rank 2");
}

} // namespace
} // namespace tenon
