//===- OnnxReductionTest.cpp - Along axes, in old versions too ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

#include <cmath>

namespace tenon {
namespace {

class OnnxReductionTest : public OperatorTest {
protected:
  Tensor cube() { return floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}); }
};

TEST_F(OnnxReductionTest, SoftmaxFlattensBeforeOpset13) {
  // All axes from 1 on are one: each row sums to 1 over four elements.
  setOpset(11);
  addInt(node("Softmax", {floats({2, 2, 2}, Numbers(8, 3))}), "axis", 1);
  expect(Numbers(8, 0.25));
}

TEST_F(OnnxReductionTest, SoftmaxIsAlongOneAxisFromOpset13On) {
  addInt(node("Softmax", {floats({2, 2, 2}, Numbers(8, 3))}), "axis", 1);
  expect(Numbers(8, 0.5));
}

TEST_F(OnnxReductionTest, HardmaxPicksTheFirstLargest) {
  node("Hardmax", {floats({2, 3}, {1, 3, 3, 2, 0, 1})});
  expect({0, 1, 0, 1, 0, 0});
}

TEST_F(OnnxReductionTest, AxesAreAnAttributeBeforeOpset13) {
  setOpset(7);
  auto *sum = node("ReduceSum", {cube()});
  addInts(sum, "axes", {0, 2});
  addInt(sum, "keepdims", 0);
  expect({14, 22});
}

TEST_F(OnnxReductionTest, AxesMayComeAtRunTime) {
  auto *sum = node("ReduceSum", {cube(), ints({2}, {-1, 0})});
  addInt(sum, "keepdims", 0);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({2}));
  expectNear(found[0], {14, 22});
}

TEST_F(OnnxReductionTest, AxesThatComeAtRunTimeMayStay) {
  setOpset(18);
  node("ReduceL2", {floats({2, 2}, {3, 4, 6, 8}), ints({1}, {1})});
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({2, 1}));
  expectNear(found[0], {5, 10});
}

TEST_F(OnnxReductionTest, NoAxesMayMeanNone) {
  setOpset(18);
  addInt(node("ReduceSumSquare", {floats({2}, {2, 3})}), "noop_with_empty_axes",
         1);
  expect({4, 9});
}

TEST_F(OnnxReductionTest, LogSumExpStandsInfinities) {
  setOpset(18);
  double infinity = std::numeric_limits<double>::infinity();
  node("ReduceLogSumExp", {floats({2}, {-infinity, -infinity})});
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].number(0), -infinity);
}

TEST_F(OnnxReductionTest, ARepeatedAxisIsRefused) {
  setOpset(11);
  addInts(node("ReduceSum", {cube()}), "axes", {1, -2});
  EXPECT_FALSE(run());
}

TEST_F(OnnxReductionTest, AnAxisOutsideIsRefused) {
  addInt(node("ArgMax", {cube()}), "axis", 3);
  EXPECT_FALSE(run());
}

TEST_F(OnnxReductionTest, ArgMaxMayTakeTheLast) {
  auto *arg = node("ArgMax", {floats({4}, {1, 5, 5, 2})});
  addInt(arg, "select_last_index", 1);
  addInt(arg, "keepdims", 0);
  expect({2});
}

TEST_F(OnnxReductionTest, TopKTakesKAtRunTime) {
  auto *top =
      node("TopK", {floats({2, 3}, {1, 9, 4, 7, 7, 0}), ints({1}, {2})}, 2);
  addInt(top, "axis", -1);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {9, 4, 7, 7});
  expectNear(found[1], {1, 2, 0, 1});
}

TEST_F(OnnxReductionTest, TopKOfMoreThanThereAreIsRefused) {
  setOpset(7);
  addInt(node("TopK", {floats({3}, {1, 2, 3})}, 2), "k", 4);
  expectReason("k must not exceed the size of the axis");
}

TEST_F(OnnxReductionTest, CumSumTakesItsAxisAtRunTime) {
  addInt(node("CumSum", {floats({2, 2}, {1, 2, 3, 4}), ints({}, {-2})}),
         "reverse", 1);
  expect({4, 6, 3, 4});
}

TEST_F(OnnxReductionTest, ABiasIsAddedBeforeTheSoftmax) {
  auto *softmax = node("BiasSoftmax",
                       {floats({1, 2, 1, 2}, {0, 0, 1, 1}),
                        floats({1, 1, 1, 2}, {0, std::log(3.0)})},
                       1, "com.microsoft");
  addInt(softmax, "is_inner_broadcast", 1);
  addInt(softmax, "axis", 3);
  expect({0.25, 0.75, 0.25, 0.75});
}

TEST_F(OnnxReductionTest, ABiasIsNotLargerThanWhatItIsAddedTo) {
  auto *softmax = node("BiasSoftmax",
                       {floats({1, 2}, {0, 0}), floats({2, 2}, {0, 0, 0, 0})},
                       1, "com.microsoft");
  addInt(softmax, "is_inner_broadcast", 0);
  expectReason("the bias must fit");
}

} // namespace
} // namespace tenon
