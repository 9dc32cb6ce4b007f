//===- OnnxExpertsTest.cpp - Mixtures of experts --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/models/experts.py has all their forms; here are a few numbers that can
// be followed, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// Two tokens of two elements and two experts, of which the second doubles what
/// the first gives: the sum of both elements, for each.
class OnnxExpertsTest : public OperatorTest {
protected:
  Tensor x() { return floats({2, 2}, {1, 2, 3, 4}); }
  Tensor router() { return floats({2, 2}, {9, 0, 0, 9}); }
  Tensor up() { return floats({2, 1, 2}, {1, 1, 1, 1}); }
  Tensor down() { return floats({2, 2, 1}, {1, 1, 2, 2}); }

  onnx::NodeProto *mixture(std::vector<Tensor> values) {
    return node("MoE", std::move(values), 1, "com.microsoft");
  }
  onnx::NodeProto *mixture() {
    return mixture({x(), router(), up(), {}, down()});
  }
  /// Numbers of eight bits, by a scale for each row.
  onnx::NodeProto *quantized(std::vector<Tensor> more = {}) {
    std::vector<Tensor> values = {x(),
                                  router(),
                                  bytes({2, 1, 2}, {129, 129, 129, 129}),
                                  floats({2, 1}, {1, 1}),
                                  {},
                                  bytes({2, 2, 1}, {130, 130, 132, 132}),
                                  floats({2, 2}, {0.5, 0.5, 0.5, 0.5})};
    values.insert(values.end(), more.begin(), more.end());
    auto *made = node("QMoE", values, 1, "com.microsoft");
    addInt(made, "expert_weight_bits", 8);
    addInt(made, "normalize_routing_weights", 1);
    return made;
  }
};

TEST_F(OnnxExpertsTest, OneOfThemTakesItsShare) {
  mixture();
  double share = 1 / (1 + std::exp(-9.0));
  expect({3 * share, 3 * share, 14 * share, 14 * share});
}

TEST_F(OnnxExpertsTest, SharesOfTheChosenAddUpToOne) {
  addInt(mixture(), "normalize_routing_weights", 1);
  expect({3, 3, 14, 14});
}

TEST_F(OnnxExpertsTest, AllOfThemAreWeighed) {
  addInt(mixture({x(), floats({2, 2}, Numbers(4)), up(), {}, down()}), "k", 2);
  expect({4.5, 4.5, 10.5, 10.5});
}

TEST_F(OnnxExpertsTest, BiasesAreOfExperts) {
  auto *made = mixture({x(), router(), up(), floats({2, 1}, {1, -9}), down(),
                        floats({2, 2}, {0, 1, 10, 20})});
  addInt(made, "normalize_routing_weights", 1);
  expect({4, 5, 10, 20});
}

TEST_F(OnnxExpertsTest, NumbersAreCountedFromTheirMiddle) {
  quantized();
  expect({3, 3, 14, 14});
}

TEST_F(OnnxExpertsTest, OrFromZeroPoints) {
  quantized({{},
             {},
             {},
             {},
             bytes({2, 1}, {128, 127}),
             bytes({2, 2}, {128, 128, 128, 130})});
  expect({3, 3, 28, 14});
}

TEST_F(OnnxExpertsTest, MoreThanThereAreIsNoChoice) {
  addInt(mixture(), "k", 3);
  expectReason("k must be from 1 to the number of experts");
}

TEST_F(OnnxExpertsTest, EachTokenHasARouter) {
  mixture({x(), floats({3, 2}, Numbers(6)), up(), {}, down()});
  expectReason("router_probs must have a row for each token");
}

TEST_F(OnnxExpertsTest, LayersMeet) {
  mixture({x(), router(), floats({2, 1, 3}, Numbers(6)), {}, down()});
  expectReason("fc1 must have 2 columns, as many as meet it");
}

TEST_F(OnnxExpertsTest, LayersHaveTheSameExperts) {
  mixture({x(), router(), up(), {}, floats({3, 2, 1}, Numbers(6))});
  expectReason("fc2 must have as many experts as fc1");
}

TEST_F(OnnxExpertsTest, FusedRowsAreTwoForEach) {
  auto *made = mixture();
  addText(made, "activation_type", "swiglu");
  addInt(made, "swiglu_fusion", 1);
  expectReason("fc1 must have two rows for each of fc2's columns");
}

TEST_F(OnnxExpertsTest, FusedRowsHaveABiasEach) {
  auto *made = mixture({x(), router(), floats({2, 2, 2}, Numbers(8)),
                        floats({2, 1}, Numbers(2)), down()});
  addText(made, "activation_type", "swiglu");
  addInt(made, "swiglu_fusion", 2);
  expectReason("what comes with fc1 must have its experts and rows");
}

TEST_F(OnnxExpertsTest, RowsApartAreOfAThirdLayer) {
  addText(mixture(), "activation_type", "swiglu");
  expectReason("swiglu that is not fused needs fc3");
}

TEST_F(OnnxExpertsTest, OtherActivationsAreRefused) {
  addText(mixture(), "activation_type", "geglu");
  expectReason("the activation 'geglu' is not supported");
}

TEST_F(OnnxExpertsTest, SparseMixersAreRefused) {
  addInt(mixture(), "use_sparse_mixer", 1);
  expectReason("use_sparse_mixer is not supported");
}

TEST_F(OnnxExpertsTest, FloatsOfFewBitsAreRefused) {
  addText(quantized(), "quant_type", "fp4");
  expectReason("weights of the type 'fp4' are not supported");
}

TEST_F(OnnxExpertsTest, NumbersFillTheirRows) {
  addInt(quantized(), "fc1_expert_weight_bits", 4);
  expectReason("fc1 must have the bytes of 2 numbers of 4 bits in each row");
}

TEST_F(OnnxExpertsTest, ZeroPointsAreOfRows) {
  quantized({{}, {}, {}, {}, bytes({2, 2}, {0, 0, 0, 0})});
  expectReason("fc1 must have a zero point for each row and block");
}

TEST_F(OnnxExpertsTest, BlocksDivideTheColumns) {
  addInt(quantized(), "block_size", 16);
  expectReason("block_size must divide the columns of all layers");
}

TEST_F(OnnxExpertsTest, ThreeBitsAreRefused) {
  addInt(quantized(), "fc1_expert_weight_bits", 3);
  expectReason("only 2, 4 and 8 bits are supported, not 3");
}

} // namespace
} // namespace tenon
