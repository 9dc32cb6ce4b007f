//===- IndexingTest.cpp - Elements picked by index ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using IndexingTest = EvaluateTest;
using Numbers = std::vector<double>;

TEST_F(IndexingTest, GatherCountsNegativeIndicesFromTheEnd) {
  Tensor a = ints({2, 3}, {1, 2, 3, 4, 5, 6}), i = ints({2}, {-1, 0});
  EXPECT_EQ(numbers(op("graph.gather", "{axis = 1 : i64}", {a, i},
                       {"tensor<2x2xi64>"})),
            Numbers({3, 1, 6, 4}));
  EXPECT_EQ(numbers(op("graph.gather", "{axis = 0 : i64}",
                       {a, ints({}, {1}, 32)}, {"tensor<3xi64>"})),
            Numbers({4, 5, 6}));
  EXPECT_EQ(opFault("graph.gather", "{axis = 1 : i64}", {a, ints({1}, {3})},
                    {"tensor<2x1xi64>"}),
            "node 'graph.gather' (graph.gather): index 3 is out of range for "
            "an axis of 3 elements");
}

TEST_F(IndexingTest, GatherElements) {
  Tensor a = ints({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor i = ints({2, 3}, {1, 2, 0, 2, 0, 0});
  EXPECT_EQ(numbers(op("graph.gather_elements", "{axis = 0 : i64}", {a, i},
                       {"tensor<2x3xi64>"})),
            Numbers({4, 8, 3, 7, 2, 3}));
}

TEST_F(IndexingTest, GatherNdWithAndWithoutBatches) {
  Tensor a = ints({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(numbers(op("graph.gather_nd", "{batch_dims = 0 : i64}",
                       {a, ints({2, 2}, {0, 1, 1, 0})}, {"tensor<2x2xi64>"})),
            Numbers({2, 3, 4, 5}));
  EXPECT_EQ(numbers(op("graph.gather_nd", "{batch_dims = 1 : i64}",
                       {a, ints({2, 1}, {1, 0})}, {"tensor<2x2xi64>"})),
            Numbers({2, 3, 4, 5}));
}

TEST_F(IndexingTest, ScatterElements) {
  Tensor a = ints({1, 5}, {1, 2, 3, 4, 5}), i = ints({1, 2}, {1, 1});
  Tensor u = ints({1, 2}, {10, 20});
  auto scatter = [&](std::string kind) {
    return numbers(
        op("graph.scatter_elements",
           "{axis = 1 : i64, kind = #graph<scatter_kind " + kind + ">}",
           {a, i, u}, {"tensor<1x5xi64>"}));
  };
  EXPECT_EQ(scatter("assign"), Numbers({1, 20, 3, 4, 5}));
  EXPECT_EQ(scatter("add"), Numbers({1, 32, 3, 4, 5}));
  EXPECT_EQ(scatter("mul"), Numbers({1, 400, 3, 4, 5}));
  EXPECT_EQ(scatter("max"), Numbers({1, 20, 3, 4, 5}));
  EXPECT_EQ(scatter("min"), Numbers({1, 2, 3, 4, 5}));
}

TEST_F(IndexingTest, ScatterNd) {
  Tensor a = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(
      numbers(op("graph.scatter_nd", "{kind = #graph<scatter_kind assign>}",
                 {a, ints({2, 1}, {2, 0}), floats({2, 2}, {7, 8, 9, 10})},
                 {"tensor<3x2xf32>"})),
      Numbers({9, 10, 3, 4, 7, 8}));
  EXPECT_NE(opFault("graph.scatter_nd", "{kind = #graph<scatter_kind add>}",
                    {a, ints({1, 2}, {0, 2}), floats({1}, {1})},
                    {"tensor<3x2xf32>"})
                .find("index 2 is out of range"),
            std::string::npos);
}

TEST_F(IndexingTest, Nonzero) {
  EXPECT_EQ(numbers(op("graph.nonzero", "", {ints({2, 2}, {1, 0, 1, 1})},
                       {"tensor<2x3xi64>"})),
            Numbers({0, 1, 1, 0, 0, 1}));
}

} // namespace
} // namespace tenon::reference
