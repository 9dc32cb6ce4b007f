//===- ModelNamesTest.cpp - Numbers for the names of values ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ModelNames.h"
#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

class ModelNamesTest : public testing::Test {
protected:
  onnx::GraphProto proto;
  GraphBuilder graph{&proto};
  ModelNames names;
};

TEST_F(ModelNamesTest, EqualNamesHaveOneNumber) {
  graph.input("x", {1});
  graph.ints("w", {1});
  graph.node("Add", {"x", "w"}, {"y"});
  graph.node("Add", {"y", "w"}, {"z"});
  graph.output("z");
  const Body &body = names.body(proto);
  NameId x = names.id("x"), w = names.id("w"), y = names.id("y");
  EXPECT_EQ(body.inputs, llvm::ArrayRef(x));
  EXPECT_EQ(body.initializers, llvm::ArrayRef(w));
  EXPECT_EQ(body.nodes[0].inputs, llvm::ArrayRef({x, w}));
  EXPECT_EQ(body.nodes[0].outputs, llvm::ArrayRef(y));
  EXPECT_EQ(body.nodes[1].inputs, llvm::ArrayRef({y, w}));
  EXPECT_EQ(body.outputs, llvm::ArrayRef(names.id("z")));
  EXPECT_EQ(body.own.size(), 4u);
}

TEST_F(ModelNamesTest, WhatIsLeftOutHasNoName) {
  graph.node("Clip", {"x", "", "high"}, {"y", ""});
  const Body &body = names.body(proto);
  EXPECT_EQ(names.id(""), kNoName);
  EXPECT_EQ(body.nodes[0].inputs[1], kNoName);
  EXPECT_EQ(body.nodes[0].outputs[1], kNoName);
  EXPECT_FALSE(body.own.contains(kNoName));
}

TEST_F(ModelNamesTest, BodiesShareTheNumbersOfTheModel) {
  onnx::NodeProto *choice = graph.node("If", {"flag"}, {"y"});
  addBody(choice, "then_branch").node("Relu", {"x"}, {"y"});
  addBody(choice, "else_branch").node("Neg", {"x"}, {"n"});
  const Body &body = names.body(proto);
  ASSERT_EQ(body.nodes[0].bodies.size(), 2u);
  const Body &first = *body.nodes[0].bodies[0];
  const Body &second = *body.nodes[0].bodies[1];
  EXPECT_EQ(first.nodes[0].inputs, second.nodes[0].inputs);
  EXPECT_EQ(first.nodes[0].outputs, body.nodes[0].outputs);
  EXPECT_FALSE(body.own.contains(names.id("n")));
  EXPECT_TRUE(second.own.contains(names.id("n")));
  EXPECT_EQ(&first, &names.body(proto.node(0).attribute(0).g()));
}

} // namespace
} // namespace tenon
