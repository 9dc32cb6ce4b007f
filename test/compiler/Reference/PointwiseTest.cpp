//===- PointwiseTest.cpp - Element by element ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

using testing::Test;
using Numbers = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

class PointwiseTest : public EvaluateTest {
protected:
  void expectUnary(llvm::StringRef name, Numbers from, Numbers to,
                   llvm::StringRef attributes = "") {
    std::string type = "tensor<" + std::to_string(from.size()) + "xf64>";
    Tensor input =
        Tensor::fromFloats(f64(), {static_cast<int64_t>(from.size())}, from);
    auto results = op(name, attributes, {input}, {type});
    ASSERT_EQ(results.size(), 1u) << name.str();
    for (size_t i = 0; i < to.size(); ++i)
      EXPECT_NEAR(results[0].floats()[i], to[i], 1e-9)
          << name.str() << " of " << from[i];
  }
};

TEST_F(PointwiseTest, KnownValuesOfFunctions) {
  expectUnary("graph.abs", {-2, 3}, {2, 3});
  expectUnary("graph.acos", {1, 0}, {0, M_PI_2});
  expectUnary("graph.acosh", {1, 2}, {0, 1.3169578969248166});
  expectUnary("graph.asin", {1}, {M_PI_2});
  expectUnary("graph.asinh", {1}, {0.881373587019543});
  expectUnary("graph.atan", {1}, {M_PI_4});
  expectUnary("graph.atanh", {0.5}, {0.5493061443340549});
  expectUnary("graph.ceil", {1.2, -1.2}, {2, -1});
  expectUnary("graph.cos", {M_PI}, {-1});
  expectUnary("graph.cosh", {1}, {1.5430806348152437});
  expectUnary("graph.erf", {0.5}, {0.5204998778130465});
  expectUnary("graph.exp", {1}, {M_E});
  expectUnary("graph.floor", {1.8, -1.2}, {1, -2});
  expectUnary("graph.log", {M_E}, {1});
  expectUnary("graph.neg", {2}, {-2});
  expectUnary("graph.reciprocal", {4}, {0.25});
  expectUnary("graph.round", {0.5, 1.5, 2.5, -0.5}, {0, 2, 2, 0});
  expectUnary("graph.sigmoid", {0, 1, -800}, {0.5, 0.7310585786300049, 0});
  expectUnary("graph.sign", {-3, 0, 5}, {-1, 0, 1});
  expectUnary("graph.sin", {M_PI_2}, {1});
  expectUnary("graph.sinh", {1}, {1.1752011936438014});
  expectUnary("graph.softplus", {0, 1000}, {0.6931471805599453, 1000});
  expectUnary("graph.sqrt", {9}, {3});
  expectUnary("graph.tan", {M_PI_4}, {1});
  expectUnary("graph.tanh", {1}, {0.7615941559557649});
}

TEST_F(PointwiseTest, EachKindOfGelu) {
  expectUnary("graph.gelu", {1, -1}, {0.8413447460685429, -0.158655253931457},
              "{kind = #graph<gelu_kind erf>}");
  expectUnary("graph.gelu", {1}, {0.8411919906082768},
              "{kind = #graph<gelu_kind tanh>}");
  expectUnary("graph.gelu", {1}, {0.8457957659328212},
              "{kind = #graph<gelu_kind quick>}");
}

TEST_F(PointwiseTest, NanIsKept) {
  Tensor a = floats({2}, {nan, 1}), b = floats({2}, {1, nan});
  for (llvm::StringRef name : {"graph.max", "graph.min"})
    for (double value : numbers(op(name, "", {a, b}, {"tensor<2xf32>"})))
      EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(
      std::isnan(numbers(op("graph.sign", "", {a}, {"tensor<2xf32>"}))[0]));
}

TEST_F(PointwiseTest, EveryFloatResultIsRounded) {
  Tensor a = floats({1}, {0x1p24}), b = floats({1}, {1});
  EXPECT_EQ(numbers(op("graph.add", "", {a, b}, {"tensor<1xf32>"})),
            Numbers({0x1p24}));
  Tensor c = floats({1}, {89});
  EXPECT_EQ(numbers(op("graph.exp", "", {c}, {"tensor<1xf32>"})),
            Numbers({infinity}));
}

TEST_F(PointwiseTest, OperandsBroadcast) {
  Tensor column = floats({2, 1}, {10, 20}), row = floats({3}, {1, 2, 3});
  EXPECT_EQ(numbers(op("graph.sub", "", {column, row}, {"tensor<2x3xf32>"})),
            Numbers({9, 8, 7, 19, 18, 17}));
  Tensor scalar = floats({}, {100});
  EXPECT_EQ(numbers(op("graph.add", "", {scalar, row}, {"tensor<3xf32>"})),
            Numbers({101, 102, 103}));
  EXPECT_EQ(numbers(op("graph.add", "", {scalar, scalar}, {"tensor<f32>"})),
            Numbers({200}));
}

TEST_F(PointwiseTest, IntegersDivideTowardsZeroAndModuloFollowsTheDivisor) {
  Tensor a = ints({4}, {7, -7, 7, -7}, 32), b = ints({4}, {2, 2, -2, -2}, 32);
  auto run = [&](llvm::StringRef name) {
    return numbers(op(name, "", {a, b}, {"tensor<4xi32>"}));
  };
  EXPECT_EQ(run("graph.div"), Numbers({3, -3, -3, 3}));
  EXPECT_EQ(run("graph.fmod"), Numbers({1, -1, 1, -1}));
  EXPECT_EQ(run("graph.mod"), Numbers({1, 1, -1, -1}));
  Tensor c = floats({2}, {5.5, -5.5}), d = floats({2}, {-2, 2});
  EXPECT_EQ(numbers(op("graph.mod", "", {c, d}, {"tensor<2xf32>"})),
            Numbers({-0.5, 0.5}));
  EXPECT_EQ(numbers(op("graph.fmod", "", {c, d}, {"tensor<2xf32>"})),
            Numbers({1.5, -1.5}));
}

TEST_F(PointwiseTest, IntegersWrap) {
  Tensor a = ints({2}, {127, -128}, 8), b = ints({2}, {1, -1}, 8);
  EXPECT_EQ(numbers(op("graph.add", "", {a, b}, {"tensor<2xi8>"})),
            Numbers({-128, 127}));
  EXPECT_EQ(numbers(op("graph.div", "", {a, b}, {"tensor<2xi8>"})),
            Numbers({127, -128}));
  EXPECT_EQ(numbers(op("graph.abs", "", {a}, {"tensor<2xi8>"})),
            Numbers({127, -128}));
  Tensor c = naturals({2}, {0, 250}, 8), d = naturals({2}, {1, 10}, 8);
  EXPECT_EQ(numbers(op("graph.sub", "", {c, d}, {"tensor<2xui8>"})),
            Numbers({255, 240}));
  EXPECT_EQ(numbers(op("graph.mul", "", {c, d}, {"tensor<2xui8>"})),
            Numbers({0, 196}));
}

TEST_F(PointwiseTest, LargeUnsignedNumbersArePositive) {
  Tensor a = naturals({1}, {-2}, 64), b = naturals({1}, {3}, 64);
  auto values = [&](llvm::StringRef name) {
    return op(name, "", {a, b}, {"tensor<1xui64>"})[0].ints()[0];
  };
  EXPECT_EQ(values("graph.div"), 6148914691236517204); // (2^64 - 2) / 3
  EXPECT_EQ(values("graph.mod"), 2);
  EXPECT_EQ(values("graph.max"), -2);
  EXPECT_EQ(values("graph.min"), 3);
  EXPECT_EQ(numbers(op("graph.less", "", {a, b}, {"tensor<1xi1>"})),
            Numbers({0}));
}

TEST_F(PointwiseTest, PowersAndShifts) {
  Tensor a = ints({4}, {2, -3, 2, -1}, 32), b = ints({4}, {10, 3, -1, -3}, 32);
  EXPECT_EQ(numbers(op("graph.pow", "", {a, b}, {"tensor<4xi32>"})),
            Numbers({1024, -27, 0, -1}));
  Tensor c = floats({2}, {2, 9}), d = floats({2}, {-1, 0.5});
  EXPECT_EQ(numbers(op("graph.pow", "", {c, d}, {"tensor<2xf32>"})),
            Numbers({0.5, 3}));
  Tensor e = naturals({3}, {129, 1, 255}, 8), f = naturals({3}, {1, 8, 4}, 8);
  EXPECT_EQ(numbers(op("graph.shift_left", "", {e, f}, {"tensor<3xui8>"})),
            Numbers({2, 0, 240}));
  EXPECT_EQ(numbers(op("graph.shift_right", "", {e, f}, {"tensor<3xui8>"})),
            Numbers({64, 0, 15}));
  Tensor g = ints({2}, {-1, -1}, 8), h = ints({2}, {4, 9}, 8);
  EXPECT_EQ(numbers(op("graph.shift_right", "", {g, h}, {"tensor<2xi8>"})),
            Numbers({15, 0}));
}

TEST_F(PointwiseTest, BitsAndBools) {
  Tensor a = naturals({1}, {12}, 8), b = naturals({1}, {10}, 8);
  auto bits = [&](llvm::StringRef name) {
    return numbers(op(name, "", {a, b}, {"tensor<1xui8>"}))[0];
  };
  EXPECT_EQ(bits("graph.bit_and"), 8);
  EXPECT_EQ(bits("graph.bit_or"), 14);
  EXPECT_EQ(bits("graph.bit_xor"), 6);
  EXPECT_EQ(numbers(op("graph.bit_not", "", {a}, {"tensor<1xui8>"})),
            Numbers({243}));
  Tensor p = ints({4}, {0, 0, 1, 1}, 1), q = ints({4}, {0, 1, 0, 1}, 1);
  auto bools = [&](llvm::StringRef name) {
    return numbers(op(name, "", {p, q}, {"tensor<4xi1>"}));
  };
  EXPECT_EQ(bools("graph.and"), Numbers({0, 0, 0, 1}));
  EXPECT_EQ(bools("graph.or"), Numbers({0, 1, 1, 1}));
  EXPECT_EQ(bools("graph.xor"), Numbers({0, 1, 1, 0}));
  EXPECT_EQ(bools("graph.equal"), Numbers({1, 0, 0, 1}));
  EXPECT_EQ(numbers(op("graph.not", "", {q}, {"tensor<4xi1>"})),
            Numbers({1, 0, 1, 0}));
}

TEST_F(PointwiseTest, ComparisonsAreFalseForNan) {
  Tensor a = floats({3}, {1, nan, 2}), b = floats({3}, {1, nan, 3});
  auto compare = [&](llvm::StringRef name) {
    return numbers(op(name, "", {a, b}, {"tensor<3xi1>"}));
  };
  EXPECT_EQ(compare("graph.equal"), Numbers({1, 0, 0}));
  EXPECT_EQ(compare("graph.less"), Numbers({0, 0, 1}));
  EXPECT_EQ(compare("graph.less_equal"), Numbers({1, 0, 1}));
}

TEST_F(PointwiseTest, PredicatesAndSelect) {
  Tensor a = floats({4}, {nan, infinity, -infinity, 0});
  EXPECT_EQ(numbers(op("graph.is_nan", "", {a}, {"tensor<4xi1>"})),
            Numbers({1, 0, 0, 0}));
  EXPECT_EQ(numbers(op("graph.is_inf", "{negative = true, positive = false}",
                       {a}, {"tensor<4xi1>"})),
            Numbers({0, 0, 1, 0}));
  Tensor pick = ints({2, 1}, {1, 0}, 1);
  EXPECT_EQ(
      numbers(op("graph.select", "", {pick, ints({2}, {1, 2}), ints({}, {9})},
                 {"tensor<2x2xi64>"})),
      Numbers({1, 2, 9, 9}));
}

TEST_F(PointwiseTest, IntegerDivisionByZeroIsAFaultOfTheData) {
  Tensor a = ints({2}, {1, 2}), b = ints({2}, {1, 0});
  EXPECT_EQ(opFault("graph.div", "", {a, b}, {"tensor<2xi64>"}),
            "node 'graph.div' (graph.div): division of an integer by zero");
  EXPECT_NE(opFault("graph.mod", "", {a, b}, {"tensor<2xi64>"}), "");
}

} // namespace
} // namespace tenon::reference
