//===- NumbersTest.cpp - Rounding and wrapping by hand ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Numbers.h"
#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

using NumbersTest = EvaluateTest;
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_F(NumbersTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(roundTo(f16(), 2049.0), 2048.0); // Halfway, down to even.
  EXPECT_EQ(roundTo(f16(), 2051.0), 2052.0); // Halfway, up to even.
  EXPECT_EQ(roundTo(f16(), 2049.0001), 2050.0);
  EXPECT_EQ(roundTo(f16(), 0.1), 0.0999755859375);
  EXPECT_EQ(roundTo(f16(), -1.0 / 3), -0.333251953125);
}

TEST_F(NumbersTest, HalfOverflowsFromTheMiddleOfTheLastStep) {
  EXPECT_EQ(roundTo(f16(), 65519.0), 65504.0);
  EXPECT_EQ(roundTo(f16(), 65520.0), infinity);
  EXPECT_EQ(roundTo(f16(), -65520.0), -infinity);
}

TEST_F(NumbersTest, HalfKeepsSubnormals) {
  double least = 0x1p-24;
  EXPECT_EQ(roundTo(f16(), least), least);
  EXPECT_EQ(roundTo(f16(), least / 2), 0.0); // Halfway to zero, even.
  EXPECT_EQ(roundTo(f16(), least * 0.6), least);
  EXPECT_EQ(roundTo(f16(), least * 1.5), 2 * least);
  EXPECT_EQ(roundTo(f16(), least * 2.5), 2 * least);
  EXPECT_TRUE(std::signbit(roundTo(f16(), -least / 4)));
  EXPECT_EQ(roundTo(f16(), 0x1p-14 * (1 - 0x1p-12)), 0x1p-14);
}

TEST_F(NumbersTest, BrainFloatHasEightBits) {
  EXPECT_EQ(roundTo(bf16(), 257.0), 256.0);
  EXPECT_EQ(roundTo(bf16(), 259.0), 260.0);
  EXPECT_EQ(roundTo(bf16(), 3.14159265), 3.140625);
  EXPECT_EQ(roundTo(bf16(), 3.3962e38), infinity);
  EXPECT_EQ(roundTo(bf16(), 3.39e38), 0x1.fep127);
  EXPECT_EQ(roundTo(bf16(), 0x1p-133), 0x1p-133);
  EXPECT_EQ(roundTo(bf16(), 0x1p-134), 0.0);
  EXPECT_TRUE(std::isnan(roundTo(bf16(), std::nan(""))));
}

TEST_F(NumbersTest, SingleOverflowsAndKeepsDoublesApart) {
  EXPECT_EQ(roundTo(f32(), 0.1), 0x1.99999ap-4);
  EXPECT_EQ(roundTo(f32(), 1e39), infinity);
  EXPECT_EQ(roundTo(f64(), 0.1), 0.1);
}

TEST_F(NumbersTest, IntegersWrapToTheirWidth) {
  EXPECT_EQ(IntKind::of(integer(8)).wrap(200), -56);
  EXPECT_EQ(IntKind::of(natural(8)).wrap(-1), 255);
  EXPECT_EQ(IntKind::of(integer(1)).wrap(1), 1);
  EXPECT_EQ(IntKind::of(natural(64)).toDouble(-1), 0x1p64);
  EXPECT_EQ(IntKind::of(integer(8)).lowest(), -128);
  EXPECT_EQ(IntKind::of(natural(16)).highest(), 65535);
  EXPECT_EQ(IntKind::of(integer(64)).highest(),
            std::numeric_limits<int64_t>::max());
}

TEST_F(NumbersTest, BytesComeBackAsTheyWere) {
  for (auto type : {f16(), bf16()}) {
    std::vector<char> bytes;
    for (int bits = 0; bits < 65536; ++bits) {
      bool isNan = type.isF16() ? (bits & 0x7c00) == 0x7c00 && bits & 0x3ff
                                : (bits & 0x7f80) == 0x7f80 && bits & 0x7f;
      bytes.push_back(isNan ? 0 : bits & 255);
      bytes.push_back(isNan ? 0 : bits >> 8);
    }
    auto tensor = Tensor::fromBytes(type, {65536}, bytes);
    ASSERT_TRUE(bool(tensor));
    EXPECT_EQ(tensor->toBytes(), bytes);
    for (double value : tensor->floats())
      ASSERT_EQ(roundTo(type, value), value);
  }
  std::vector<char> bytes = {-1, 1, 127, -128};
  for (auto type : {integer(8), natural(8), integer(16), natural(32), f32()}) {
    int64_t width = type.getIntOrFloatBitWidth() / 8;
    auto tensor = Tensor::fromBytes(type, {4 / width}, bytes);
    ASSERT_TRUE(bool(tensor));
    EXPECT_EQ(tensor->toBytes(), bytes);
  }
}

TEST_F(NumbersTest, WrongNumberOfBytesIsAnError) {
  auto tensor = Tensor::fromBytes(f32(), {2, 2}, std::vector<char>(15));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "a tensor of shape [2, 2] does not have 15 bytes");
}

TEST_F(NumbersTest, AttributesComeBackAsTheyWere) {
  for (const Tensor &tensor : {floats({2}, {0.5, -3}), ints({3}, {1, -2, 3}, 8),
                               naturals({2}, {255, 1}, 8), ints({2}, {1, 0}, 1),
                               ints({}, {7}), floats({0, 3}, {})}) {
    std::optional<Tensor> back = Tensor::fromAttr(tensor.toAttr());
    ASSERT_TRUE(back);
    EXPECT_EQ(back->element, tensor.element);
    EXPECT_EQ(back->shape, tensor.shape);
    EXPECT_EQ(numbers(*back), numbers(tensor));
  }
}

} // namespace
} // namespace tenon::reference
