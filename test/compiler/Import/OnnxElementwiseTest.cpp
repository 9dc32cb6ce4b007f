//===- OnnxElementwiseTest.cpp - Element by element, in old versions too --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

using OnnxElementwiseTest = OperatorTest;

TEST_F(OnnxElementwiseTest, ClipTakesAttributesBeforeOpset11) {
  setOpset(7);
  auto *clip = node("Clip", {floats({3}, {-2, 0.5, 9})});
  addFloat(clip, "min", -1);
  addFloat(clip, "max", 2);
  expect({-1, 0.5, 2});
}

TEST_F(OnnxElementwiseTest, ClipTakesOneBoundAsInput) {
  node("Clip", {floats({3}, {-2, 0.5, 9}), {}, floats({}, {2})});
  expect({-2, 0.5, 2});
}

TEST_F(OnnxElementwiseTest, ClipGivesTheUpperBoundWhereBoundsCross) {
  node("Clip", {floats({2}, {0, 9}), floats({}, {5}), floats({}, {3})});
  expect({3, 3});
}

TEST_F(OnnxElementwiseTest, ClipRefusesAVectorAsBound) {
  node("Clip", {floats({3}, {0, 0, 0}), floats({3}, {1, 2, 3})});
  expectReason("a bound must be a scalar");
}

TEST_F(OnnxElementwiseTest, PowOfAnIntegerTakesAFractionalExponent) {
  node("Pow", {ints({3}, {4, 9, 2}), floats({}, {0.5})});
  expect({2, 3, 1});
}

TEST_F(OnnxElementwiseTest, ModFollowsTheDivisorAndFmodTheDividend) {
  node("Mod", {ints({4}, {7, -7, 7, -7}), ints({4}, {3, 3, -3, -3})});
  expect({1, 2, -2, -1});
}

TEST_F(OnnxElementwiseTest, FmodFollowsTheDividend) {
  addInt(node("Mod", {floats({2}, {-7, 7}), floats({2}, {3, -3})}), "fmod", 1);
  expect({-1, 1});
}

TEST_F(OnnxElementwiseTest, ModOfFloatsNeedsFmod) {
  node("Mod", {floats({1}, {1}), floats({1}, {1})});
  expectReason("fmod must be 1");
}

TEST_F(OnnxElementwiseTest, BitShiftRefusesAnotherDirection) {
  addText(node("BitShift", {bytes({1}, {1}), bytes({1}, {1})}), "direction",
          "UP");
  expectReason("direction must be LEFT or RIGHT");
}

TEST_F(OnnxElementwiseTest, PReluBroadcastsItsSlope) {
  node("PRelu", {floats({2, 2}, {-1, 2, -3, 4}), floats({2, 1}, {10, 0.5})});
  expect({-10, 2, -1.5, 4});
}

TEST_F(OnnxElementwiseTest, PReluRefusesASlopeOfHigherRank) {
  node("PRelu", {floats({2}, {-1, 2}), floats({3, 1}, {1, 2, 3})});
  expectReason("slope does not broadcast");
}

TEST_F(OnnxElementwiseTest, MeanIsOfAllOperands) {
  node("Mean", {floats({2}, {1, 2}), floats({1}, {4}), floats({}, {7})});
  expect({4, 13.0 / 3});
}

TEST_F(OnnxElementwiseTest, ActivationsFollowTheirFormulas) {
  addFloat(node("ThresholdedRelu", {floats({3}, {0.5, 1, 2})}), "alpha", 1);
  expect({0, 0, 2});
}

TEST_F(OnnxElementwiseTest, FastGeluAddsItsBias) {
  // gelu(0) = 0; far from zero it is the identity, or nothing.
  node("FastGelu", {floats({3}, {1, 19, -21}), floats({3}, {-1, 1, 1})}, 1,
       "com.microsoft");
  expect({0, 20, 0});
}

TEST_F(OnnxElementwiseTest, AMissingOperandIsNamed) {
  node("Add", {floats({1}, {1})});
  expectReason("has 1 inputs; the operator takes 2");
}

} // namespace
} // namespace tenon
