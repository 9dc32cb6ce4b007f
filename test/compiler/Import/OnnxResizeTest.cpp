//===- OnnxResizeTest.cpp - Resize and Upsample ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxResizeTest : public OperatorTest {
protected:
  /// Resizes [1, 1, n] by a scale of its last axis.
  void scaleBy(float scale) {
    graph.input("x", {1, 1, "n"});
    graph.floats("scales", {3}, {1, 1, scale});
    graph.node("Resize", {"x", "", "scales"}, {"y"});
    graph.output("y");
  }
};

TEST_F(OnnxResizeTest, UpsampleRepeats) {
  setOpset(7);
  addFloats(node("Upsample", {floats({1, 1, 2}, {1, 2})}), "scales", {1, 1, 2});
  expect({1, 1, 2, 2});
}

TEST_F(OnnxResizeTest, SizesMayComeAtRunTime) {
  auto *resize =
      node("Resize", {floats({1, 1, 2}, {1, 3}), {}, {}, ints({3}, {1, 1, 4})});
  addText(resize, "mode", "linear");
  expect({1, 1.5, 2.5, 3});
}

TEST_F(OnnxResizeTest, AVariableSizeIsScaledByARatio) {
  scaleBy(1.6f);
  expectText("floordiv(8 * n, 5)");
}

TEST_F(OnnxResizeTest, AVariableSizeIsNotScaledByAnythingElse) {
  scaleBy(1.2345f);
  expectReason("scales an axis of variable size");
}

TEST_F(OnnxResizeTest, AScaleOfZeroIsRefused) {
  scaleBy(0);
  expectReason("scales must be positive");
}

TEST_F(OnnxResizeTest, AnUnknownModeIsRefused) {
  addText(
      node("Resize", {floats({1, 1, 2}, {1, 3}), {}, {}, ints({3}, {1, 1, 4})}),
      "mode", "spline");
  expectReason("mode must be nearest, linear or cubic");
}

} // namespace
} // namespace tenon
