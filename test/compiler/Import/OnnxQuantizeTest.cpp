//===- OnnxQuantizeTest.cpp - Quantized numbers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

using OnnxQuantizeTest = OperatorTest;

TEST_F(OnnxQuantizeTest, BlocksHaveScalesOfTheirOwn) {
  setOpset(21);
  auto *dequantize = node("DequantizeLinear",
                          {ints({1, 4}, {1, 2, 3, 4}, 8),
                           floats({1, 2}, {1, 10}), ints({1, 2}, {0, 1}, 8)});
  addInt(dequantize, "axis", 1);
  addInt(dequantize, "block_size", 2);
  expect({1, 2, 20, 30});
}

TEST_F(OnnxQuantizeTest, ANumberPerIndexOfTheAxis) {
  setOpset(13);
  auto *quantize =
      node("QuantizeLinear", {floats({2, 2}, {1, 2, 3, 500}),
                              floats({2}, {1, 0.5}), bytes({2}, {10, 20})});
  addInt(quantize, "axis", 0);
  expect({11, 12, 26, 255});
}

TEST_F(OnnxQuantizeTest, AScaleTooManyIsRefused) {
  setOpset(13);
  addInt(
      node("QuantizeLinear", {floats({2, 2}, {1, 2, 3, 4}),
                              floats({3}, {1, 1, 1}), bytes({3}, {0, 0, 0})}),
      "axis", 0);
  expectReason("one scale per index of the axis");
}

TEST_F(OnnxQuantizeTest, ABitCastKeepsTheNumberOfBits) {
  setOpset(26);
  addInt(node("BitCast", {floats({2}, {1, 2})}), "to",
         onnx::TensorProto::INT64);
  expectReason("another number of bits");
}

/// What is in 8 bits is dequantized or cast before anything computes with it.
TEST_F(OnnxQuantizeTest, FloatsOfFewBitsAreNotComputedWith) {
  setOpset(23);
  graph.input("x", {2}, onnx::TensorProto::FLOAT);
  graph.output("z");
  addInt(graph.node("Cast", {"x"}, {"y"}), "to", onnx::TensorProto::FLOAT8E5M2);
  graph.node("Add", {"y", "y"}, {"z"});
  expectReason("its input 0 is of floats in 8 bits (f8E5M2)");
}

TEST_F(OnnxQuantizeTest, FloatsOfFewBitsAreNoOutputs) {
  setOpset(23);
  addInt(node("Cast", {floats({2}, {1, 2})}), "to",
         onnx::TensorProto::FLOAT8E5M2);
  ASSERT_FALSE(run());
  EXPECT_NE(report.str().find("dequantize or cast it first"), std::string::npos)
      << report.str();
}

TEST_F(OnnxQuantizeTest, PowersOfTwoAreNoNumbersToRoundTo) {
  setOpset(24);
  addInt(node("Cast", {floats({2}, {1, 2})}), "to",
         onnx::TensorProto::FLOAT8E8M0);
  expectReason("rounding to float8e8m0 is not supported");
}

TEST_F(OnnxQuantizeTest, DynamicQuantizationCoversZero) {
  node("DynamicQuantizeLinear", {floats({2}, {-51, 204})}, 3);
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {0, 255});
  expectNear(found[1], {1});
  expectNear(found[2], {51});
}

TEST_F(OnnxQuantizeTest, DynamicQuantizationOfZerosHasScaleOne) {
  node("DynamicQuantizeLinear", {floats({2}, {0, 0})}, 3);
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[1], {1});
  expectNear(found[2], {0});
}

TEST_F(OnnxQuantizeTest, ZeroPointsMayBePerRowAndColumn) {
  node("MatMulInteger", {bytes({2, 1}, {5, 6}), ints({1, 2}, {3, -4}, 8),
                         bytes({2}, {5, 1}), ints({2}, {1, 0}, 8)});
  expect({0, 0, 10, -20});
}

TEST_F(OnnxQuantizeTest, AProductIsRequantized) {
  // (2 - 1) * (4 - 2) = 2; 2 * 0.5 * 0.5 / 0.1 = 5; 5 + 3 = 8.
  node("QLinearMatMul", {bytes({1, 1}, {2}), floats({}, {0.5}), bytes({}, {1}),
                         bytes({1, 1}, {4}), floats({}, {0.5}), bytes({}, {2}),
                         floats({}, {0.1}), bytes({}, {3})});
  expect({8});
}

/// (2 - 1) * {4 - 2, 1 - 2} = {2, -1}, plus {3, -1} that count the same.
TEST_F(OnnxQuantizeTest, ABiasCountsAsSumsDo) {
  addInt(node("QGemm",
              {bytes({1, 1}, {2}), floats({}, {0.5}), bytes({}, {1}),
               bytes({2, 1}, {4, 1}), floats({}, {0.5}), bytes({}, {2}),
               ints({2}, {3, -1}, 32), floats({}, {0.25}), bytes({}, {10})},
              1, "com.microsoft"),
         "transB", 1);
  expect({15, 8});
}

TEST_F(OnnxQuantizeTest, WithoutAScaleAProductIsNotQuantized) {
  auto *gemm = node("QGemm",
                    {bytes({1, 1}, {2}), floats({}, {0.5}), bytes({}, {1}),
                     bytes({1, 1}, {4}), floats({}, {0.5}), bytes({}, {2})},
                    1, "com.microsoft");
  addFloat(gemm, "alpha", 3);
  expect({1.5});
}

TEST_F(OnnxQuantizeTest, WeightsOfFourBitsLieLowNibbleFirst) {
  // One row of 16 numbers in one block; all are 8 (zero) but the first two.
  std::vector<int64_t> packed(8, 0x88);
  packed[0] = 0x5a; // 10 then 5: +2 and -3.
  Numbers x(16, 0);
  x[0] = 1;
  x[1] = 100;
  auto *product =
      node("MatMulNBits",
           {floats({1, 16}, x), bytes({1, 1, 8}, packed), floats({1}, {0.5})},
           1, "com.microsoft");
  addInt(product, "K", 16);
  addInt(product, "N", 1);
  addInt(product, "bits", 4);
  addInt(product, "block_size", 16);
  expect({1 - 150});
}

/// Pairs of an accuracy level, and what 1 + 2^-8 becomes: it lies between two
/// numbers of bf16, of which 1 is the even one. Only levels that allow bf16 (3)
/// or fewer bits (4) round to it.
class AccuracyLevelTest
    : public OnnxQuantizeTest,
      public testing::WithParamInterface<std::pair<int64_t, double>> {};

TEST_P(AccuracyLevelTest, SaysWhatRowsMayBeRoundedTo) {
  auto [level, wanted] = GetParam();
  Numbers x(16, 0);
  x[0] = 1.00390625;
  std::vector<int64_t> packed(8, 0x88);
  packed[0] = 0x89;
  auto *product =
      node("MatMulNBits",
           {floats({1, 16}, x), bytes({1, 1, 8}, packed), floats({1}, {1})}, 1,
           "com.microsoft");
  addInt(product, "K", 16);
  addInt(product, "N", 1);
  addInt(product, "bits", 4);
  addInt(product, "block_size", 16);
  addInt(product, "accuracy_level", level);
  expect({wanted});
}

INSTANTIATE_TEST_SUITE_P(Levels, AccuracyLevelTest,
                         testing::Values(std::pair(0, 1.00390625),
                                         std::pair(1, 1.00390625),
                                         std::pair(2, 1.00390625),
                                         std::pair(3, 1.0), std::pair(4, 1.0)));

/// Enough of them that they are a weight, with zero points of an odd number of
/// blocks, and the last block beyond K.
TEST_F(OnnxQuantizeTest, WeightsOfFourBitsStayPacked) {
  constexpr int64_t rows = 100, blocks = 3, block = 16, depth = 40;
  std::vector<int64_t> packed, zeros;
  Numbers scales, x(depth, 1.0), wanted;
  for (int64_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (int64_t j = 0; j < blocks; ++j) {
      double scale = 0.5 * double(1 + (n + j) % 4);
      double zero = double((n + 5 * j) % 16);
      scales.push_back(scale);
      for (int64_t i = 0; i < block; i += 2)
        packed.push_back((n + i + j) % 16 + (n + i + j + 1) % 16 * 16);
      for (int64_t i = 0; i < block && j * block + i < depth; ++i)
        sum += (double((n + i + j) % 16) - zero) * scale;
    }
    zeros.push_back(n % 16 + (n + 5) % 16 * 16);
    zeros.push_back((n + 10) % 16);
    wanted.push_back(sum);
  }
  auto *product =
      node("MatMulNBits",
           {floats({1, depth}, x), bytes({rows, blocks, block / 2}, packed),
            floats({rows * blocks}, scales), bytes({rows * 2}, zeros)},
           1, "com.microsoft");
  addInt(product, "K", depth);
  addInt(product, "N", rows);
  addInt(product, "bits", 4);
  addInt(product, "block_size", block);
  expect(wanted);
}

TEST_F(OnnxQuantizeTest, WeightsOfAnOddNumberOfBitsAreRefused) {
  auto *product =
      node("MatMulNBits",
           {floats({1, 16}, Numbers(16)), bytes({1, 1, 6}, {0, 0, 0, 0, 0, 0}),
            floats({1}, {0.5})},
           1, "com.microsoft");
  addInt(product, "K", 16);
  addInt(product, "N", 1);
  addInt(product, "bits", 3);
  addInt(product, "block_size", 16);
  expectReason("only 2, 4 and 8 bits are supported, not 3");
}

/// The values of bitsandbytes' types: W [2, 16], in blocks of 16 unless rows
/// have fewer.
class Bnb4Test : public OperatorTest {
protected:
  onnx::NodeProto *product(Numbers x, int64_t rows, int64_t columns,
                           std::vector<int64_t> packed, Numbers absmax,
                           int64_t type) {
    auto depth = int64_t(x.size()), blocks = int64_t(absmax.size());
    auto *made =
        node("MatMulBnb4",
             {floats({1, depth}, x), bytes({int64_t(packed.size())}, packed),
              floats({blocks}, absmax)},
             1, "com.microsoft");
    addInt(made, "N", rows);
    addInt(made, "K", columns);
    addInt(made, "block_size", 16);
    addInt(made, "quant_type", type);
    return made;
  }
  /// 100, then 1, and zeros.
  static Numbers firstTwo(int64_t count) {
    Numbers x(size_t(count), 0.0);
    x[0] = 100, x[1] = 1;
    return x;
  }
};

TEST_F(Bnb4Test, NumbersOfNf4AreQuantiles) {
  std::vector<int64_t> packed(16, 0x77); // Zeros.
  packed[0] = 0x0f;                      // -1 then 1.
  packed[8] = 0xf0;
  product(firstTwo(16), 2, 16, packed, {2, 3}, 1);
  expect({-200 + 2, 300 - 3});
}

TEST_F(Bnb4Test, NumbersOfFp4HaveASign) {
  std::vector<int64_t> packed(16, 0);
  packed[0] = 0x3d; // 1 then -1/2.
  packed[8] = 0x57; // 1/2 then 1/4.
  product(firstTwo(16), 2, 16, packed, {2, 4}, 0);
  expect({200 - 1, 200 + 1});
}

TEST_F(Bnb4Test, BlocksEndWithinRows) {
  // Two rows of nine numbers: seven of the second have the first block's scale.
  std::vector<int64_t> packed(9, 0);
  packed[0] = 0x33; // The first row's first two.
  packed[4] = 0x03; // Its last, and the second's first.
  packed[8] = 0x03; // The second's last.
  Numbers x(9, 0);
  x[0] = 100, x[8] = 1;
  product(x, 2, 9, packed, {2, 4}, 0);
  expect({200, 200 + 4});
}

TEST_F(Bnb4Test, MultipliesByTheMatrixAsItLies) {
  std::vector<int64_t> packed(16, 0);
  packed[0] = 0x30; // Row 0, column 0.
  packed[8] = 0x03; // Row 1, column 1.
  addInt(product({100, 1}, 2, 16, packed, {2, 4}, 0), "transB", 0);
  Numbers wanted(16, 0);
  wanted[0] = 200, wanted[1] = 4;
  expect(wanted);
}

TEST_F(Bnb4Test, RefusesOtherTypes) {
  product(firstTwo(16), 2, 16, std::vector<int64_t>(16), {2, 3}, 2);
  expectReason("quant_type must be 0 (FP4) or 1 (NF4), not 2");
}

/// Two rows of 24 numbers in blocks of 16: the second block is half a one.
class GatherBlocksTest : public OperatorTest {
protected:
  onnx::NodeProto *gather(Tensor zero, int64_t bits = 4) {
    auto *made = node("GatherBlockQuantized",
                      {bytes({2, 12}, std::vector<int64_t>(24, 0x21)),
                       ints({2}, {1, 0}), floats({2, 2}, {1, 2, 0.5, 3}), zero},
                      1, "com.microsoft");
    addInt(made, "bits", bits);
    addInt(made, "block_size", 16);
    return made;
  }
  /// Both rows, whose numbers are 1, 2, 1, 2, ..: those of the blocks in turn.
  static Numbers rows(std::vector<std::pair<double, double>> blocks) {
    Numbers all;
    for (auto [i, pair] : llvm::enumerate(blocks))
      for (int n = 0; n < (i % 2 ? 4 : 8); ++n)
        all.insert(all.end(), {pair.first, pair.second});
    return all;
  }
};

TEST_F(GatherBlocksTest, ZeroPointsShareBytes) {
  gather(bytes({2, 1}, {0x10, 0x32}));
  expect(rows({{-0.5, 0}, {-6, -3}, {1, 2}, {0, 2}}));
}

TEST_F(GatherBlocksTest, BytesHaveTheirMiddleAsZero) {
  gather({});
  expect(rows({{-3.5, -3}, {-21, -18}, {-7, -6}, {-14, -12}}));
}

TEST_F(GatherBlocksTest, NumbersOfAByteAreNotGatheredFrom) {
  auto *made = gather({});
  addInt(made, "gather_axis", 1);
  addInt(made, "quantize_axis", 0);
  expectReason("numbers that share a byte cannot be gathered from");
}

TEST_F(GatherBlocksTest, AnOddNumberOfBitsIsRefused) {
  gather({}, 3);
  expectReason("only 2, 4 and 8 bits are supported, not 3");
}

TEST_F(GatherBlocksTest, AnAxisThatIsGatheredIsDequantizedFirst) {
  auto *made = node("GatherBlockQuantized",
                    {ints({4, 1}, {1, 2, 3, 4}, 8), ints({2}, {3, 0}),
                     floats({2, 1}, {1, 10})},
                    1, "com.microsoft");
  addInt(made, "quantize_axis", 0);
  addInt(made, "block_size", 2);
  expect({40, 1});
}

} // namespace
} // namespace tenon
