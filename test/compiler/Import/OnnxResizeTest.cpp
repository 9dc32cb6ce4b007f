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

TEST_F(OnnxResizeTest, AnythingElseIsComputedAtRunTime) {
  scaleBy(1.2345f);
  expectText("graph.bind");
}

/// f32's third is a bit more than a third: 1 and 2 of its steps are 3 and 6 in
/// f32 alone.
TEST_F(OnnxResizeTest, TheNearestLiesWhereF32Says) {
  auto *resize = node(
      "Resize",
      {floats({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), {}, floats({1}, {1.0f / 3})});
  addText(resize, "coordinate_transformation_mode", "asymmetric");
  addText(resize, "nearest_mode", "floor");
  expect({0, 3, 6});
}

TEST_F(OnnxResizeTest, AQuotientOfSizesIsAScale) {
  graph.input("x", {1, 1, "n"});
  graph.node("Shape", {"x"}, {"shape"});
  addInt(graph.node("Cast", {"shape"}, {"sizes"}), "to",
         onnx::TensorProto::FLOAT);
  graph.floats("wanted", {3}, {1, 1, 4});
  graph.node("Div", {"wanted", "sizes"}, {"scales"});
  addText(graph.node("Resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
  graph.output("y");
  given(0, floats({1, 1, 2}, {1, 3}));
  expect({1, 1.5, 2.5, 3});
}

TEST_F(OnnxResizeTest, ANegativeScaleFailsAtRunTime) {
  node("Resize", {floats({2}, {1, 2}), {}, floats({1}, {-1})});
  ASSERT_TRUE(run()) << report.str();
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto values = reference::evaluateFunction(
      function, {floats({2}, {1, 2}), floats({1}, {-1})});
  ASSERT_FALSE(values);
  EXPECT_NE(llvm::toString(values.takeError()).find("outside 0 .."),
            std::string::npos);
}

TEST_F(OnnxResizeTest, TheAspectOfVariableSizesIsKept) {
  graph.input("x", {1, 1, "h", "w"});
  graph.ints("sizes", {7, 8});
  auto *resize = graph.node("Resize", {"x", "", "", "sizes"}, {"y"});
  addInts(resize, "axes", {2, 3});
  addText(resize, "keep_aspect_ratio_policy", "not_larger");
  graph.output("y");
  given(0, floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
  expect({1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4,
          5, 5, 6, 6, 7, 7, 8, 8, 5, 5, 6, 6, 7, 7, 8, 8});
}

/// One axis shrinks, and takes the pixel above; the other grows.
TEST_F(OnnxResizeTest, UpsampleRoundsByEachScale) {
  setOpset(9);
  node("Upsample", {floats({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
                    floats({2}, {0.4f, 1.5f})});
  expect({1, 1, 2, 7, 7, 8});
}

/// Scales and crops that a run gives do what known ones do.
struct ResizeCase {
  const char *mode, *coordinates, *nearest;
  bool antialias, excludeOutside;
};

class OpenResizeTest : public OperatorTest,
                       public testing::WithParamInterface<ResizeCase> {
protected:
  void resize(const std::string &roi, const std::string &scales,
              const std::string &result) {
    const ResizeCase &the = GetParam();
    auto *resize = graph.node("Resize", {"x", roi, scales}, {result});
    addText(resize, "mode", the.mode);
    addText(resize, "coordinate_transformation_mode", the.coordinates);
    addText(resize, "nearest_mode", the.nearest);
    addInt(resize, "antialias", the.antialias);
    addInt(resize, "exclude_outside", the.excludeOutside);
    addFloat(resize, "extrapolation_value", 5);
  }
};

TEST_P(OpenResizeTest, IsWhatKnownScalesGive) {
  setOpset(19);
  const std::vector<float> scales = {1, 0.6f, 2.7f},
                           roi = {0, -0.1f, 0.2f, 1, 0.8f, 1.1f};
  Numbers x, zeros;
  for (int i = 0; i < 2 * 7 * 5; ++i)
    x.push_back((i * 37 % 41) * 0.1);
  graph.input("x", {2, 7, 5});
  graph.input("scales", {3});
  graph.input("roi", {6});
  graph.floats("known_scales", {3}, scales);
  graph.floats("known_roi", {6}, roi);
  resize("roi", "scales", "a");
  resize("known_roi", "known_scales", "b");
  graph.node("Sub", {"a", "b"}, {"y"});
  graph.output("y");
  given(0, floats({2, 7, 5}, x));
  given(1, floats({3}, Numbers(scales.begin(), scales.end())));
  given(2, floats({6}, Numbers(roi.begin(), roi.end())));
  auto found = results();
  ASSERT_FALSE(found.empty());
  ASSERT_GT(found[0].count(), 0);
  expectNear(found[0], Numbers(found[0].count(), 0));
}

INSTANTIATE_TEST_SUITE_P(
    All, OpenResizeTest,
    testing::Values(
        ResizeCase{"nearest", "half_pixel", "round_prefer_floor", false, false},
        ResizeCase{"nearest", "half_pixel_symmetric", "round_prefer_ceil",
                   false, false},
        ResizeCase{"nearest", "asymmetric", "floor", false, false},
        ResizeCase{"nearest", "align_corners", "ceil", false, false},
        ResizeCase{"nearest", "tf_crop_and_resize", "floor", false, false},
        ResizeCase{"linear", "half_pixel", "floor", false, false},
        ResizeCase{"linear", "pytorch_half_pixel", "floor", false, false},
        ResizeCase{"linear", "align_corners", "floor", false, false},
        ResizeCase{"linear", "half_pixel", "floor", true, false},
        ResizeCase{"linear", "tf_crop_and_resize", "floor", false, false},
        ResizeCase{"cubic", "half_pixel", "floor", false, false},
        ResizeCase{"cubic", "asymmetric", "floor", false, true},
        ResizeCase{"cubic", "half_pixel_symmetric", "floor", true, true},
        ResizeCase{"cubic", "tf_crop_and_resize", "floor", false, true}));

/// A run's size decides of how many elements a place is made.
TEST_F(OnnxResizeTest, AntialiasingTakesSizesOfARun) {
  graph.input("x", {2, "h", "w"});
  graph.input("known", {2, 9, 7});
  graph.ints("sizes", {2, 4, 3});
  for (auto [from, to] : {std::pair("x", "a"), std::pair("known", "b")}) {
    auto *resize = graph.node("Resize", {from, "", "", "sizes"}, {to});
    addText(resize, "mode", "cubic");
    addInt(resize, "antialias", 1);
  }
  graph.node("Sub", {"a", "b"}, {"y"});
  graph.output("a");
  graph.output("y");
  Numbers x;
  for (int i = 0; i < 2 * 9 * 7; ++i)
    x.push_back((i * 37 % 41) * 0.1);
  given(0, floats({2, 9, 7}, x));
  given(1, floats({2, 9, 7}, x));
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].floats()[0], 0);
  expectNear(found[1], Numbers(2 * 4 * 3, 0));
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
