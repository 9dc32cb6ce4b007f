//===- OnnxGatedTest.cpp - Gates and norms that onnxruntime fuses ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// (3, 4) has a root mean square of sqrt(12.5), (0, 2) of sqrt(2).
class OnnxGatedTest : public OperatorTest {
protected:
  onnx::NodeProto *gatedNorm(const std::string &activation, Tensor scale) {
    auto *norm = node(
        "GatedRMSNorm",
        {floats({1, 4}, {3, 4, 0, 2}), scale, floats({1, 4}, {1, 1, 1, 0})}, 1,
        "com.microsoft");
    addFloat(norm, "epsilon", 0);
    addText(norm, "activation", activation);
    return norm;
  }
  onnx::NodeProto *branches(std::vector<int64_t> shape, Tensor scale) {
    auto *norm = node("BranchwiseRMSNorm", {floats(shape, {3, 4, 0, 2}), scale},
                      1, "com.microsoft");
    addFloat(norm, "epsilon", 0);
    return norm;
  }
};

TEST_F(OnnxGatedTest, NormsMayBeShorterThanRows) {
  gatedNorm("sigmoid", floats({2}, {1, 2}));
  expect({0.6203238, 1.6541968, 0, 1.4142136});
}

TEST_F(OnnxGatedTest, AGateMayBeASwish) {
  gatedNorm("silu", floats({2}, {1, 2}));
  expect({0.6203238, 1.6541968, 0, 0});
}

TEST_F(OnnxGatedTest, AnotherGateIsRefused) {
  gatedNorm("tanh", floats({2}, {1, 2}));
  expectReason("activation must be silu, swish or sigmoid");
}

TEST_F(OnnxGatedTest, ScalesFillRows) {
  gatedNorm("silu", floats({3}, {1, 2, 3}));
  expectReason("the scale must fit the rows");
}

TEST_F(OnnxGatedTest, BranchesMayLieInOneAxis) {
  addInt(branches({1, 4}, floats({4}, {1, 2, 3, 4})), "num_branches", 2);
  expect({0.8485281, 2.2627417, 0, 5.6568542});
}

TEST_F(OnnxGatedTest, BranchesMayShareAScale) {
  branches({2, 2}, floats({2}, {1, 2}));
  expect({0.8485281, 2.2627417, 0, 2.8284271});
}

TEST_F(OnnxGatedTest, AScaleFitsTheBranches) {
  addInt(branches({1, 4}, floats({3}, {1, 2, 3})), "num_branches", 2);
  expectReason("the scale must fit the branches");
}

TEST_F(OnnxGatedTest, BranchesFillRows) {
  addInt(branches({1, 4}, {}), "num_branches", 3);
  expectReason("num_branches must divide the rows");
}

TEST_F(OnnxGatedTest, AGateIsOneNumberPerRow) {
  node("GatedAdd",
       {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {10, 20, 30, 40}),
        floats({2, 1}, {0.5, 2})},
       1, "com.microsoft");
  expect({6, 12, 63, 84});
}

TEST_F(OnnxGatedTest, GatesThatAreProductsAreRefused) {
  node("GatedAdd",
       {floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2}),
        floats({2, 1}, {1, 2})},
       1, "com.microsoft");
  expectReason("gate_weight is not multiplied");
}

TEST_F(OnnxGatedTest, AScaleCountsMoreThanAlpha) {
  addFloat(node("ScaledSiLU", {floats({1}, {0.5}), floats({}, {2})}, 1,
                "com.microsoft"),
           "alpha", 7);
  expect({0.7310586});
}

TEST_F(OnnxGatedTest, ASwishOpensItsOtherHalf) {
  node("SwiGLU", {floats({1, 2}, {1, -1}), floats({1, 2}, {2, 3})}, 1,
       "com.microsoft");
  expect({1.4621172, -0.8068242});
}

TEST_F(OnnxGatedTest, HalvesOfASwishHaveLimits) {
  auto *gated =
      node("SwiGLU", {floats({1, 4}, {5, -1, -9, 0.5})}, 1, "com.microsoft");
  addFloat(gated, "limit", 2);
  addFloat(gated, "activation_alpha", 0.5);
  addFloat(gated, "activation_beta", 1);
  expect({-1.4621172, -0.5663110}); // Of 2 and -1, and -2 + 1 and 0.5 + 1.
}

TEST_F(OnnxGatedTest, ASwishHasTwoHalves) {
  node("SwiGLU", {floats({1, 3}, {5, -1, -9})}, 1, "com.microsoft");
  expectReason("the rows must have two halves");
}

} // namespace
} // namespace tenon
