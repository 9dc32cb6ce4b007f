//===- RowsTest.cpp - Reductions, selections and normalisations ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

class RowsTest : public EvaluateTest {
protected:
  Numbers reduce(std::string kind, std::string axes, Tensor input,
                 std::string result) {
    return numbers(op("graph.reduce",
                      "{axes = array<i64: " + axes +
                          ">, kind = #graph<reduce_kind " + kind + ">}",
                      {input}, {result}));
  }
  void expectNear(const std::vector<Tensor> &results, Numbers expected) {
    Numbers values = numbers(results);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 1e-6);
  }
};

TEST_F(RowsTest, ReduceEachKind) {
  Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 7});
  EXPECT_EQ(reduce("sum", "1", a, "tensor<2x1xf32>"), Numbers({6, 16}));
  EXPECT_EQ(reduce("mean", "0", a, "tensor<1x3xf32>"), Numbers({2.5, 3.5, 5}));
  EXPECT_EQ(reduce("max", "0, 1", a, "tensor<1x1xf32>"), Numbers({7}));
  EXPECT_EQ(reduce("min", "1", a, "tensor<2x1xf32>"), Numbers({1, 4}));
  EXPECT_EQ(reduce("prod", "1", a, "tensor<2x1xf32>"), Numbers({6, 140}));
  Tensor b = ints({3}, {100, 100, -7}, 8);
  EXPECT_EQ(reduce("sum", "0", b, "tensor<1xi8>"), Numbers({-63}));
  EXPECT_EQ(reduce("min", "0", b, "tensor<1xi8>"), Numbers({-7}));
}

TEST_F(RowsTest, ReduceNothing) {
  Tensor none = floats({0, 1}, {});
  EXPECT_EQ(reduce("sum", "0", none, "tensor<1x1xf32>"), Numbers({0}));
  EXPECT_EQ(reduce("prod", "0", none, "tensor<1x1xf32>"), Numbers({1}));
  EXPECT_EQ(reduce("max", "0", none, "tensor<1x1xf32>"), Numbers({-infinity}));
  EXPECT_TRUE(std::isnan(reduce("mean", "0", none, "tensor<1x1xf32>")[0]));
  EXPECT_EQ(reduce("max", "0", ints({0}, {}, 8), "tensor<1xi8>"),
            Numbers({-128}));
}

TEST_F(RowsTest, ArgReduceFirstAndLast) {
  Tensor a = ints({2, 3}, {5, 1, 5, 0, 0, 2});
  auto pick = [&](std::string kind, bool last) {
    return numbers(op("graph.arg_reduce",
                      "{axis = 1 : i64, kind = #graph<reduce_kind " + kind +
                          ">, last = " + (last ? "true" : "false") + "}",
                      {a}, {"tensor<2x1xi64>"}));
  };
  EXPECT_EQ(pick("max", false), Numbers({0, 2}));
  EXPECT_EQ(pick("max", true), Numbers({2, 2}));
  EXPECT_EQ(pick("min", false), Numbers({1, 0}));
  EXPECT_EQ(pick("min", true), Numbers({1, 1}));
}

TEST_F(RowsTest, Cumulative) {
  auto run = [&](std::string kind, std::string exclusive, std::string reverse) {
    return numbers(op("graph.cumulative",
                      "{axis = 0 : i64, kind = #graph<reduce_kind " + kind +
                          ">, exclusive = " + exclusive +
                          ", reverse = " + reverse + "}",
                      {floats({3, 1}, {1, 2, 4})}, {"tensor<3x1xf32>"}));
  };
  EXPECT_EQ(run("sum", "false", "false"), Numbers({1, 3, 7}));
  EXPECT_EQ(run("sum", "true", "false"), Numbers({0, 1, 3}));
  EXPECT_EQ(run("sum", "false", "true"), Numbers({7, 6, 4}));
  EXPECT_EQ(run("prod", "true", "true"), Numbers({8, 4, 1}));
}

TEST_F(RowsTest, TopkIsSortedAndStable) {
  Tensor a = floats({2, 4}, {1, 3, 3, 2, 0, -1, 5, -1});
  auto largest = op("graph.topk", "{axis = 1 : i64, largest = true}", {a},
                    {"tensor<2x2xf32>", "tensor<2x2xi64>"});
  EXPECT_EQ(numbers(largest[0]), Numbers({3, 3, 5, 0}));
  EXPECT_EQ(numbers(largest[1]), Numbers({1, 2, 2, 0}));
  auto smallest = op("graph.topk", "{axis = 0 : i64, largest = false}", {a},
                     {"tensor<1x4xf32>", "tensor<1x4xi64>"});
  EXPECT_EQ(numbers(smallest[0]), Numbers({0, -1, 3, -1}));
  EXPECT_EQ(numbers(smallest[1]), Numbers({1, 1, 0, 1}));
  EXPECT_NE(opFault("graph.topk", "{axis = 1 : i64, largest = true}", {a},
                    {"tensor<2x5xf32>", "tensor<2x5xi64>"})
                .find("asks for 5 of 4 elements"),
            std::string::npos);
}

TEST_F(RowsTest, SoftmaxAlongAnyAxis) {
  Tensor a = floats({2, 2}, {0, std::log(3), 1000, 1000});
  expectNear(op("graph.softmax", "{axis = 1 : i64}", {a}, {"tensor<2x2xf32>"}),
             {0.25, 0.75, 0.5, 0.5});
  expectNear(
      op("graph.log_softmax", "{axis = 1 : i64}", {a}, {"tensor<2x2xf32>"}),
      {-1.3862944, -0.2876821, -0.6931472, -0.6931472});
  Tensor b = floats({2, 1}, {0, -infinity});
  expectNear(op("graph.softmax", "{axis = 0 : i64}", {b}, {"tensor<2x1xf32>"}),
             {1, 0});
}

TEST_F(RowsTest, Norms) {
  Tensor a = floats({1, 2, 2}, {1, 3, 5, 7});
  expectNear(op("graph.layer_norm", "{axis = 2 : i64, epsilon = 3.0}", {a},
                {"tensor<1x2x2xf32>"}),
             {-0.5, 0.5, -0.5, 0.5});
  expectNear(op("graph.layer_norm", "{axis = 1 : i64, epsilon = 0.0}", {a},
                {"tensor<1x2x2xf32>"}),
             {-1.3416408, -0.4472136, 0.4472136, 1.3416408});
  expectNear(op("graph.rms_norm", "{axis = 2 : i64, epsilon = 4.0}", {a},
                {"tensor<1x2x2xf32>"}),
             {0.3333333, 1, 0.7808688, 1.0932164});
}

} // namespace
} // namespace tenon::reference
