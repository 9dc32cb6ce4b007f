//===- OnnxNormalizeTest.cpp - Normalizations -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

using OnnxNormalizeTest = OperatorTest;

TEST_F(OnnxNormalizeTest, LayerNormGivesItsStatistics) {
  auto *norm = node(
      "LayerNormalization",
      {floats({1, 2}, {1, 5}), floats({2}, {10, 1}), floats({2}, {0, 7})}, 3);
  addFloat(norm, "epsilon", 0);
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {-10, 8});
  expectNear(found[1], {3});
  expectNear(found[2], {0.5});
}

TEST_F(OnnxNormalizeTest, RmsNormIsKnownByItsOldNameToo) {
  addFloat(node("SimplifiedLayerNormalization",
                {floats({1, 2}, {3, 3}), floats({2}, {1, 2})}),
           "epsilon", 0);
  expect({1, 2});
}

TEST_F(OnnxNormalizeTest, SkipNormGivesTheSum) {
  GraphBuilder::fill(node("SkipSimplifiedLayerNormalization",
                          {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {2, 1}),
                           floats({2}, {1, 2})},
                          1, "com.microsoft"),
                     "SkipSimplifiedLayerNormalization", {}, {"", "", "sum"},
                     "com.microsoft");
  graph.output("sum");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, 2});
  expectNear(found[1], {3, 3});
}

TEST_F(OnnxNormalizeTest, BatchNormUsesWhatWasLearned) {
  setOpset(7);
  auto *norm =
      node("BatchNormalization",
           {floats({1, 2, 1}, {3, 10}), floats({2}, {2, 1}),
            floats({2}, {0, 5}), floats({2}, {1, 0}), floats({2}, {4, 25})});
  addFloat(norm, "epsilon", 0);
  expect({2, 7});
}

TEST_F(OnnxNormalizeTest, BatchNormForTrainingIsRefused) {
  auto *norm = node("BatchNormalization",
                    {floats({1, 1}, {3}), floats({1}, {2}), floats({1}, {0}),
                     floats({1}, {1}), floats({1}, {4})});
  addInt(norm, "training_mode", 1);
  expectReason("training mode");
}

TEST_F(OnnxNormalizeTest, GroupNormScalesByGroupBeforeOpset21) {
  setOpset(18);
  auto *norm =
      node("GroupNormalization", {floats({1, 4, 1}, {1, 3, 10, 30}),
                                  floats({2}, {1, 100}), floats({2}, {0, 0})});
  addInt(norm, "num_groups", 2);
  addFloat(norm, "epsilon", 0);
  expect({-1, 1, -100, 100});
}

TEST_F(OnnxNormalizeTest, GroupNormScalesByChannelFromOpset21On) {
  setOpset(21);
  auto *norm = node("GroupNormalization",
                    {floats({1, 4, 1}, {1, 3, 10, 30}),
                     floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 0, 0})});
  addInt(norm, "num_groups", 2);
  addFloat(norm, "epsilon", 0);
  expect({-1, 2, -3, 4});
}

TEST_F(OnnxNormalizeTest, GroupsThatDoNotDivideAreRefused) {
  setOpset(21);
  addInt(node("GroupNormalization",
              {floats({1, 4, 1}, {1, 3, 10, 30}), floats({4}, {1, 2, 3, 4}),
               floats({4}, {0, 0, 0, 0})}),
         "num_groups", 3);
  expectReason("groups must divide the channels");
}

TEST_F(OnnxNormalizeTest, LpNormOfZerosIsZero) {
  node("LpNormalization", {floats({2, 2}, {3, 4, 0, 0})});
  expect({0.6, 0.8, 0, 0});
}

/// Of the channels 1, 2 and 3, each over the sum of the squares of so many.
class LrnTest : public OnnxNormalizeTest {
protected:
  void divideBySquares(int64_t size) {
    auto *norm = node("LRN", {floats({1, 3, 1}, {1, 2, 3})});
    addInt(norm, "size", size);
    addFloat(norm, "alpha", float(size));
    addFloat(norm, "beta", 1);
    addFloat(norm, "bias", 0);
  }
};

TEST_F(LrnTest, SumsOverNeighbouringChannels) {
  divideBySquares(2);
  // A window of two begins at its channel.
  expect({1.0 / 5, 2.0 / 13, 3.0 / 9});
}

TEST_F(LrnTest, MaySumOverAllChannels) {
  divideBySquares(11);
  expect({1.0 / 14, 2.0 / 14, 3.0 / 14});
}

} // namespace
} // namespace tenon
