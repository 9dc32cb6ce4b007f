//===- ConvertTest.cpp - Between element types --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

using ConvertTest = EvaluateTest;
using Numbers = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_F(ConvertTest, FloatsTruncateAndSaturate) {
  Tensor a = floats({6}, {2.9, -2.9, 300, -300, infinity, std::nan("")});
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<6xi8>"})),
            Numbers({2, -2, 127, -128, 127, 0}));
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<6xui8>"})),
            Numbers({2, 0, 255, 0, 255, 0}));
  EXPECT_EQ(op("graph.cast", "", {a}, {"tensor<6xi64>"})[0].ints()[4],
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(op("graph.cast", "", {a}, {"tensor<6xui64>"})[0].ints()[4], -1);
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<6xi1>"})),
            Numbers({1, 1, 1, 1, 1, 1}));
}

TEST_F(ConvertTest, IntegersWrapAndRoundOnce) {
  Tensor a = ints({3}, {300, -1, 128});
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<3xi8>"})),
            Numbers({44, -1, -128}));
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<3xui8>"})),
            Numbers({44, 255, 128}));
  // By way of a double this would round to even twice.
  Tensor b = ints({1}, {(int64_t(1) << 60) + (int64_t(1) << 36) + 1});
  EXPECT_EQ(numbers(op("graph.cast", "", {b}, {"tensor<1xf32>"})),
            Numbers({0x1p60 + 0x1p37}));
  EXPECT_EQ(numbers(op("graph.cast", "", {naturals({1}, {-1}, 64)},
                       {"tensor<1xf64>"})),
            Numbers({0x1p64}));
}

TEST_F(ConvertTest, FloatsNarrow) {
  Tensor a = floats({3}, {1e6, 0.1, 1.00390625});
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<3xf16>"})),
            Numbers({infinity, 0.0999755859375, 1.00390625}));
  EXPECT_EQ(numbers(op("graph.cast", "", {a}, {"tensor<3xbf16>"})),
            Numbers({999424, 0.10009765625, 1}));
}

TEST_F(ConvertTest, BitsStay) {
  EXPECT_EQ(numbers(op("graph.bitcast", "", {floats({3}, {1, -0.0, infinity})},
                       {"tensor<3xi32>"})),
            Numbers({0x3F800000, -0x80000000LL, 0x7F800000}));
  EXPECT_EQ(numbers(op("graph.bitcast", "", {ints({2}, {0x3C00, -0x4000}, 16)},
                       {"tensor<2xf16>"})),
            Numbers({1, -2}));
  EXPECT_EQ(numbers(op("graph.bitcast", "", {ints({2}, {-1, 3}, 8)},
                       {"tensor<2xui8>"})),
            Numbers({255, 3}));
}

TEST_F(ConvertTest, FloatsOfFewBits) {
  // Halves between numbers, the largest ones, and what lies beyond.
  Tensor a = floats(
      {8}, {1.0625, 1.1875, 0x1p-10, 0x1.8p-9, 448, 464, 465, -infinity});
  auto rounded = [&](const std::string &attributes) {
    return numbers(op("graph.round_float", attributes, {a}, {"tensor<8xf32>"}));
  };
  EXPECT_EQ(rounded("{to = f8E4M3FN, saturates = true}"),
            Numbers({1, 1.25, 0, 0x1p-8, 448, 448, 448, -448}));
  Numbers overflown = rounded("{to = f8E4M3FN, saturates = false}");
  EXPECT_EQ(overflown[5], 448);
  EXPECT_TRUE(std::isnan(overflown[6]) && std::isnan(overflown[7]));
  EXPECT_EQ(rounded("{to = f8E5M2, saturates = false}"),
            Numbers({1, 1.25, 0x1p-10, 0x1.8p-9, 448, 448, 448, -infinity}));
  EXPECT_EQ(rounded("{to = f8E5M2FNUZ, saturates = true}")[7], -57344);
  EXPECT_EQ(rounded("{to = f8E4M3FNUZ, saturates = true}"),
            Numbers({1, 1.25, 0x1p-10, 0x1.8p-9, 240, 240, 240, -240}));
  EXPECT_EQ(rounded("{to = f4E2M1FN, saturates = true}"),
            Numbers({1, 1, 0, 0, 6, 6, 6, -6}));
  Tensor none = floats({1}, {std::nan("")});
  EXPECT_EQ(numbers(op("graph.round_float", "{to = f4E2M1FN, saturates = true}",
                       {none}, {"tensor<1xf32>"})),
            Numbers({0}));
}

TEST_F(ConvertTest, QuantizeRoundsHalvesToEvenAndSaturates) {
  Tensor input = floats({6}, {1, 3, 5, -1, 1000, -1000});
  Tensor scale = floats({}, {2});
  EXPECT_EQ(
      numbers(op("graph.quantize", "", {input, scale, naturals({}, {128}, 8)},
                 {"tensor<6xui8>"})),
      Numbers({128, 130, 130, 128, 255, 0}));
  EXPECT_EQ(numbers(op("graph.quantize", "", {input, scale, ints({}, {1}, 8)},
                       {"tensor<6xi8>"})),
            Numbers({1, 3, 3, 1, 127, -128}));
}

TEST_F(ConvertTest, RowsUseAllStepsBetweenTheirEnds) {
  Tensor input = floats({5, 3}, {0, 51, 255,     // From 0 up.
                                 -1, 0, 1.5,     // Zero is a number.
                                 -255, -51, -25, // Its end is 0.
                                 0, 0, 0,        // No range.
                                 1, infinity, 2});
  std::vector<Tensor> results =
      op("graph.quantize_rows", "", {input},
         {"tensor<5x3xui8>", "tensor<5x1xf32>", "tensor<5x1xui8>"});
  EXPECT_EQ(numbers({results[0]}), Numbers({0, 51, 255,  //
                                            0, 102, 255, //
                                            0, 204, 230, //
                                            0, 0, 0,     //
                                            0, 0, 0}));
  auto scales = results[1].floats();
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], double(2.5f / 255));
  EXPECT_EQ(scales[3], 1);
  EXPECT_TRUE(std::isnan(scales[4]));
  EXPECT_EQ(numbers({results[2]}), Numbers({0, 102, 255, 0, 0}));
}

TEST_F(ConvertTest, QuantizeDividesInSinglePrecision) {
  // In float32 the quotient is 2.5 exactly, in float64 slightly more.
  float scale = 0.7f, value = 1.75f;
  ASSERT_EQ(value / scale, 2.5f);
  ASSERT_NE(double(value) / double(scale), 2.5);
  EXPECT_EQ(
      numbers(op("graph.quantize", "",
                 {floats({1}, {value}), floats({}, {scale}), ints({}, {0}, 8)},
                 {"tensor<1xi8>"})),
      Numbers({2}));
}

TEST_F(ConvertTest, DequantizePerAxis) {
  Tensor input = naturals({2, 2}, {0, 128, 255, 130}, 8);
  Tensor scale = floats({2, 1}, {0.5, 2}), zero = naturals({2, 1}, {128, 0}, 8);
  EXPECT_EQ(numbers(op("graph.dequantize", "", {input, scale, zero},
                       {"tensor<2x2xf32>"})),
            Numbers({-64, 0, 510, 260}));
}

TEST_F(ConvertTest, DecodeReadsFourBits) {
  std::string codebook = "{codebook = array<f32: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, "
                         "6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, "
                         "-1.5>}";
  Tensor scale = floats({2, 1}, {0.5, 2});
  EXPECT_EQ(numbers(op("graph.decode", codebook,
                       {naturals({2, 2}, {1, 15, 16, 255}, 8), scale},
                       {"tensor<2x2xf32>"})),
            Numbers({0.5, -0.75, 0, -3}));
  EXPECT_EQ(numbers(op("graph.decode", codebook,
                       {ints({2, 2}, {1, -1, -16, 7}, 8), scale},
                       {"tensor<2x2xf32>"})),
            Numbers({0.5, -0.75, 0, 14}));
}

} // namespace
} // namespace tenon::reference
