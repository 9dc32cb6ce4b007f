//===- ResizeTest.cpp - The published cases of ONNX Resize --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

/// What a case gives; the rest has the specification's defaults.
struct Case {
  std::string mode, coordinates = "half_pixel", nearest = "round_prefer_floor",
                    scales, roi;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

class ResizeTest : public EvaluateTest {
protected:
  Numbers resize(const Case &c, int64_t height, int64_t width,
                 std::vector<int64_t> size) {
    auto list = [](const std::string &numbers) {
      return numbers.empty() ? std::string("array<f64>")
                             : "array<f64: " + numbers + ">";
    };
    auto flag = [](bool value) { return value ? "true" : "false"; };
    std::string attributes =
        "{mode = #graph<resize_mode " + c.mode + ">, coordinates = \"" +
        c.coordinates + "\", nearest = \"" + c.nearest +
        "\", scales = " + list(c.scales) + ", roi = " + list(c.roi) +
        ", cubic_coefficient = " + std::to_string(c.cubic) +
        ", exclude_outside = " + flag(c.excludeOutside) +
        ", extrapolation = " + std::to_string(c.extrapolation) +
        ", antialias = " + flag(c.antialias) + "}";
    Numbers image;
    for (int64_t i = 0; i < height * width; ++i)
      image.push_back(i + 1);
    return numbers(op("graph.resize", attributes,
                      {floats({1, 1, height, width}, image)},
                      {"tensor<1x1x" + std::to_string(size[0]) + "x" +
                       std::to_string(size[1]) + "xf32>"}));
  }
  void expectNear(Numbers actual, Numbers expected) {
    ASSERT_GE(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 2e-6) << i;
  }
};

TEST_F(ResizeTest, Nearest) {
  EXPECT_EQ(
      resize({.mode = "nearest", .scales = "1.0, 1.0, 0.6, 0.6"}, 2, 4, {1, 2}),
      Numbers({1, 3}));
  EXPECT_EQ(resize({.mode = "nearest"}, 2, 2, {3, 4}),
            Numbers({1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4}));
  Numbers ceil = resize({.mode = "nearest", .nearest = "ceil"}, 4, 4, {8, 8});
  ceil.resize(16);
  EXPECT_EQ(ceil, Numbers({1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 7, 8, 8, 8}));
  Numbers floor = resize(
      {.mode = "nearest", .coordinates = "align_corners", .nearest = "floor"},
      4, 4, {8, 8});
  floor.resize(8);
  EXPECT_EQ(floor, Numbers({1, 1, 1, 2, 2, 3, 3, 4}));
}

TEST_F(ResizeTest, Linear) {
  expectNear(resize({.mode = "linear"}, 2, 2, {4, 4}),
             {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3,
              3.25, 3.75, 4});
  expectNear(
      resize({.mode = "linear", .coordinates = "align_corners"}, 2, 2, {4, 4}),
      {1, 1.3333333, 1.6666667, 2, 1.6666667, 2, 2.3333333, 2.6666667});
  expectNear(
      resize({.mode = "linear", .scales = "1.0, 1.0, 0.6, 0.6"}, 2, 4, {1, 2}),
      {2.6666665, 4.3333331});
  expectNear(resize({.mode = "linear",
                     .coordinates = "align_corners",
                     .scales = "1.0, 1.0, 0.6, 0.6"},
                    2, 4, {1, 2}),
             {1, 4});
  expectNear(resize({.mode = "linear", .coordinates = "pytorch_half_pixel"}, 4,
                    4, {3, 1}),
             {1.6666666, 7, 12.3333333});
  expectNear(resize({.mode = "linear",
                     .coordinates = "half_pixel_symmetric",
                     .scales = "1.0, 1.0, 2.3, 2.94"},
                    2, 2, {4, 5}),
             {1, 1.15986395, 1.5, 1.84013605, 2, 1.56521738, 1.72508133,
              2.06521738, 2.40535343, 2.56521738});
}

TEST_F(ResizeTest, Cubic) {
  expectNear(resize({.mode = "cubic"}, 4, 4, {8, 8}),
             {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625,
              3.38671875, 3.68359375});
  expectNear(
      resize({.mode = "cubic", .scales = "1.0, 1.0, 0.8, 0.8"}, 4, 4, {3, 3}),
      {1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391,
       11.91650391, 13.2265625, 14.52783203});
  expectNear(resize({.mode = "cubic", .cubic = -0.5, .excludeOutside = true}, 4,
                    4, {8, 8}),
             {0.55882353, 0.81494204, 1.35698249, 1.89705882, 2.39705882,
              2.93713516, 3.47917561, 3.73529412});
}

TEST_F(ResizeTest, Antialias) {
  expectNear(
      resize(
          {.mode = "linear", .scales = "1.0, 1.0, 0.6, 0.6", .antialias = true},
          4, 4, {2, 2}),
      {2.875, 4.5, 9.375, 11});
  expectNear(
      resize(
          {.mode = "cubic", .scales = "1.0, 1.0, 0.6, 0.6", .antialias = true},
          4, 4, {2, 2}),
      {2.5180721, 4.2858863, 9.589329, 11.357142});
}

TEST_F(ResizeTest, CropAndExtrapolate) {
  expectNear(resize({.mode = "linear",
                     .coordinates = "tf_crop_and_resize",
                     .roi = "0.0, 0.0, 0.4, 0.6, 1.0, 1.0, 0.6, 0.8"},
                    4, 4, {3, 3}),
             {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6});
  expectNear(resize({.mode = "linear",
                     .coordinates = "tf_crop_and_resize",
                     .roi = "0.0, 0.0, 0.4, 0.6, 1.0, 1.0, 1.2, 1.7",
                     .extrapolation = 10},
                    4, 4, {3, 3}),
             {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10});
}

} // namespace
} // namespace tenon::reference
