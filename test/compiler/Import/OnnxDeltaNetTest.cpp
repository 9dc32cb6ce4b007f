//===- OnnxDeltaNetTest.cpp - GatedDeltaNet of onnxruntime ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// Two tokens of one head with keys and values of one element: queries and keys
/// are 1, values 3 and 5. With decays of 1 and 1/2 and rates of 1 and 1/2 the
/// state is 3, then 1.5 + (5 - 1.5) / 2.
class OnnxDeltaNetTest : public OperatorTest {
protected:
  const double half = -0.6931471805599453; // Its logarithm.

  onnx::NodeProto *net(Tensor decay, Tensor beta, Tensor state = {},
                       std::vector<int64_t> tokens = {1, 2}) {
    std::vector<int64_t> shape = tokens;
    shape.insert(shape.end(), {1, 1});
    return node("GatedDeltaNet",
                {floats(shape, {1, 1}),
                 floats(shape, {1, 1}),
                 floats(shape, {3, 5}),
                 {},
                 decay,
                 beta,
                 state},
                2, "com.microsoft");
  }
};

TEST_F(OnnxDeltaNetTest, StatesDecayAndAreCorrected) {
  net(floats({1, 2, 1}, {0, half}), floats({1, 2, 1}, {1, 0.5}));
  expectBoth({3, 3.25}, {3.25});
}

TEST_F(OnnxDeltaNetTest, ElementsOfKeysMayDecayByThemselves) {
  net(floats({1, 2, 1, 1}, {0, half}), floats({1, 2, 1}, {1, 0.5}));
  expectBoth({3, 3.25}, {3.25});
}

/// Two sequences of one token each.
TEST_F(OnnxDeltaNetTest, TheStateSaysHowManySequencesThereAre) {
  net(floats({2, 1}, {half, half}), floats({2, 1}, {1, 0.5}),
      floats({2, 1, 1, 1}, {8, 4}), {2});
  expectBoth({3, 3.5}, {3, 3.5});
}

TEST_F(OnnxDeltaNetTest, WithoutAStateSequencesHaveAnAxis) {
  net(floats({2, 1}, {0, 0}), floats({2, 1}, {1, 1}), {}, {2});
  expectReason("the number of sequences is not known");
}

/// A query of 3 and 4, and a key of 0 and 2, have lengths of 5 and 2. The state
/// [1, 1, 1, 2] begins with the elements of a value.
TEST_F(OnnxDeltaNetTest, AllMayLieSideBySide) {
  auto *net = node("GatedDeltaNet",
                   {floats({1, 1, 5}, {3, 4, 0, 2, 10}),
                    {},
                    {},
                    {},
                    {},
                    {},
                    floats({1, 1, 1, 2}, {1, 2})},
                   2, "com.microsoft");
  addText(net, "update_rule", "linear");
  addInt(net, "qk_l2_norm", 1);
  addFloat(net, "scale", 1);
  expectBoth({0.6 * 1 + 0.8 * 12}, {1, 12});
}

/// -exp(0) * softplus(-20 + 20) is -log(2); a rate of sigmoid(0) is 1/2.
TEST_F(OnnxDeltaNetTest, GatesMayBeMadeHere) {
  auto *net = node("GatedDeltaNet",
                   {floats({1, 1, 1, 1}, {1}),
                    floats({1, 1, 1, 1}, {1}),
                    floats({1, 1, 1, 1}, {5}),
                    {},
                    floats({1, 1, 1}, {-20}),
                    floats({1, 1, 1}, {0}),
                    floats({1, 1, 1, 1}, {3}),
                    floats({1}, {0}),
                    floats({1}, {20})},
                   2, "com.microsoft");
  addText(net, "gate_activation", "softplus");
  addText(net, "beta_activation", "sigmoid");
  expectBoth({3.25}, {3.25});
}

TEST_F(OnnxDeltaNetTest, AnotherGateIsRefused) {
  addText(net(floats({1, 2, 1}, {0, 0}), floats({1, 2, 1}, {1, 1})),
          "gate_activation", "tanh");
  expectReason("gate_activation must be none, softplus or sigmoid");
}

TEST_F(OnnxDeltaNetTest, ThereIsARateForEachToken) {
  net(floats({1, 2, 1}, {0, 0}), floats({1, 1, 1}, {1}));
  expectReason("beta");
}

TEST_F(OnnxDeltaNetTest, PiecesOfStatesAreRefused) {
  addInt(net(floats({1, 2, 1}, {0, 0}), floats({1, 2, 1}, {1, 1})),
         "state_update_capacity", 2);
  expectReason("state_update is not computed");
}

} // namespace
} // namespace tenon
