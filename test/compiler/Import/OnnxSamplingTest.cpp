//===- OnnxSamplingTest.cpp - Grids, GridSample and DeformConv ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers expected are those of ONNX Runtime.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxSamplingTest : public OperatorTest {
protected:
  OnnxSamplingTest() { setOpset(20); }

  /// An image of 2 x 3 pixels at a corner, between pixels, at an edge and far
  /// outside.
  onnx::NodeProto *sample(const std::string &mode, const std::string &outside,
                          int64_t alignCorners = 0) {
    auto *made =
        node("GridSample",
             {floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
              floats({1, 1, 4, 2}, {-1, -1, 0.5, 0, 1.2, 0.25, -3, 1})});
    addText(made, "mode", mode);
    addText(made, "padding_mode", outside);
    addInt(made, "align_corners", alignCorners);
    return made;
  }

  /// Four windows of an image of 3 x 3 pixels.
  onnx::NodeProto *deform(std::vector<int64_t> offsetShape = {1, 8, 2, 2}) {
    Numbers offsets(32, 0);
    offsets[0] = 0.5; // Down, of the first tap of the first window.
    offsets[23] = -1; // To the left, of the third tap of the last one.
    return node("DeformConv",
                {floats({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
                 floats({1, 1, 2, 2}, {1, 2, 3, 4}),
                 floats(offsetShape, offsets), floats({1}, {10}),
                 floats({1, 4, 2, 2}, Numbers(16, 0.5))});
  }
};

TEST_F(OnnxSamplingTest, OutsideMayBeZero) {
  sample("linear", "zeros");
  expect({0.25, 4.25, 1.05, 0});
}

TEST_F(OnnxSamplingTest, OutsideMayBeTheEdge) {
  sample("linear", "border", 1);
  expect({1, 4, 4.875, 4});
}

TEST_F(OnnxSamplingTest, OutsideMayBeAMirror) {
  sample("linear", "reflection");
  expect({1, 4.25, 5.25, 6});
}

TEST_F(OnnxSamplingTest, TheNearestPixelIsEvenBetweenTwo) {
  sample("nearest", "zeros");
  expect({1, 3, 0, 0});
}

TEST_F(OnnxSamplingTest, ACubicGoesOnOutside) {
  sample("cubic", "border");
  expect({0.625, 4.308594, 5.344312, 4.28125});
}

TEST_F(OnnxSamplingTest, ACubicMayEndInZeros) {
  sample("cubic", "zeros", 1);
  expect({1, 5.362304, 4.872199, 0});
}

TEST_F(OnnxSamplingTest, ModesHadOtherNames) {
  setOpset(16);
  sample("bilinear", "zeros");
  expect({0.25, 4.25, 1.05, 0});
}

TEST_F(OnnxSamplingTest, AModeThatIsNotKnownIsRefused) {
  sample("area", "zeros");
  expectReason("mode must be nearest, linear or cubic, not 'area'");
}

TEST_F(OnnxSamplingTest, ABorderThatIsNotKnownIsRefused) {
  sample("linear", "wrap");
  expectReason("padding_mode must be zeros, border or reflection, not 'wrap'");
}

TEST_F(OnnxSamplingTest, AGridHasANumberPerAxis) {
  node("GridSample",
       {floats({1, 1, 1, 2}, {1, 2}), floats({1, 1, 1, 3}, {0, 0, 0})});
  expectReason("the grid must have one number per axis of the image");
}

TEST_F(OnnxSamplingTest, ImagesHaveThreeAxesAtMost) {
  node("GridSample", {floats({1, 1, 1, 1, 1, 1}, {1}),
                      floats({1, 1, 1, 1, 1, 4}, {0, 0, 0, 0})});
  expectReason("images of 4 axes are not sampled; use images of 1 to 3 axes");
}

TEST_F(OnnxSamplingTest, TapsMoveByOffsets) {
  deform();
  expect({24.25, 28.5, 38.5, 42});
}

TEST_F(OnnxSamplingTest, EachTapHasAnOffset) {
  deform({1, 4, 4, 2});
  expectReason("the offset must have its numbers for each tap (4 and 8)");
}

TEST_F(OnnxSamplingTest, OffsetGroupsDivideTheChannels) {
  addInt(deform(), "offset_group", 2);
  expectReason("group and offset_group must divide the channels");
}

TEST_F(OnnxSamplingTest, AGridEndsAtEdgesOrMiddlesOfPixels) {
  auto *grid = node("AffineGrid", {floats({1, 2, 3}, {1, 0, 5, 0, 10, 0}),
                                   ints({4}, {1, 7, 1, 2})});
  expect({4.5, 0, 5.5, 0});
  addInt(grid, "align_corners", 1);
  expect({4, 0, 6, 0}); // One pixel by itself is in the middle.
}

TEST_F(OnnxSamplingTest, AGridMayHaveThreeAxes) {
  node("AffineGrid", {floats({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0}),
                      ints({5}, {1, 1, 2, 1, 2})});
  expect({-0.5, 0, -0.5, -0.5, 0, 0.5, 0.5, 0, -0.5, 0.5, 0, 0.5});
}

TEST_F(OnnxSamplingTest, AGridHasAMatrixForEachImage) {
  graph.ints("size", {2, 7, 1, 2});
  node("AffineGrid", {floats({1, 2, 3}, {1, 0, 5, 0, 10, 0})})
      ->add_input("size");
  expectReason("theta must fit the other operands (1 and 2)");
}

} // namespace
} // namespace tenon
