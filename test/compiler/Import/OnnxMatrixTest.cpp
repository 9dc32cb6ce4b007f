//===- OnnxMatrixTest.cpp - Products, sums, convolutions, pools -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxMatrixTest : public OperatorTest {
protected:
  Tensor square() { return floats({2, 2}, {1, 2, 3, 4}); }
  Tensor image() { return floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }
  void einsum(const std::string &equation, std::vector<Tensor> operands) {
    addText(node("Einsum", operands), "equation", equation);
  }
};

TEST_F(OnnxMatrixTest, AVectorOnTheLeftIsARow) {
  node("MatMul", {floats({2}, {1, 10}), square()});
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({2}));
  expectNear(found[0], {31, 42});
}

TEST_F(OnnxMatrixTest, TwoVectorsGiveAScalar) {
  node("MatMul", {floats({2}, {1, 10}), floats({2}, {3, 4})});
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].shape.empty());
  expectNear(found[0], {43});
}

TEST_F(OnnxMatrixTest, GemmScalesAndTransposes) {
  auto *gemm = node("Gemm", {square(), square(), floats({2, 1}, {1, 2})});
  addInt(gemm, "transA", 1);
  addFloat(gemm, "alpha", 0.5);
  addFloat(gemm, "beta", 10);
  expect({15, 17, 27, 30});
}

TEST_F(OnnxMatrixTest, ABetaOfZeroHidesC) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  addFloat(node("Gemm", {square(), square(), floats({1}, {nan})}), "beta", 0);
  expect({7, 10, 15, 22});
}

TEST_F(OnnxMatrixTest, EinsumMultiplies) {
  einsum("ij,jk->ki", {square(), square()});
  expect({7, 15, 10, 22});
}

TEST_F(OnnxMatrixTest, EinsumTakesDiagonalsAndTraces) {
  einsum("ii", {square()});
  expect({5});
}

TEST_F(OnnxMatrixTest, EinsumJoinsThreeOperands) {
  einsum("i,ij,j->", {floats({2}, {1, 10}), square(), floats({2}, {1, 100})});
  expect({1 + 200 + 30 + 4000});
}

TEST_F(OnnxMatrixTest, EinsumBroadcastsTheEllipsis) {
  einsum("...i,i...->...", {floats({2, 2}, {1, 2, 3, 4}), floats({2}, {1, 1})});
  expect({3, 7});
}

TEST_F(OnnxMatrixTest, EinsumOfAnUnknownLetterIsRefused) {
  einsum("ij->k", {square()});
  expectReason("is no letter of an input");
}

TEST_F(OnnxMatrixTest, ConvPadsToTheSameSize) {
  auto *conv = node("Conv", {image(), floats({1, 1, 2, 2}, {1, 0, 0, 1})});
  addText(conv, "auto_pad", "SAME_UPPER");
  expect({6, 8, 3, 12, 14, 6, 7, 8, 9});
}

TEST_F(OnnxMatrixTest, ConvRefusesAGroupOfZero) {
  addInt(node("Conv", {image(), floats({1, 1, 1, 1}, {1})}), "group", 0);
  expectReason("group must be positive");
}

TEST_F(OnnxMatrixTest, ConvRefusesAStrideOfZero) {
  addInts(node("Conv", {image(), floats({1, 1, 1, 1}, {1})}), "strides",
          {1, 0});
  expectReason("strides must be 1 or more");
}

TEST_F(OnnxMatrixTest, ConvRefusesPadsBeyondReason) {
  addInts(node("Conv", {image(), floats({1, 1, 1, 1}, {1})}), "pads",
          {0, 0, INT64_MAX, 0});
  expectReason("pads must be 0 or more");
}

TEST_F(OnnxMatrixTest, ConvRefusesAKernelThatDoesNotFit) {
  node("Conv", {image(), floats({1, 1, 4, 1}, {1, 1, 1, 1})});
  expectReason("the kernel must not exceed the padded input");
}

TEST_F(OnnxMatrixTest, ConvTransposeCropsToTheOutputShape) {
  auto *conv = node("ConvTranspose",
                    {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {1, 10})});
  addInts(conv, "strides", {2});
  addInts(conv, "output_shape", {3});
  // 1 10 2 20, and the odd element goes at the front.
  expect({10, 2, 20});
}

TEST_F(OnnxMatrixTest, PoolsRoundUpWhereAWindowBeginsInside) {
  auto *pool = node("MaxPool", {image()}, 2);
  addInts(pool, "kernel_shape", {2, 2});
  addInts(pool, "strides", {2, 2});
  addInt(pool, "ceil_mode", 1);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {5, 6, 8, 9});
  expectNear(found[1], {4, 5, 7, 8});
}

/// As those behind EfficientNets are, which average an image of any size.
TEST_F(OnnxMatrixTest, AWindowThatIsRoundedUpToMayBeLargerThanTheImage) {
  auto *pool = node("AveragePool", {image()});
  addInts(pool, "kernel_shape", {32, 5});
  addInts(pool, "strides", {32, 3});
  addInt(pool, "ceil_mode", 1);
  expect({5});
}

TEST_F(OnnxMatrixTest, AWindowThatNoStrideBeginsIsRefused) {
  auto *pool = node("AveragePool", {image()});
  addInts(pool, "kernel_shape", {32, 5});
  addInts(pool, "strides", {32, 2});
  addInt(pool, "ceil_mode", 1);
  expectReason("the kernel must not exceed the padded input");
}

TEST_F(OnnxMatrixTest, AveragePoolCountsItsPadsWhenAsked) {
  auto *pool = node("AveragePool", {floats({1, 1, 2}, {2, 4})});
  addInts(pool, "kernel_shape", {2});
  addInts(pool, "pads", {1, 0});
  addInt(pool, "count_include_pad", 1);
  expect({1, 3});
}

TEST_F(OnnxMatrixTest, APoolWithoutAKernelIsRefused) {
  node("MaxPool", {image()});
  expectReason("kernel_shape");
}

TEST_F(OnnxMatrixTest, AFusedProductHadAnotherName) {
  auto *product = node("TransposeMatMul",
                       {floats({2, 1}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})},
                       1, "com.microsoft");
  addInt(product, "transA", 1);
  addFloat(product, "alpha", 0.5);
  expect({6.5, 8});
}

TEST_F(OnnxMatrixTest, AGeluFollowsItsProduct) {
  node("GemmFastGelu",
       {floats({1, 2}, {1, 2}), floats({2, 2}, {1, 0, 0, -1}),
        floats({2}, {0, 1})},
       1, "com.microsoft");
  expect({0.8411920, -0.1588080});
}

TEST_F(OnnxMatrixTest, RowsHaveDistances) {
  auto *distance =
      node("CDist",
           {floats({2, 2}, {0, 0, 3, 4}), floats({3, 2}, {3, 4, 0, 0, 6, 8})},
           1, "com.microsoft");
  expect({25, 0, 100, 0, 25, 25});
  addText(distance, "metric", "euclidean");
  expect({5, 0, 10, 0, 5, 5});
}

TEST_F(OnnxMatrixTest, OtherDistancesAreRefused) {
  addText(node("CDist", {floats({1, 1}, {0}), floats({1, 1}, {0})}, 1,
               "com.microsoft"),
          "metric", "cosine");
  expectReason("the metric 'cosine' is not supported");
}

} // namespace
} // namespace tenon
