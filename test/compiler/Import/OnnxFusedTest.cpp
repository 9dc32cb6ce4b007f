//===- OnnxFusedTest.cpp - Operators that swallow the next one ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers expected are those of ONNX Runtime.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxFusedTest : public OperatorTest {
protected:
  onnx::NodeProto *conv(const std::string &activation,
                        std::vector<float> numbers, Tensor addend = {}) {
    auto *made = node("FusedConv",
                      {floats({1, 1, 3, 3}, {-4, -3, -2, -1, 0, 1, 2, 3, 4}),
                       floats({1, 1, 2, 2}, {1, -1, 0, 0.5}),
                       floats({1}, {0.25}), addend},
                      1, "com.microsoft");
    addText(made, "activation", activation);
    addFloats(made, "activation_params", numbers);
    return made;
  }
  /// Of {-9.5, 8}.
  onnx::NodeProto *gemm(const std::string &activation) {
    auto *made = node("FusedGemm",
                      {floats({1, 2}, {1, -2}), floats({2, 2}, {1, 2, 3, -1}),
                       floats({2}, {0.5, 0})},
                      1, "com.microsoft");
    addText(made, "activation", activation);
    addFloat(made, "alpha", 2);
    return made;
  }
};

TEST_F(OnnxFusedTest, AConvolutionClips) {
  conv("Clip", {-0.5, 1});
  expect({-0.5, -0.25, 0.75, 1});
}

TEST_F(OnnxFusedTest, NumbersOfAnActivationAreAList) {
  conv("HardSigmoid", {0.3f, 0.4f});
  expect({0.175, 0.325, 0.625, 0.775});
}

TEST_F(OnnxFusedTest, AConvolutionLeaks) {
  conv("LeakyRelu", {0.5});
  expect({-0.375, -0.125, 0.75, 1.25});
}

TEST_F(OnnxFusedTest, AConvolutionAddsBeforeItsActivation) {
  conv("Relu", {}, floats({1, 1, 2, 2}, {-3, -1, 1, 2}));
  expect({0, 0, 1.75, 3.25});
}

TEST_F(OnnxFusedTest, AnActivationThatIsNotKnownIsRefused) {
  conv("Gelu", {});
  expectReason("has the activation 'Gelu', which is not known here");
}

TEST_F(OnnxFusedTest, NumbersOfAnActivationAreAttributes) {
  auto *product = gemm("Selu");
  addFloat(product, "activation_alpha", 1.5);
  addFloat(product, "activation_gamma", 1.1f);
  expect({-1.6498766, 8.8});
}

TEST_F(OnnxFusedTest, EachActivationOfAProductIsKnown) {
  gemm("Softsign");
  expect({-0.9047619, 0.8888889});
}

TEST_F(OnnxFusedTest, AProductMayHaveNoActivation) {
  gemm("");
  expect({-9.5, 8});
}

/// Two tokens of two numbers, one head of one.
class QAttentionTest : public OperatorTest {
protected:
  onnx::NodeProto *attention(Tensor weightScale, Tensor weightZero) {
    auto *made = node("QAttention",
                      {bytes({1, 2, 2}, {130, 120, 140, 128}),
                       ints({2, 3}, {2, -1, 3, 4, 5, -6}, 8),
                       floats({3}, {0.1, 0.2, 0.3}),
                       floats({}, {0.1}),
                       weightScale,
                       {},
                       bytes({}, {128}),
                       weightZero},
                      1, "com.microsoft");
    addInt(made, "num_heads", 1);
    return made;
  }
};

TEST_F(QAttentionTest, AWeightMayHaveAScalePerColumn) {
  attention(floats({3}, {0.5, 0.25, 1}), ints({3}, {0, 0, 0}, 8));
  expect({5.207007, 4.392993});
}

TEST_F(QAttentionTest, ATokenMaySeeThoseBeforeItOnly) {
  addInt(attention(floats({}, {0.5}), ints({}, {1}, 8)), "unidirectional", 1);
  expect({3.3, 2.21373});
}

TEST_F(QAttentionTest, RotationIsRefused) {
  addInt(attention(floats({}, {0.5}), {}), "do_rotary", 1);
  expectReason("do_rotary is not computed here");
}

TEST_F(OnnxFusedTest, TablesOfBytesAreEmbedded) {
  node("QEmbedLayerNormalization",
       {ints({1, 2}, {1, 0}, 32), ints({1, 2}, {0, 1}, 32),
        bytes({2, 2}, {1, 5, 9, 4}), bytes({2, 2}, {0, 3, 7, 2}),
        bytes({2, 2}, {1, 1, 2, 8}), bytes({2}, {12, 14}), bytes({2}, {10, 11}),
        ints({1, 2}, {1, 0}, 32), floats({}, {0.5}), floats({}, {0.25}),
        floats({}, {1}), floats({}, {0.5}), floats({}, {0.1}), bytes({}, {2}),
        bytes({}, {1}), bytes({}, {0}), bytes({}, {10}), bytes({}, {10})},
       2, "com.microsoft");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, -1.9, -1, 2.1});
  expectNear(found[1], {1});
}

TEST_F(OnnxFusedTest, LayoutsOfACpuAreRefused) {
  node("Conv", {floats({1, 1}, {0})}, 1, "com.microsoft.nchwc");
  expectReason("save the model at graph optimization level "
               "ORT_ENABLE_EXTENDED");
}

//===----------------------------------------------------------------------===//
// Layouts that onnxruntime gives quantized images
//===----------------------------------------------------------------------===//

/// Two pixels of two channels: 1 + 2 * 2 and 3 + 2 * 4.
TEST_F(OnnxFusedTest, ChannelsOfAQuantizedConvolutionMayComeLast) {
  addInt(node("QLinearConv",
              {bytes({1, 1, 2, 2}, {1, 2, 3, 4}), floats({}, {1}),
               bytes({}, {0}), bytes({1, 2, 1, 1}, {1, 2}), floats({}, {1}),
               bytes({}, {0}), floats({}, {1}), bytes({}, {0})},
              1, "com.microsoft"),
         "channels_last", 1);
  expect({5, 11});
}

TEST_F(OnnxFusedTest, ChannelsOfAPoolMayComeLast) {
  addInts(node("NhwcMaxPool", {bytes({1, 2, 2, 2}, {1, 8, 2, 7, 3, 6, 4, 5})},
               1, "com.microsoft"),
          "kernel_shape", {2, 2});
  expect({4, 8});
}

TEST_F(OnnxFusedTest, APoolNeedsAnImage) {
  addInts(
      node("NhwcMaxPool", {bytes({2, 2}, {1, 2, 3, 4})}, 1, "com.microsoft"),
      "kernel_shape", {2});
  expectReason("must have rank 3 or more");
}

/// Operators of ai.onnx that older exporters knew by another domain.
TEST_F(OnnxFusedTest, TrianglesAreThoseOfOnnx) {
  addInt(node("Trilu", {floats({2, 2}, {1, 2, 3, 4})}, 1, "com.microsoft"),
         "upper", 0);
  expect({1, 0, 3, 4});
}

TEST_F(OnnxFusedTest, SamplesAreThoseOfOnnx) {
  addInt(node("GridSample",
              {floats({1, 1, 1, 2}, {1, 3}), floats({1, 1, 1, 2}, {0, 0})}, 1,
              "com.microsoft"),
         "align_corners", 1);
  expect({2});
}

TEST_F(OnnxFusedTest, ADropoutAddsAndKeepsAll) {
  node("BiasDropout",
       {floats({1, 2}, {1, 2}), floats({2}, {10, 20}),
        floats({1, 2}, {100, 200})},
       2, "com.microsoft");
  expectBoth({111, 222}, {1, 1});
}

TEST_F(OnnxFusedTest, WindowsBecomeTheLastAxis) {
  auto *unfold =
      node("UnfoldTensor", {floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, 1,
           "com.microsoft");
  addInt(unfold, "dim", 0);
  addInt(unfold, "size", 2);
  addInt(unfold, "step", 2);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({2, 2, 2}));
  expectNear(found[0], {1, 3, 2, 4, 5, 7, 6, 8});
}

TEST_F(OnnxFusedTest, AWindowFitsIntoItsAxis) {
  addInt(
      node("UnfoldTensor", {floats({2, 2}, {1, 2, 3, 4})}, 1, "com.microsoft"),
      "size", 3);
  expectReason("a window must not be longer than its axis");
}

TEST_F(OnnxFusedTest, AnAxisIsInserted) {
  graph.ints("axis", {-2});
  node("ExpandDims", {floats({2, 3}, {1, 2, 3, 4, 5, 6})}, 1, "com.microsoft")
      ->add_input("axis");
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shape, reference::Shape({2, 1, 3}));
}

} // namespace
} // namespace tenon
