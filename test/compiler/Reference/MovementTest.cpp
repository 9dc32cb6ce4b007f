//===- MovementTest.cpp - Elements under other shapes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

class MovementTest : public EvaluateTest {
protected:
  Numbers pad(llvm::StringRef mode, llvm::StringRef low, int64_t size) {
    std::string attributes = "{low = #graph.dims<" + low.str() +
                             ">, mode = #graph<pad_mode " + mode.str() + ">}";
    return numbers(op("graph.pad", attributes,
                      {ints({3}, {1, 2, 3}), ints({}, {9})},
                      {"tensor<" + std::to_string(size) + "xi64>"}));
  }
};

TEST_F(MovementTest, ReshapeBroadcastTranspose) {
  Tensor a = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(numbers(op("graph.reshape", "", {a}, {"tensor<3x2xi64>"})),
            Numbers({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(op("graph.transpose", "{permutation = array<i64: 1, 0>}",
                       {a}, {"tensor<3x2xi64>"})),
            Numbers({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(numbers(op("graph.broadcast", "", {ints({2, 1}, {1, 2})},
                       {"tensor<2x2x2xi64>"})),
            Numbers({1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST_F(MovementTest, SliceStepsBothWays) {
  Tensor a = ints({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(numbers(op("graph.slice",
                       "{starts = #graph.dims<1, 3>, "
                       "steps = #graph.dims<1, -2>}",
                       {a}, {"tensor<1x2xi64>"})),
            Numbers({7, 5}));
  EXPECT_NE(opFault("graph.slice",
                    "{starts = #graph.dims<0, 2>, steps = #graph.dims<1, 1>}",
                    {a}, {"tensor<2x3xi64>"})
                .find("leaves axis 1 of [2, 4]"),
            std::string::npos);
}

TEST_F(MovementTest, WindowsOverlap) {
  Tensor a = ints({2, 5, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(numbers(op("graph.windows",
                       "{axis = 1 : i64, stride = 1 : i64, step = 2 : i64}",
                       {a}, {"tensor<2x3x2x1xi64>"})),
            Numbers({0, 2, 1, 3, 2, 4, 5, 7, 6, 8, 7, 9}));
}

TEST_F(MovementTest, AppendLeavesRoom) {
  // Of two rows with room for three, one is there; two are added.
  Tensor buffer = ints({2, 3}, {1, -1, -1, 2, -1, -1});
  Tensor rows = ints({2, 2}, {3, 4, 5, 6});
  const char *attributes = "{axis = 1 : i64, length = #graph.dims<1>}";
  EXPECT_EQ(numbers(op("graph.append", attributes, {buffer, rows},
                       {"tensor<2x4xi64>"})),
            Numbers({1, 3, 4, 0, 2, 5, 6, 0}));
  EXPECT_NE(
      opFault("graph.append", attributes, {buffer, rows}, {"tensor<2x2xi64>"})
          .find("no room for 1 and 2 rows"),
      std::string::npos);
}

TEST_F(MovementTest, Concat) {
  EXPECT_EQ(numbers(op("graph.concat", "{axis = 1 : i64}",
                       {ints({2, 1}, {1, 2}), ints({2, 2}, {3, 4, 5, 6}),
                        ints({2, 0}, {})},
                       {"tensor<2x3xi64>"})),
            Numbers({1, 3, 4, 2, 5, 6}));
}

TEST_F(MovementTest, RotaryTurnsPairs) {
  // A quarter turn and none; the last element is no part of a pair.
  Tensor x = floats({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  Tensor cos = floats({1, 1, 2}, {0, 1}), sin = floats({1, 1, 2}, {1, 0});
  EXPECT_EQ(numbers(op("graph.rotary", "{interleaved = false}", {x, cos, sin},
                       {"tensor<1x1x1x5xf32>"})),
            Numbers({-3, 2, 1, 4, 5}));
  EXPECT_EQ(numbers(op("graph.rotary", "{interleaved = true}", {x, cos, sin},
                       {"tensor<1x1x1x5xf32>"})),
            Numbers({-2, 1, 3, 4, 5}));
}

TEST_F(MovementTest, EachModeOfPad) {
  EXPECT_EQ(pad("constant", "1", 6), Numbers({9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(pad("edge", "2", 6), Numbers({1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("reflect", "2", 7), Numbers({3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad("wrap", "1", 6), Numbers({3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(pad("constant", "-1", 2), Numbers({2, 3}));
}

} // namespace
} // namespace tenon::reference
