//===- ShapesTest.cpp - Shapes that the model computes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

class ShapesTest : public ImportTest {
protected:
  ShapesTest() { graph.output("y"); }
};

TEST_F(ShapesTest, ReshapeToComputedSizesIsSymbolic) {
  // [B, S, 64] to [B, S, 4, -1] by way of Shape, Gather and Concat.
  graph.input("x", {"batch", "seq", 64});
  graph.ints("first", {0, 1});
  graph.ints("heads", {4, -1});
  graph.node("Shape", {"x"}, {"s"});
  graph.node("Gather", {"s", "first"}, {"outer"});
  addInt(graph.node("Concat", {"outer", "heads"}, {"target"}), "axis", 0);
  graph.node("Reshape", {"x", "target"}, {"y"});
  expectText("#graph.dims<batch, seq, 4, 16>");
  EXPECT_EQ(count("graph.bind"), 0);
  EXPECT_EQ(count("graph.require"), 0);
}

TEST_F(ShapesTest, ReshapeToSizesOfTheRun) {
  graph.input("x", {6});
  graph.input("shape", {2}, onnx::TensorProto::INT64);
  graph.node("Reshape", {"x", "shape"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.bind"), 1);
  EXPECT_EQ(count("graph.require"), 1);
}

TEST_F(ShapesTest, OneValueIsBoundOnce) {
  graph.input("n", {1}, onnx::TensorProto::INT64);
  graph.node("ConstantOfShape", {"n"}, {"a"});
  graph.node("ConstantOfShape", {"n"}, {"b"});
  graph.node("Add", {"a", "b"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.bind"), 1);
  EXPECT_EQ(count("graph.require"), 0);
}

TEST_F(ShapesTest, ListsMayBeKnownInPart) {
  // Pads of [n, 8, 5] as TorchScript makes them: pairs from the last axis to
  // the first, of which one number is known when the model runs.
  graph.input("x", {"n", 8, 5});
  graph.input("extra", {1}, onnx::TensorProto::INT64);
  graph.ints("low", {2});
  graph.ints("zeros", {0, 0, 0, 0});
  graph.ints("pairs", {3, 2});
  graph.ints("from", {-1});
  graph.ints("to", {-4});
  graph.ints("axis", {0});
  graph.ints("step", {-1});
  graph.ints("flat", {-1});
  addInt(graph.node("Concat", {"low", "extra", "zeros"}, {"list"}), "axis", 0);
  graph.node("Reshape", {"list", "pairs"}, {"table"});
  graph.node("Slice", {"table", "from", "to", "axis", "step"}, {"turned"});
  onnx::AttributeProto *order =
      graph.node("Transpose", {"turned"}, {"sides"})->add_attribute();
  order->set_name("perm");
  order->set_type(onnx::AttributeProto::INTS);
  for (int64_t axis : {1, 0})
    order->add_ints(axis);
  graph.node("Reshape", {"sides", "flat"}, {"pads"});
  graph.node("Pad", {"x", "pads"}, {"y"});
  expectText("low = #graph.dims<0, 0, 2>");
  EXPECT_TRUE(llvm::StringRef(text()).contains("#graph.dims<n, 8, "));
}

TEST_F(ShapesTest, NumbersOfTheRunReachTheirWholeList) {
  // Each pad is multiplied by a number of the run; that it is 0 for a pad of 0
  // is not for sizes to see.
  graph.input("x", {"n", 8});
  graph.input("factor", {1}, onnx::TensorProto::INT64);
  graph.ints("sides", {0, 1, 0, 2});
  graph.node("Mul", {"sides", "factor"}, {"pads"});
  graph.node("Pad", {"x", "pads"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.bind"), 2);
  EXPECT_FALSE(llvm::StringRef(text()).contains("low = #graph.dims<0"));
}

TEST_F(ShapesTest, SumsThatAllEndKnownNeedNoBinding) {
  // The number of the run is sliced away again.
  graph.input("x", {"n", 8});
  graph.input("extra", {1}, onnx::TensorProto::INT64);
  graph.ints("sides", {0, 1, 0, 2});
  graph.ints("from", {0});
  graph.ints("to", {4});
  addInt(graph.node("Concat", {"sides", "extra"}, {"list"}), "axis", 0);
  graph.node("Slice", {"list", "from", "to"}, {"pads"});
  graph.node("Pad", {"x", "pads"}, {"y"});
  expectText("low = #graph.dims<0, 1>");
}

/// y with as many rows as two thirds of those of x, computed in floats.
void twoThirdsOfRows(GraphBuilder &graph) {
  graph.ints("first", {0});
  graph.floats("third", {1}, {1.5f});
  graph.node("Shape", {"x"}, {"s"});
  graph.node("Gather", {"s", "first"}, {"rows"});
  addInt(graph.node("Cast", {"rows"}, {"real"}), "to",
         onnx::TensorProto::FLOAT);
  graph.node("Div", {"real", "third"}, {"part"});
  graph.node("Ceil", {"part"}, {"up"});
  addInt(graph.node("Cast", {"up"}, {"size"}), "to", onnx::TensorProto::INT64);
  graph.node("ConstantOfShape", {"size"}, {"y"});
}

TEST_F(ShapesTest, SizesInFloatsAreComputed) {
  graph.input("x", {10});
  twoThirdsOfRows(graph);
  expectText("tensor<7xf32>");
  EXPECT_EQ(count("graph.bind"), 0);
}

TEST_F(ShapesTest, OpenSizesInFloatsAreBound) {
  graph.input("x", {"n"});
  twoThirdsOfRows(graph);
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.bind"), 1);
}

TEST_F(ShapesTest, SliceOfASumOfSizesIsExact) {
  // mask[past : past + seq] has seq elements, without a clamp.
  graph.input("x", {"seq"});
  graph.input("z", {"past"});
  graph.input("mask", {"past + seq"});
  graph.ints("axis", {0});
  graph.node("Shape", {"z"}, {"start"});
  graph.node("Shape", {"mask"}, {"end"});
  graph.node("Slice", {"mask", "start", "end", "axis"}, {"part"});
  graph.node("Add", {"part", "x"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.require"), 0);
}

TEST_F(ShapesTest, SliceOfTheRunIsBound) {
  graph.input("x", {8});
  graph.input("start", {1}, onnx::TensorProto::INT64);
  graph.input("end", {1}, onnx::TensorProto::INT64);
  graph.node("Slice", {"x", "start", "end"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_GE(count("graph.bind"), 2);
  EXPECT_EQ(count("graph.slice"), 1);
}

TEST_F(ShapesTest, SplitIntoUnequalPartsIsRequiredToFit) {
  graph.input("x", {"n"});
  graph.ints("parts", {2, 3});
  graph.node("Split", {"x", "parts"}, {"y", "rest"});
  std::string all = text();
  EXPECT_TRUE(llvm::StringRef(all).contains(
      "the parts of a split must add up to the axis"))
      << all;
}

TEST_F(ShapesTest, ShortRangesAreSizes) {
  graph.input("x", {"a", 2, 3});
  graph.node("Constant", {}, {"one"});
  addInt(graph.graph->mutable_node(0), "value_int", 1);
  graph.node("Constant", {}, {"rank"});
  addInt(graph.graph->mutable_node(1), "value_int", 3);
  graph.node("Range", {"one", "rank", "one"}, {"axes"});
  graph.node("Squeeze", {"x", "axes"}, {"z"});
  graph.node("Relu", {"z"}, {"y"});
  expectReason("the size of a squeezed axis must be 1");
}

TEST_F(ShapesTest, RangesOfFloatsAreAsLongAsSizes) {
  graph.input("x", {"n"});
  graph.node("Shape", {"x"}, {"shape"});
  graph.node("Squeeze", {"shape"}, {"size"});
  addInt(graph.node("Cast", {"size"}, {"limit"}), "to",
         onnx::TensorProto::FLOAT);
  graph.floats("zero", {}, {0});
  graph.floats("half", {}, {0.5f});
  graph.floats("one", {}, {1});
  graph.node("Range", {"zero", "limit", "one"}, {"y"});
  graph.node("Range", {"half", "limit", "one"}, {"between"});
  graph.output("between");
  std::string all = text();
  for (const char *part : {"-> (tensor<?xf32, #graph.dims<n>>",
                           "tensor<?xf32, #graph.dims<value>>",
                           "sizes = #graph.dims<n, 16777216>"})
    EXPECT_TRUE(llvm::StringRef(all).contains(part)) << part << all;
}

TEST_F(ShapesTest, AxesThatCannotBeOneAreNotSqueezed) {
  graph.input("x", {1, "n", 3});
  graph.ints("pads", {0, 1, 0, 0, 1, 0});
  graph.node("Pad", {"x", "pads"}, {"p"});
  graph.node("Squeeze", {"p"}, {"y"});
  expectText("#graph.dims<n + 2, 3>");
}

TEST_F(ShapesTest, AxesThatMayBeOneAreNamed) {
  graph.input("x", {1, "n", 3});
  graph.node("Squeeze", {"x"}, {"y"});
  expectReason("the size of axis 1 is not known before the run; name the axes "
               "to remove, or fix that size with --dim NAME=N");
}

TEST_F(ShapesTest, AnAxisMayBeANumber) {
  graph.input("x", {"n", 3});
  graph.input("axis", {}, onnx::TensorProto::INT64);
  graph.ints("zero", {0});
  graph.node("Squeeze", {"zero"}, {"axes"});
  graph.node("Unsqueeze", {"x", "axes"}, {"y"});
  expectText("#graph.dims<1, n, 3>");
}

/// Stage after stage halves the size, whatever the borders are that it takes.
TEST_F(ShapesTest, SizesOfSameWindowsAreNotNested) {
  graph.input("x", {1, 1, "h", 8});
  std::string from = "x";
  for (std::string to : {"a", "b", "c", "d", "e", "y"}) {
    auto *pool = graph.node("MaxPool", {from}, {to});
    auto add = [&](const char *name, onnx::AttributeProto::AttributeType type) {
      onnx::AttributeProto *attribute = addAttribute(pool, name);
      attribute->set_type(type);
      return attribute;
    };
    auto *kernel = add("kernel_shape", onnx::AttributeProto::INTS);
    auto *strides = add("strides", onnx::AttributeProto::INTS);
    for (int axis = 0; axis < 2; ++axis) {
      kernel->add_ints(3);
      strides->add_ints(2);
    }
    add("auto_pad", onnx::AttributeProto::STRING)->set_s("SAME_UPPER");
    from = to;
  }
  expectText("#graph.dims<1, 1, floordiv(h + 63, 64), 1>");
}

TEST_F(ShapesTest, CountsOfTheDataAreBound) {
  graph.input("x", {"n"});
  graph.node("NonZero", {"x"}, {"y"});
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.bind"), 1);
  EXPECT_EQ(count("graph.nonzero"), 1);
}

/// An expression holds 48 terms: the halves of 91 sizes have names.
TEST_F(ShapesTest, SumsOfManySizesAreNamed) {
  Names names;
  for (int i = 0; i < 91; ++i) {
    names.push_back("x" + std::to_string(i));
    std::string size = "n" + std::to_string(i);
    graph.input(names.back(), {size.c_str(), 4});
  }
  addInt(graph.node("Concat", names, {"y"}), "axis", 0);
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.concat"), 3);
  EXPECT_EQ(count("graph.bind"), 2);
}

TEST_F(ShapesTest, TensorsThatNoMachineHoldsAreRefused) {
  graph.ints("shape", {1 << 30, 1 << 30});
  graph.node("ConstantOfShape", {"shape"}, {"y"});
  expectReason("makes a tensor of more than 1024 GiB");
}

} // namespace
} // namespace tenon
