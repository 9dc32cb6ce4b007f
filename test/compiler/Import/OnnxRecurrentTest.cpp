//===- OnnxRecurrentTest.cpp - LSTM, GRU and RNN --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"
#include <cmath>

namespace tenon {
namespace {

class OnnxRecurrentTest : public OperatorTest {
protected:
  /// Two steps of a cell that adds: h' = relu(x + h).
  onnx::NodeProto *sum(llvm::ArrayRef<int64_t> shape,
                       const std::string &direction) {
    int64_t d = direction == "bidirectional" ? 2 : 1;
    auto *rnn = node("RNN",
                     {floats(shape, {1, 10}), floats({d, 1, 1}, Numbers(d, 1)),
                      floats({d, 1, 1}, Numbers(d, 1))},
                     2);
    addInt(rnn, "hidden_size", 1);
    addText(rnn, "direction", direction);
    onnx::AttributeProto *names = addAttribute(rnn, "activations");
    names->set_type(onnx::AttributeProto::STRINGS);
    for (int64_t i = 0; i < d; ++i)
      names->add_strings("Relu");
    return rnn;
  }
};

TEST_F(OnnxRecurrentTest, BothDirectionsAreAnAxis) {
  sum({2, 1, 1}, "bidirectional");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, 11, 11, 10});
  expectNear(found[1], {11, 11});
}

TEST_F(OnnxRecurrentTest, OneDirectionTakesTheFirstOfTwoActivations) {
  onnx::NodeProto *rnn = sum({2, 1, 1}, "forward");
  rnn->mutable_attribute(rnn->attribute_size() - 1)->add_strings("Tanh");
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, 11});
}

TEST_F(OnnxRecurrentTest, AnotherNumberOfActivationsIsRefused) {
  onnx::NodeProto *rnn = sum({2, 1, 1}, "bidirectional");
  rnn->mutable_attribute(rnn->attribute_size() - 1)->add_strings("Tanh");
  expectReason("it needs 2 activations, not 3");
}

TEST_F(OnnxRecurrentTest, TheBatchMayComeFirst) {
  addInt(sum({1, 2, 1}, "forward"), "layout", 1);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shape, reference::Shape({1, 2, 1, 1}));
  expectNear(found[0], {1, 11});
}

TEST_F(OnnxRecurrentTest, AnotherDirectionIsRefused) {
  sum({2, 1, 1}, "sideways");
  expectReason("direction must be forward");
}

TEST_F(OnnxRecurrentTest, AWeightOfAnotherSizeIsRefused) {
  addInt(
      node("LSTM", {floats({1, 1, 2}, {1, 2}), floats({1, 4, 3}, Numbers(12)),
                    floats({1, 4, 1}, Numbers(4))}),
      "hidden_size", 1);
  expectReason("W must fit the other operands");
}

TEST_F(OnnxRecurrentTest, QuantizedWeightsStandForFloats) {
  // Only the gate of the cell has weights, 1 and 1: (130 - 128) / 2. The input
  // is rounded to bytes of its own range: 0.25 is 64 of 255 for 1.
  Tensor weights = bytes({1, 2, 4}, {128, 128, 128, 130, 128, 128, 128, 130});
  Tensor recurrence = bytes({1, 1, 4}, {7, 7, 7, 7}), none;
  addInt(node("DynamicQuantizeLSTM",
              {floats({1, 1, 2}, {0.25, 1}), weights, recurrence, none, none,
               none, none, none, floats({1}, {0.5}), bytes({1}, {128}),
               floats({1, 4}, {1, 2, 3, 4}), bytes({1, 4}, {7, 7, 7, 7})},
              1, "com.microsoft"),
         "hidden_size", 1);
  auto found = results();
  ASSERT_EQ(found.size(), 1u);
  expectNear(found[0], {0.5 * std::tanh(0.5 * std::tanh(1 + 64.0 / 255))});
}

} // namespace
} // namespace tenon
