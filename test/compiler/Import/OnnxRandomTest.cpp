//===- OnnxRandomTest.cpp - Numbers drawn at random -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of Threefry-2x32 are those that its authors publish for a key and a
// counter of zeros: 6b200159 and 99ba4efe.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tenon {
namespace {

class OnnxRandomTest : public OperatorTest {
protected:
  OnnxRandomTest() { setOpset(22); }

  onnx::NodeProto *draw(const std::string &op, std::vector<int64_t> shape) {
    onnx::NodeProto *made = node(op, {});
    addInts(made, "shape", std::move(shape));
    return made;
  }
  /// Two nodes that draw three numbers each, and what they draw.
  std::vector<Tensor> drawTwice() {
    draw("RandomUniform", {3});
    graph.output("z");
    addInts(graph.node("RandomUniform", {}, {"z"}), "shape", {3});
    return results();
  }
};

TEST_F(OnnxRandomTest, NumbersAreTheFirstBitsOfWords) {
  addFloat(draw("RandomUniform", {1}), "seed", 0);
  expect({0x6b2001p-24});
}

TEST_F(OnnxRandomTest, DoublesAreOfBothWords) {
  onnx::NodeProto *made = draw("RandomUniform", {1});
  addFloat(made, "seed", 0);
  addInt(made, "dtype", onnx::TensorProto::DOUBLE);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].number(0),
            0x6b200159p-32 + double(0x99ba4efeu >> 11) * 0x1p-53);
}

TEST_F(OnnxRandomTest, BoundsAreHeldInShortTypes) {
  onnx::NodeProto *made = draw("RandomUniform", {20000});
  addInt(made, "dtype", onnx::TensorProto::BFLOAT16);
  addFloat(made, "low", 2);
  addFloat(made, "high", 3);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  Numbers drawn = numbers(found[0]);
  EXPECT_EQ(*llvm::min_element(drawn), 2);
  EXPECT_LE(*llvm::max_element(drawn), 3); // 1 - 2^-8 is not there beside 2.
}

TEST_F(OnnxRandomTest, NormalsHaveTheirMeanAndScale) {
  onnx::NodeProto *made = draw("RandomNormal", {100, 200});
  addFloat(made, "mean", 5);
  addFloat(made, "scale", 2);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  double sum = 0, squares = 0, cubes = 0;
  for (double each : numbers(found[0])) {
    double standard = (each - 5) / 2;
    sum += standard;
    squares += standard * standard;
    cubes += standard * standard * standard;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03); // Four times what is to be expected.
  EXPECT_NEAR(squares / 20000, 1, 0.04);
  EXPECT_NEAR(cubes / 20000, 0, 0.11);
}

TEST_F(OnnxRandomTest, NodesDrawOtherNumbers) {
  auto found = drawTwice();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(numbers(found[0]), numbers(found[1]));
}

TEST_F(OnnxRandomTest, TheSeedOfTheModelCounts) {
  auto before = drawTwice();
  options.seed = 1ull << 40;
  auto after = results();
  ASSERT_EQ(before.size() + after.size(), 4u);
  EXPECT_NE(numbers(before[0]), numbers(after[0]));
}

TEST_F(OnnxRandomTest, TheSeedMayBeAnInput) {
  options.seed = 12345678901234;
  auto before = drawTwice();
  options.seed.reset();
  given(0, ints({}, {12345678901234}));
  auto after = results();
  ASSERT_EQ(before.size() + after.size(), 4u);
  EXPECT_EQ(numbers(before[0]), numbers(after[0]));
  EXPECT_EQ(numbers(before[1]), numbers(after[1]));
}

TEST_F(OnnxRandomTest, BernoulliGivesOnesAsOftenAsAsked) {
  onnx::NodeProto *made =
      node("Bernoulli", {floats({10000}, Numbers(10000, 0.25))});
  addInt(made, "dtype", onnx::TensorProto::INT32);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  Numbers drawn = numbers(found[0]);
  EXPECT_NEAR(std::accumulate(drawn.begin(), drawn.end(), 0.0), 2500, 180);
}

TEST_F(OnnxRandomTest, BernoulliHasItsBounds) {
  node("Bernoulli", {floats({4}, {0, 1, 0, 1})});
  expect({0, 1, 0, 1});
}

TEST_F(OnnxRandomTest, MultinomialDrawsByScores) {
  double never = -std::numeric_limits<double>::infinity();
  onnx::NodeProto *made = node(
      "Multinomial",
      {floats({2, 3}, {std::log(0.2), never, std::log(0.8), 7, 7, never})});
  addInt(made, "sample_size", 5000);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  Numbers drawn = numbers(found[0]);
  ASSERT_EQ(drawn.size(), 10000u);
  EXPECT_NEAR(std::count(drawn.begin(), drawn.begin() + 5000, 0), 1000, 120);
  EXPECT_EQ(std::count(drawn.begin(), drawn.begin() + 5000, 1), 0);
  EXPECT_NEAR(std::count(drawn.begin() + 5000, drawn.end(), 1), 2500, 150);
  EXPECT_EQ(std::count(drawn.begin() + 5000, drawn.end(), 2), 0);
}

TEST_F(OnnxRandomTest, NumbersAreFloats) {
  addInt(draw("RandomNormal", {2}), "dtype", onnx::TensorProto::INT32);
  expectReason("its dtype is no float type");
}

TEST_F(OnnxRandomTest, ShapesAreStated) {
  node("RandomNormal", {});
  expectReason("has no attribute 'shape'");
}

TEST_F(OnnxRandomTest, ShapesAreNotNegative) {
  draw("RandomNormal", {2, -1});
  expectReason("its shape has a negative size");
}

TEST_F(OnnxRandomTest, BoundsAreInOrder) {
  addFloat(draw("RandomUniform", {2}), "low", 2);
  expectReason("its 'low' is not below its 'high'");
}

TEST_F(OnnxRandomTest, SomeClassIsThereToDraw) {
  node("Multinomial", {floats({1, 0}, {})});
  expectReason("it draws from no class");
}

TEST_F(OnnxRandomTest, ASeedThatNobodyDrawsByIsNoInput) {
  addFloat(draw("RandomNormal", {2}), "seed", 3);
  options.seed.reset();
  expectReason("no node of the model draws random numbers by the model's seed");
}

TEST_F(OnnxRandomTest, ANodeThatCannotDrawIsTheProblem) {
  draw("RandomNormal", {-1});
  options.seed.reset();
  EXPECT_FALSE(run());
  EXPECT_EQ(report.invalid, "");
  EXPECT_EQ(report.issues.size(), 1u) << report.str();
}

TEST_F(OnnxRandomTest, AnInputOfTheGraphIsNotTaken) {
  draw("RandomNormal", {2});
  graph.input("seed", {});
  options.seed.reset();
  expectReason("has an input 'seed' of its own");
}

} // namespace
} // namespace tenon
