//===- OnnxDetectionTest.cpp - Boxes, regions and windows that overlap ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

#include <cmath>

namespace tenon {
namespace {

class OnnxDetectionTest : public OperatorTest {
protected:
  /// Three boxes, of which the first two share 4 of 14.
  Tensor boxes() {
    return floats({1, 3, 4}, {0, 0, 3, 3, 1, 1, 4, 4, 5, 5, 6, 6});
  }
  Tensor scores() { return floats({1, 2, 3}, {0.5, 0.9, 0.7, 0.3, 0.2, 0.1}); }
  void suppression(int64_t most, float overlap, float score) {
    node("NonMaxSuppression", {boxes(), scores(), ints({1}, {most}),
                               floats({1}, {overlap}), floats({1}, {score})});
  }
};

TEST_F(OnnxDetectionTest, BoxesAreListedByClassBestFirst) {
  suppression(9, 0.25f, 0);
  expect({0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2});
}

TEST_F(OnnxDetectionTest, SmallOverlapsAreAllowed) {
  suppression(9, 0.3f, 0);
  expect({0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 2});
}

TEST_F(OnnxDetectionTest, EachClassHasALimit) {
  suppression(1, 0.25f, 0);
  expect({0, 0, 1, 0, 1, 0});
}

TEST_F(OnnxDetectionTest, ScoresBelowTheThresholdAreNoCandidates) {
  suppression(9, 0.25f, 0.3f);
  expect({0, 0, 1, 0, 0, 2});
}

TEST_F(OnnxDetectionTest, NoScoreMayBeAboveTheThreshold) {
  suppression(9, 0.25f, 0.95f);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({0, 3}));
}

TEST_F(OnnxDetectionTest, ScoresThatAreNoNumbersTakeNoOthersPlace) {
  node("NonMaxSuppression",
       {boxes(), floats({1, 1, 3}, {std::nan(""), 0.9, 0.7}), ints({}, {9}),
        floats({}, {0.25}), floats({}, {0.5})});
  expect({0, 0, 1, 0, 0, 2});
}

TEST_F(OnnxDetectionTest, NoLimitMeansNoBox) {
  node("NonMaxSuppression", {boxes(), scores()});
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({0, 3}));
}

TEST_F(OnnxDetectionTest, BoxesMayBeCentreAndSize) {
  auto *nms =
      node("NonMaxSuppression",
           {floats({1, 2, 4}, {2, 2, 4, 4, 3, 2, 4, 4}),
            floats({1, 1, 2}, {0.5, 0.9}), ints({}, {5}), floats({}, {0.5})});
  addInt(nms, "center_point_box", 1);
  expect({0, 0, 1}); // 12 of 20 are shared.
}

TEST_F(OnnxDetectionTest, RegionsAreMeansOfSamples) {
  auto *align =
      node("RoiAlign", {floats({1, 1, 2, 2}, {0, 1, 2, 3}),
                        floats({1, 4}, {0, 0, 2, 2}), ints({1}, {0})});
  addInt(align, "sampling_ratio", 1);
  addInt(align, "output_height", 2);
  addInt(align, "output_width", 2);
  expect({0, 1, 2, 3});
}

TEST_F(OnnxDetectionTest, SamplesOutsideOfTheImageAreZero) {
  auto *align =
      node("RoiAlign", {floats({1, 1, 2, 2}, {4, 4, 4, 4}),
                        floats({1, 4}, {-4, 0, 4, 2}), ints({1}, {0})});
  addInt(align, "sampling_ratio", 1);
  addInt(align, "output_width", 4);
  expect({0, 0, 4, 0}); // At -3.5, -1.5, 0.5 and 2.5.
}

TEST_F(OnnxDetectionTest, SamplesThatDependOnTheRegionAreRefused) {
  node("RoiAlign", {floats({1, 1, 2, 2}, {0, 1, 2, 3}),
                    floats({1, 4}, {0, 0, 2, 2}), ints({1}, {0})});
  expectReason("sampling_ratio is 0");
}

TEST_F(OnnxDetectionTest, CellsOfRegionsShareThePixelsTheyCut) {
  auto *pool =
      node("MaxRoiPool", {floats({2, 1, 1, 3}, {0, 0, 0, 4, 9, 5}),
                          floats({2, 5}, {1, 0, 0, 2, 0, 0, 0, 0, 2, 0})});
  addInts(pool, "pooled_shape", {1, 2});
  expect({9, 9, 0, 0});
}

TEST_F(OnnxDetectionTest, CellsOutsideOfTheImageAreZero) {
  auto *pool = node("MaxRoiPool", {floats({1, 1, 2, 2}, {-1, -2, -3, -4}),
                                   floats({1, 5}, {0, 0, 0, 1.6, 0.6})});
  addInts(pool, "pooled_shape", {1, 2});
  addFloat(pool, "spatial_scale", 2);
  expect({-1, 0}); // From 0 to 3 across, and from 0 to 1 down.
}

TEST_F(OnnxDetectionTest, CellsOfRegionsNeedTwoSizes) {
  auto *pool = node("MaxRoiPool", {floats({1, 1, 2, 2}, {-1, -2, -3, -4}),
                                   floats({1, 5}, {0, 0, 0, 1, 1})});
  addInts(pool, "pooled_shape", {2, 0});
  expectReason("pooled_shape must be two sizes");
}

TEST_F(OnnxDetectionTest, WindowsThatOverlapAddUp) {
  // Two windows of two numbers, which share the middle one of three.
  setOpset(18);
  auto *sum = node("Col2Im", {floats({1, 2, 2}, {1, 2, 3, 4})});
  for (const char *name : {"image", "window"})
    sum->add_input(name);
  graph.ints("image", {1, 3});
  graph.ints("window", {1, 2});
  expect({1, 5, 4});
}

} // namespace
} // namespace tenon
