//===- TensorTest.cpp - Bytes of the evaluator's values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Tensor.h"
#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>
#include <cstring>

namespace tenon::reference {
namespace {

struct TensorTest : EvaluateTest {
  uint16_t stored(mlir::Type element, double value) {
    uint16_t bits;
    std::memcpy(&bits,
                Tensor::fromFloats(element, {1}, {value}).toBytes().data(), 2);
    return bits;
  }

  double widened(mlir::Type element, uint16_t bits) {
    std::vector<char> bytes(2);
    std::memcpy(bytes.data(), &bits, 2);
    return llvm::cantFail(Tensor::fromBytes(element, {1}, bytes)).floats()[0];
  }

  /// Every finite number, the middle between it and the next one of larger
  /// magnitude, which goes to the even one, and what lies right beside.
  void roundsToNearestEven(mlir::Type element, uint16_t infinity) {
    for (uint16_t sign : {0, 0x8000})
      for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
        double here = widened(element, sign | bits);
        double next = widened(element, sign | (bits + 1));
        double middle = (here + next) / 2;
        ASSERT_EQ(stored(element, here), sign | bits);
        ASSERT_EQ(stored(element, middle), sign | (bits + (bits & 1)));
        ASSERT_EQ(stored(element, std::nextafter(middle, here)), sign | bits);
        ASSERT_EQ(stored(element, std::nextafter(middle, next)),
                  sign | (bits + 1));
      }
  }
};

TEST_F(TensorTest, StoresTheNearestHalf) {
  roundsToNearestEven(f16(), 0x7c00);
  EXPECT_EQ(stored(f16(), 65519.99), 0x7bff);
  EXPECT_EQ(stored(f16(), 65520), 0x7c00);
  EXPECT_EQ(stored(f16(), -INFINITY), 0xfc00);
  EXPECT_TRUE(std::isnan(widened(f16(), stored(f16(), NAN))));
}

TEST_F(TensorTest, StoresTheNearestBrainFloat) {
  roundsToNearestEven(bf16(), 0x7f80);
  EXPECT_EQ(stored(bf16(), 0x1.ffp127), 0x7f80);
  EXPECT_EQ(stored(bf16(), -1e300), 0xff80);
  EXPECT_TRUE(std::isnan(widened(bf16(), stored(bf16(), NAN))));
}

} // namespace
} // namespace tenon::reference
