//===- LoopTest.cpp - Loops become their steps, or one op -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class LoopTest : public OperatorTest {
protected:
  void constantFlag(const std::string &name, bool value) {
    onnx::TensorProto *tensor = graph.graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::BOOL);
    tensor->add_int32_data(value);
  }
  void count(int64_t trips) { graph.ints("m", {trips})->clear_dims(); }

  /// y0 = x0 after steps v -> v * 2 + i, and y1 what v was after each.
  onnx::NodeProto *loop(const std::string &trips, const std::string &flag) {
    onnx::NodeProto *made = node("Loop", {floats({2}, {1, 2})}, 2);
    made->clear_input();
    for (const std::string &input : {trips, flag, std::string("x0")})
      made->add_input(input);
    body = addBody(made, "body");
    setType(body.graph->add_input(), "i", {}, onnx::TensorProto::INT64);
    setType(body.graph->add_input(), "on", {}, onnx::TensorProto::BOOL);
    setType(body.graph->add_input(), "v", {2}, onnx::TensorProto::FLOAT);
    body.node("Add", {"v", "v"}, {"twice"});
    addInt(body.node("Cast", {"i"}, {"step"}), "to", onnx::TensorProto::FLOAT);
    body.node("Add", {"twice", "step"}, {"next"});
    body.node("Identity", {"on"}, {"still"});
    for (const char *output : {"still", "next", "next"})
      body.output(output);
    return made;
  }
  /// As `loop`, which ends when i * 0.75 >= 1.5.
  void loopUntil(const std::string &trips) {
    loop(trips, "");
    body.graph->mutable_node(3)->mutable_output()->Clear();
    body.graph->mutable_node(3)->add_output("unused");
    body.floats("part", {}, {0.75f});
    body.floats("end", {}, {1.5f});
    body.node("Mul", {"step", "part"}, {"parts"});
    body.node("Less", {"parts", "end"}, {"still"});
  }

  GraphBuilder body{nullptr};
};

TEST_F(LoopTest, StepsFollowOneAnother) {
  count(3);
  loop("m", "");
  expectBoth({12, 20}, {2, 4, 5, 9, 12, 20});
}

TEST_F(LoopTest, AFlagThatHoldsDoesNotCount) {
  count(2);
  constantFlag("flag", true);
  loop("m", "flag");
  expectBoth({5, 9}, {2, 4, 5, 9});
}

TEST_F(LoopTest, ACountIsComputedFromSizes) {
  // ceil(2 * 0.6)
  graph.node("Shape", {"x0"}, {"sizes"});
  graph.ints("zero", {0})->clear_dims();
  graph.node("Gather", {"sizes", "zero"}, {"size"});
  addInt(graph.node("Cast", {"size"}, {"number"}), "to",
         onnx::TensorProto::FLOAT);
  graph.floats("part", {}, {0.6f});
  graph.node("Mul", {"number", "part"}, {"some"});
  graph.node("Ceil", {"some"}, {"whole"});
  addInt(graph.node("Cast", {"whole"}, {"m"}), "to", onnx::TensorProto::INT64);
  loop("m", "");
  expectBoth({5, 9}, {2, 4, 5, 9});
}

TEST_F(LoopTest, AConditionOnNumbersEndsIt) {
  loopUntil("");
  expectBoth({12, 20}, {2, 4, 5, 9, 12, 20});
}

TEST_F(LoopTest, TheLesserOfCountAndConditionEndsIt) {
  count(2);
  loopUntil("m");
  expectBoth({5, 9}, {2, 4, 5, 9});
}

TEST_F(LoopTest, WithoutAStepThereAreEmptyTensors) {
  count(0);
  loop("m", "");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, 2});
  EXPECT_EQ(found[1].shape, (llvm::SmallVector<int64_t>{0, 2}));
}

TEST_F(LoopTest, AFlagThatDoesNotHoldAllowsNoStep) {
  count(5);
  constantFlag("flag", false);
  loop("m", "flag");
  expectBoth({1, 2}, {});
}

TEST_F(LoopTest, NegativeCountsAreNone) {
  count(-7);
  loop("m", "");
  expectBoth({1, 2}, {});
}

TEST_F(LoopTest, LoopsInLoopsReadTheStateOutside) {
  count(2);
  loop("m", "");
  onnx::NodeProto *inner = body.node("Loop", {"m", "", "next"}, {"more"});
  GraphBuilder innermost = addBody(inner, "body");
  setType(innermost.graph->add_input(), "j", {}, onnx::TensorProto::INT64);
  setType(innermost.graph->add_input(), "go", {}, onnx::TensorProto::BOOL);
  setType(innermost.graph->add_input(), "w", {2}, onnx::TensorProto::FLOAT);
  innermost.node("Add", {"w", "v"}, {"sum"});
  innermost.output("go");
  innermost.output("sum");
  body.graph->mutable_output(1)->set_name("more");
  // 2v + i + 2v, twice.
  expectBoth({17, 33}, {2, 4, 9, 17});
}

TEST_F(LoopTest, ACountOfTheRunMakesItOneOp) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  for (int64_t count : {int64_t(-7), int64_t(0)}) {
    given(1, ints({}, {count}));
    expectBoth({1, 2}, {});
  }
  given(1, ints({}, {3}));
  expectBoth({12, 20}, {2, 4, 5, 9, 12, 20});
  EXPECT_EQ(ImportTest::count("graph.loop"), 1);
  // Each row has its place: nothing but the count decides how many there are.
  module->walk([&](graph::LoopOp op) {
    EXPECT_EQ(graph::getDims(op.getStacks()[0])[0], op.getRoom()[0]);
  });
}

TEST_F(LoopTest, ACountMayBeASize) {
  onnx::NodeProto *made = loop("m", "");
  made->set_input(0, "size");
  graph.graph->mutable_input(0)->Clear();
  setType(graph.graph->mutable_input(0), "x0", {2}, onnx::TensorProto::FLOAT);
  graph.input("z", {"S"}, onnx::TensorProto::FLOAT);
  onnx::NodeProto loopNode = *made;
  graph.graph->clear_node();
  graph.node("Shape", {"z"}, {"size"});
  *graph.graph->add_node() = loopNode;
  given(1, floats({2}, {0, 0}));
  expectBoth({5, 9}, {2, 4, 5, 9});
  EXPECT_EQ(ImportTest::count("graph.bind"), 0);
  module->walk([&](graph::LoopOp op) {
    EXPECT_EQ(op.getRoom()[0].str(), "S");
    EXPECT_EQ(graph::getDims(op.getStacks()[0])[0].str(), "S");
  });
}

/// While the sum of v is below 12, without a count.
class LoopWithoutCountTest : public LoopTest {
protected:
  onnx::NodeProto *build(const char *m) {
    onnx::NodeProto *made = loop(m, "");
    body.floats("end", {}, {12});
    addInt(body.node("ReduceSum", {"next"}, {"sum"}), "keepdims", 0);
    body.node("Less", {"sum", "end"}, {"small"});
    body.graph->mutable_output(0)->set_name("small");
    return made;
  }
  void dropRows() {
    body.graph->mutable_output()->RemoveLast();
    graph.graph->mutable_node(0)->mutable_output()->RemoveLast();
    graph.graph->mutable_output()->RemoveLast();
  }
};

TEST_F(LoopWithoutCountTest, TheConditionEndsIt) {
  build("");
  dropRows();
  expect({5, 9});
  // The first is always run, and in front of it.
  EXPECT_EQ(ImportTest::count("graph.loop"), 1);
}

TEST_F(LoopWithoutCountTest, TheLargestCountIsNone) {
  count(INT64_MAX);
  build("m");
  dropRows();
  expect({5, 9});
}

TEST_F(LoopWithoutCountTest, RowsNeedRoom) {
  build("");
  expectReason("it collects a result of each step, and has no trip count that "
               "says for how many there must be room; give it a trip count "
               "that is never reached");
}

TEST_F(LoopWithoutCountTest, ACountGivesThemRoom) {
  count(3);
  build("m");
  expectBoth({5, 9}, {2, 4, 5, 9});
}

TEST_F(LoopTest, AStateOfAnotherSizeIsASymbol) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  body.graph->clear_node();
  addInt(body.node("Concat", {"v", "v"}, {"next"}), "axis", 0);
  body.floats("zero", {}, {0});
  body.graph->mutable_output(0)->set_name("on");
  body.graph->mutable_output(2)->set_name("zero");
  given(1, ints({}, {2}));
  expectBoth({1, 2, 1, 2, 1, 2, 1, 2}, {0, 0});
}

TEST_F(LoopTest, RowsOfSizesThatAStepDecidesAreRefused) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  addInt(body.node("Concat", {"v", "v"}, {"longer"}), "axis", 0);
  for (int i : {1, 2})
    body.graph->mutable_output(i)->set_name("longer");
  expectReason("it collects results whose sizes a step decides");
}

TEST_F(LoopTest, AStateOfAnotherRankIsRefused) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  addInt(body.node("Flatten", {"v"}, {"flat"}), "axis", 0);
  body.graph->mutable_output(1)->set_name("flat");
  expectReason("and each changes the rank of its state");
}

TEST_F(LoopTest, AStateOfAnotherTypeIsInvalid) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  body.graph->mutable_output(1)->set_name("whole");
  addInt(body.node("Cast", {"next"}, {"whole"}), "to",
         onnx::TensorProto::INT64);
  expectReason("a step changes the element type of its state");
  EXPECT_TRUE(report.isInvalidModel());
}

TEST_F(LoopTest, AConditionThatIsNoBoolIsInvalid) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  body.floats("one", {}, {1});
  body.graph->mutable_output(0)->set_name("one");
  expectReason("its condition must be a bool");
  EXPECT_TRUE(report.isInvalidModel());
}

TEST_F(LoopTest, WhatAStepHandsOnAsItIsIsNotCarried) {
  loop("m", "");
  graph.input("m", {}, onnx::TensorProto::INT64);
  body.node("Identity", {"v"}, {"same"});
  body.graph->mutable_output(1)->set_name("same");
  given(1, ints({}, {2}));
  expectBoth({1, 2}, {2, 4, 3, 5});
  module->walk([&](graph::LoopOp op) { EXPECT_TRUE(op.getInit().empty()); });
}

TEST_F(LoopTest, ManyStepsAreOneOp) {
  count(20000);
  loop("m", "");
  body.graph->mutable_output(1)->set_name("v");
  body.graph->mutable_output(2)->set_name("step");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].shape, (llvm::SmallVector<int64_t>{20000}));
  EXPECT_EQ(found[1].number(19999), 19999);
  EXPECT_EQ(ImportTest::count("graph.loop"), 1);
}

/// As `loop` with three steps and nothing collected, while the sum of v is
/// below 12.
class LoopUntilTest : public LoopTest {
protected:
  void build(Tensor start, const std::string &flag = "") {
    count(3);
    onnx::NodeProto *made = loop("m", flag);
    made->mutable_output()->RemoveLast();
    graph.graph->mutable_output()->RemoveLast();
    body.graph->mutable_output()->RemoveLast();
    body.graph->mutable_output(0)->set_name("small");
    body.floats("end", {}, {12});
    addInt(body.node("ReduceSum", {"next"}, {"sum"}), "keepdims", 0);
    body.node("Less", {"sum", "end"}, {"small"});
    given(0, start);
  }
};

TEST_F(LoopUntilTest, StepsBehindTheEndAreSkipped) {
  build(floats({2}, {1, 2}));
  expect({5, 9});
  EXPECT_EQ(ImportTest::count("graph.if"), 2) << "the first is always run";
}

TEST_F(LoopUntilTest, AllStepsAreRunWhereItHolds) {
  build(floats({2}, {-1, -2}));
  expect({-4, -12});
}

TEST_F(LoopUntilTest, AFlagOfTheRunMayAllowNoStep) {
  build(floats({2}, {1, 2}), "flag");
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  given(1, ints({}, {0}, 1));
  expect({1, 2});
  EXPECT_EQ(ImportTest::count("graph.if"), 3);
}

TEST_F(LoopTest, TheLastStepIsNotAsked) {
  count(1);
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  loop("m", "");
  body.graph->mutable_output(0)->set_name("flag");
  EXPECT_TRUE(run()) << report.str();
}

TEST_F(LoopTest, TooManyStepsAreRefused) {
  count(INT64_MAX);
  loop("m", "");
  expectReason("the model's loops and sequences come to more than 16384 "
               "nodes; export one step");
}

TEST_F(LoopTest, EmptyBodiesHaveABoundToo) {
  loop("", "");
  body.graph->clear_node();
  body.graph->clear_output();
  for (const char *output : {"on", "v", "v"})
    body.output(output);
  expectReason("come to more than 16384 nodes");
}

TEST_F(LoopTest, LoopsShareTheBound) {
  count(200);
  onnx::NodeProto *made = loop("m", "");
  GraphBuilder at = body;
  for (int depth = 0; depth < 8; ++depth) {
    onnx::NodeProto copy = *made;
    at.graph->clear_node();
    *at.graph->add_node() = copy;
    GraphBuilder inner(
        at.graph->mutable_node(0)->mutable_attribute(0)->mutable_g());
    at.graph->mutable_node(0)->set_input(2, "v");
    at.graph->mutable_node(0)->set_output(0, "next");
    at.graph->mutable_node(0)->set_output(1, "");
    at.node("Identity", {"on"}, {"still"});
    at = inner;
  }
  expectReason("come to more than 16384 nodes");
}

TEST_F(LoopTest, CallsInStepsCount) {
  count(100);
  import("my", 1);
  onnx::FunctionProto *function = model.add_functions();
  function->set_domain("my");
  function->set_name("Many");
  function->add_input("a");
  function->add_output("r199");
  *function->mutable_opset_import() = model.opset_import();
  for (int i = 0; i < 200; ++i)
    GraphBuilder::fill(function->add_node(), "Neg",
                       {i ? "r" + std::to_string(i - 1) : "a"},
                       {"r" + std::to_string(i)});
  loop("m", "");
  body.node("Many", {"next"}, {"called"}, "my");
  body.graph->mutable_output(1)->set_name("called");
  expectReason("(my.Many, opset 1): the model's loops and sequences come to "
               "more than 16384 nodes");
}

TEST_F(LoopTest, WeightsOfABodyAreStoredOnce) {
  count(3);
  loop("m", "");
  body.floats("large", {2, 100}, std::vector<float>(200, 1));
  body.node("Add", {"large", "large"}, {"sum"});
  body.node("ReduceSum", {"sum"}, {"total"});
  body.graph->mutable_output(2)->set_name("total");
  ASSERT_TRUE(run()) << report.str();
  std::set<std::string> names;
  module->walk([&](graph::WeightOp op) { names.insert(op.getName().str()); });
  EXPECT_EQ(ImportTest::count("graph.weight"), 3);
  EXPECT_EQ(names.size(), 1u);
}

TEST_F(LoopTest, AProblemOfABodyIsReportedOnce) {
  count(3);
  loop("m", "");
  addInt(body.node("Flatten", {"next"}, {"flat"}), "axis", 9);
  body.graph->mutable_output(2)->set_name("flat");
  EXPECT_FALSE(run());
  ASSERT_EQ(report.issues.size(), 1u) << report.str();
  EXPECT_EQ(report.issues[0].op, "Flatten");
}

TEST_F(LoopTest, BodiesOfOtherInputsOrOutputsAreInvalid) {
  count(3);
  loop("m", "");
  setType(body.graph->add_input(), "w", {2}, onnx::TensorProto::FLOAT);
  expectReason("has a body of 4 inputs where the operator gives 3");
  EXPECT_TRUE(report.isInvalidModel());
  report = {};
  body.graph->mutable_input()->RemoveLast();
  body.graph->mutable_output()->RemoveLast();
  expectReason("its body has 2 outputs, which is less than");
}

} // namespace
} // namespace tenon
