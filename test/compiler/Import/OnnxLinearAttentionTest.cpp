//===- OnnxLinearAttentionTest.cpp - Attention by a state -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's own tests hold its operators; these hold what onnxruntime's have more,
// and what is refused.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"
#include <cmath>

namespace tenon {
namespace {

class OnnxLinearAttentionTest : public OperatorTest {
protected:
  /// One entry, two steps, heads of one number each.
  onnx::NodeProto *attention(int64_t queries, int64_t states,
                             const std::string &rule,
                             std::vector<Tensor> gates = {}) {
    std::vector<Tensor> inputs = {
        floats({1, 2, queries}, Numbers(2 * queries, 1)),
        floats({1, 2, states}, Numbers(2 * states, 2)),
        floats({1, 2, states}, numbers(2 * states))};
    inputs.insert(inputs.end(), gates.begin(), gates.end());
    onnx::NodeProto *made = node("LinearAttention", inputs, 2, "com.microsoft");
    addInt(made, "q_num_heads", queries);
    addInt(made, "kv_num_heads", states);
    addText(made, "update_rule", rule);
    return made;
  }

  static Numbers numbers(int64_t count) {
    Numbers values;
    for (int64_t i = 1; i <= count; ++i)
      values.push_back(double(i));
    return values;
  }

  onnx::NodeProto *convolution(Tensor x, Tensor filter, Tensor state = {}) {
    return node("CausalConvWithState", {x, filter, {}, state}, 2,
                "com.microsoft");
  }
};

TEST_F(OnnxLinearAttentionTest, AQueryMayReadSeveralStates) {
  attention(1, 2, "linear");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {2, 4, 8, 12});
  expectNear(found[1], {8, 12});
}

TEST_F(OnnxLinearAttentionTest, AScaleMayBeGiven) {
  onnx::NodeProto *made = attention(1, 1, "linear");
  onnx::AttributeProto *scale = addAttribute(made, "scale");
  scale->set_type(onnx::AttributeProto::FLOAT);
  scale->set_f(10);
  expectNear(results()[0], {20, 60});
}

TEST_F(OnnxLinearAttentionTest, HeadsDivideEachOther) {
  attention(3, 2, "linear");
  expectReason("q_num_heads must be a positive multiple of kv_num_heads");
}

TEST_F(OnnxLinearAttentionTest, AnotherRuleIsRefused) {
  attention(1, 1, "square");
  expectReason("update_rule must be linear");
}

TEST_F(OnnxLinearAttentionTest, ARuleNeedsItsInputs) {
  attention(1, 1, "delta");
  expectReason("input 5");
}

TEST_F(OnnxLinearAttentionTest, ADecayOfAnotherSizeIsRefused) {
  attention(2, 2, "gated", {Tensor(), floats({1, 2, 3}, Numbers(6, 0))});
  expectReason("the heads of decay must divide its last axis");
}

TEST_F(OnnxLinearAttentionTest, EachStepHasADecay) {
  attention(2, 2, "gated", {Tensor(), floats({1, 3, 2}, Numbers(6, 0))});
  expectReason("decay must fit the other operands (3 and 2)");
}

TEST_F(OnnxLinearAttentionTest, WindowsOfStatesAreRefused) {
  addInt(attention(1, 1, "linear"), "state_window", 2);
  expectReason("state_window is not supported yet");
}

TEST_F(OnnxLinearAttentionTest, GatesAreOfF32) {
  node("LinearAttentionGate",
       {floats({1, 1, 2}, {0, 1}), floats({2}, {0, -1}), floats({2}, {-1, 2}),
        floats({1, 1, 2}, {0, 0})},
       2, "com.microsoft");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {-std::log(2.), 2 * std::log(2.)});
  expectNear(found[1], {0.5, 0.5});
}

TEST_F(OnnxLinearAttentionTest, ConvolutionsMayBeDilated) {
  addInt(convolution(floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 2}, {10, 1}),
                     floats({1, 1, 2}, {5, 6})),
         "dilation", 2);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {51, 62, 13});
  expectNear(found[1], {2, 3});
}

TEST_F(OnnxLinearAttentionTest, ChannelsMayBeLast) {
  // Two channels as two axes of one and two numbers.
  addInt(convolution(floats({1, 2, 1, 2}, {1, 2, 3, 4}),
                     floats({2, 1, 2}, {10, 1, 100, 1})),
         "channels_last", 1);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shape, reference::Shape({1, 2, 1, 2}));
  expectNear(found[0], {1, 2, 13, 204});
  EXPECT_EQ(found[1].shape, reference::Shape({1, 1, 1, 2}));
  expectNear(found[1], {3, 4});
}

TEST_F(OnnxLinearAttentionTest, AStateOfAnotherLengthIsRefused) {
  convolution(floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 3}, {1, 1, 1}),
              floats({1, 1, 3}, {1, 1, 1}));
  expectReason("past_state must fit the other operands");
}

TEST_F(OnnxLinearAttentionTest, MoreAxesAreRefused) {
  addInt(convolution(floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 1}, {1})),
         "ndim", 2);
  expectReason("ndim is not supported yet");
}

} // namespace
} // namespace tenon
