//===- WindowsTest.cpp - Pools ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

class WindowsTest : public EvaluateTest {
protected:
  static std::string pool(std::string kernel, std::string strides,
                          std::string dilations, std::string pads,
                          std::string extra = "") {
    return "{kernel = array<i64: " + kernel +
           ">, strides = array<i64: " + strides +
           ">, dilations = array<i64: " + dilations + ">, pads = #graph.dims<" +
           pads + ">" + extra + "}";
  }
  Tensor image() { return floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }
};

TEST_F(WindowsTest, MaxPool) {
  EXPECT_EQ(
      numbers(op("graph.max_pool", pool("2, 2", "1, 1", "1, 1", "0, 0, 0, 0"),
                 {image()}, {"tensor<1x1x2x2xf32>"})),
      Numbers({5, 6, 8, 9}));
  EXPECT_EQ(
      numbers(op("graph.max_pool", pool("2, 2", "2, 2", "1, 1", "1, 1, 1, 1"),
                 {image()}, {"tensor<1x1x2x2xf32>"})),
      Numbers({1, 3, 7, 9}));
  EXPECT_EQ(
      numbers(op("graph.max_pool", pool("2, 2", "1, 1", "2, 2", "0, 0, 0, 0"),
                 {image()}, {"tensor<1x1x1x1xf32>"})),
      Numbers({9}));
}

TEST_F(WindowsTest, PoolsWithChannelsLast) {
  Tensor x = floats({1, 3, 2}, {1, -10, 3, -20, 2, -30});
  EXPECT_EQ(numbers(op("graph.max_pool",
                       pool("2", "1", "1", "0, 0", ", channels_last"), {x},
                       {"tensor<1x2x2xf32>"})),
            Numbers({3, -10, 3, -20}));
  EXPECT_EQ(numbers(op("graph.average_pool",
                       pool("2", "1", "1", "0, 0",
                            ", channels_last, count_pads = false"),
                       {x}, {"tensor<1x2x2xf32>"})),
            Numbers({2, -15, 2.5, -25}));
}

TEST_F(WindowsTest, MaxPoolIndicesInBothOrders) {
  for (bool column : {false, true})
    EXPECT_EQ(numbers(op("graph.max_pool_indices",
                         pool("2, 2", "1, 1", "1, 1", "0, 0, 0, 0",
                              column ? ", column_major = true"
                                     : ", column_major = false"),
                         {image()}, {"tensor<1x1x2x2xi64>"})),
              column ? Numbers({4, 7, 5, 8}) : Numbers({4, 5, 7, 8}));
}

TEST_F(WindowsTest, AveragePoolWithAndWithoutThePads) {
  for (bool count : {false, true})
    EXPECT_EQ(
        numbers(op("graph.average_pool",
                   pool("2, 2", "2, 2", "1, 1", "1, 1, 1, 1",
                        count ? ", count_pads = true" : ", count_pads = false"),
                   {image()}, {"tensor<1x1x2x2xf32>"})),
        count ? Numbers({0.25, 1.25, 2.75, 7}) : Numbers({1, 2.5, 5.5, 7}));
}

TEST_F(WindowsTest, AWindowPastThePadsCountsOnlyWhatIsThere) {
  // Ceil mode: the last window starts inside and ends beyond the border.
  Tensor x = floats({1, 1, 3}, {1, 2, 5});
  EXPECT_EQ(numbers(op("graph.average_pool",
                       pool("2", "2", "1", "0, 0", ", count_pads = true"), {x},
                       {"tensor<1x1x2xf32>"})),
            Numbers({1.5, 5}));
}

TEST_F(WindowsTest, LpPool) {
  Tensor x = floats({1, 1, 3}, {3, -4, 0});
  EXPECT_EQ(
      numbers(op("graph.lp_pool", pool("2", "1", "1", "0, 0", ", p = 2 : i64"),
                 {x}, {"tensor<1x1x2xf32>"})),
      Numbers({5, 4}));
}

TEST_F(WindowsTest, HugeWindowsTakeNoTime) {
  Tensor x = floats({1, 1, 2}, {1, 3});
  EXPECT_EQ(numbers(op("graph.average_pool",
                       pool("4611686018427387904", "1", "1", "0, 0",
                            ", count_pads = false"),
                       {x}, {"tensor<1x1x1xf32>"})),
            Numbers({2}));
}

} // namespace
} // namespace tenon::reference
