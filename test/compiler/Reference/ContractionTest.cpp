//===- ContractionTest.cpp - Matrix products and convolutions -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

class ContractionTest : public EvaluateTest {
protected:
  static std::string conv(std::string strides, std::string dilations,
                          std::string pads, int group = 1) {
    return "{strides = array<i64: " + strides +
           ">, dilations = array<i64: " + dilations + ">, pads = #graph.dims<" +
           pads + ">, group = " + std::to_string(group) + " : i64}";
  }
};

TEST_F(ContractionTest, Matmul) {
  Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(numbers(op("graph.matmul", "", {a, b}, {"tensor<2x2xf32>"})),
            Numbers({58, 64, 139, 154}));
}

TEST_F(ContractionTest, BatchesOfMatmulBroadcast) {
  Tensor a = ints({2, 1, 1, 2}, {1, 2, 3, 4}, 32);
  Tensor b = ints({3, 2, 1}, {1, 0, 0, 1, 1, 1}, 32);
  EXPECT_EQ(numbers(op("graph.matmul", "", {a, b}, {"tensor<2x3x1x1xi32>"})),
            Numbers({1, 2, 3, 3, 4, 7}));
}

TEST_F(ContractionTest, EverySizeOfTileGivesTheSameSums) {
  // Row i of A is all i, column j of B all j: the sum is k i j.
  for (int64_t m : {1, 4, 7})
    for (int64_t n : {1, 5, 70})
      for (int64_t k : {1, 3, 300}) {
        std::vector<double> a, b, c;
        for (int64_t i = 0; i < m; ++i)
          a.insert(a.end(), k, i + 1);
        for (int64_t p = 0; p < k; ++p)
          for (int64_t j = 0; j < n; ++j)
            b.push_back(j + 1);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            c.push_back(k * (i + 1) * (j + 1));
        std::string type =
            "tensor<" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
        EXPECT_EQ(numbers(op("graph.matmul", "",
                             {floats({m, k}, a), floats({k, n}, b)}, {type})),
                  c);
      }
}

TEST_F(ContractionTest, NoTermsSumToZero) {
  EXPECT_EQ(
      numbers(op("graph.matmul", "", {floats({1, 0}, {}), floats({0, 2}, {})},
                 {"tensor<1x2xf32>"})),
      Numbers({0, 0}));
}

TEST_F(ContractionTest, ConvSlidesOverThePaddedInput) {
  Tensor x = floats({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  Tensor w = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(numbers(op("graph.conv", conv("1, 1", "1, 1", "0, 0, 0, 0"), {x, w},
                       {"tensor<1x1x2x2xf32>"})),
            Numbers({8, 12, 20, 24}));
  EXPECT_EQ(numbers(op("graph.conv", conv("2, 2", "1, 1", "1, 1, 0, 0"), {x, w},
                       {"tensor<1x1x2x2xf32>"})),
            Numbers({0, 3, 9, 24}));
  EXPECT_EQ(numbers(op("graph.conv", conv("1, 1", "2, 2", "0, 0, 0, 0"), {x, w},
                       {"tensor<1x1x1x1xf32>"})),
            Numbers({16}));
}

TEST_F(ContractionTest, ConvInGroups) {
  Tensor x = ints({1, 2, 3}, {1, 2, 3, 10, 20, 30}, 32);
  Tensor w = ints({2, 1, 2}, {1, -1, 2, 1}, 32);
  EXPECT_EQ(numbers(op("graph.conv", conv("1", "1", "0, 0", 2), {x, w},
                       {"tensor<1x2x2xi32>"})),
            Numbers({-1, -1, 40, 70}));
}

TEST_F(ContractionTest, ConvWithChannelsLast) {
  Tensor x = floats({1, 3, 2}, {1, 10, 2, 20, 3, 30});
  Tensor w = floats({3, 2, 2}, {1, 1, 0, 0, 0, 0, 1, -1, 2, 0, 1, 0});
  std::string last = conv("1", "1", "0, 1");
  last.insert(last.rfind('}'), ", channels_last");
  EXPECT_EQ(numbers(op("graph.conv", last, {x, w}, {"tensor<1x3x3xf32>"})),
            Numbers({3, -10, 12, 5, -10, 24, 3, 30, 36}));
}
TEST_F(ContractionTest, ConvTransposeSpreadsEachElement) {
  Tensor x = floats({1, 1, 2}, {1, 2}), w = floats({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(numbers(op("graph.conv_transpose", conv("2", "1", "0, 0"), {x, w},
                       {"tensor<1x1x5xf32>"})),
            Numbers({1, 10, 102, 20, 200}));
  EXPECT_EQ(numbers(op("graph.conv_transpose", conv("2", "1", "1, 1"), {x, w},
                       {"tensor<1x1x3xf32>"})),
            Numbers({10, 102, 20}));
  Tensor y = floats({1, 2, 1}, {1, 2}), v = floats({2, 1, 1}, {3, 5});
  EXPECT_EQ(numbers(op("graph.conv_transpose", conv("1", "1", "0, 0", 2),
                       {y, v}, {"tensor<1x2x1xf32>"})),
            Numbers({3, 10}));
}

} // namespace
} // namespace tenon::reference
