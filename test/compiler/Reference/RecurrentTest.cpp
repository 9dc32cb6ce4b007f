//===- RecurrentTest.cpp - One step of each cell, by hand ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

class RecurrentTest : public EvaluateTest {
protected:
  /// Which operands are there, in the op's order.
  static std::string
  attributes(std::string segments, std::string cell, std::string activations,
             std::string direction = "forward", std::string clip = "0.0",
             bool linearBeforeReset = false, bool inputForget = false) {
    return "{operandSegmentSizes = array<i32: " + segments +
           ">, cell = #graph<cell_kind " + cell + ">, direction = \"" +
           direction + "\", activations = [" + activations +
           "], alpha = array<f64>, beta = array<f64>, clip = " + clip +
           " : f64, linear_before_reset = " +
           (linearBeforeReset ? "true" : "false") +
           ", input_forget = " + (inputForget ? "true" : "false") + "}";
  }
  static std::vector<std::string> results(int steps, int directions) {
    std::string d = std::to_string(directions);
    return {"tensor<" + std::to_string(steps) + "x" + d + "x1x1xf32>",
            "tensor<" + d + "x1x1xf32>", "tensor<" + d + "x1x1xf32>"};
  }
};

// h = 2 x + h / 2 + 1 on x = 1, 2.
TEST_F(RecurrentTest, RnnRunsBothWays) {
  Tensor x = floats({2, 1, 1}, {1, 2}), w = floats({1, 1, 1}, {2});
  Tensor r = floats({1, 1, 1}, {0.5}), b = floats({1, 2}, {0.25, 0.75});
  auto forward = op("graph.recurrent",
                    attributes("1, 1, 1, 1, 0, 0, 0, 0", "rnn", "\"Affine\""),
                    {x, w, r, b}, results(2, 1));
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_EQ(numbers(forward[0]), Numbers({3, 6.5}));
  EXPECT_EQ(numbers(forward[1]), Numbers({6.5}));
  EXPECT_EQ(numbers(forward[2]), Numbers({0}));
  auto reverse =
      op("graph.recurrent",
         attributes("1, 1, 1, 1, 0, 0, 0, 0", "rnn", "\"Affine\"", "reverse"),
         {x, w, r, b}, results(2, 1));
  EXPECT_EQ(numbers(reverse[0]), Numbers({5.5, 5}));
  EXPECT_EQ(numbers(reverse[1]), Numbers({5.5}));
  auto both = op("graph.recurrent",
                 attributes("1, 1, 1, 0, 0, 0, 0, 0", "rnn",
                            "\"Affine\", \"Affine\"", "bidirectional"),
                 {x, floats({2, 1, 1}, {2, 2}), floats({2, 1, 1}, {0.5, 0.5})},
                 results(2, 2));
  EXPECT_EQ(numbers(both[0]), Numbers({2, 4, 5, 4}));
  EXPECT_EQ(numbers(both[1]), Numbers({5, 4}));
}

// A state of 257 is 256 in bf16, where the recurrence is multiplied by it; as a
// result it is not rounded.
TEST_F(RecurrentTest, StatesMayBeRounded) {
  std::string rounding =
      attributes("1, 1, 1, 0, 0, 0, 0, 0", "rnn", "\"Affine\"");
  rounding.insert(1, "rounds_state, ");
  auto rounded = op("graph.recurrent", rounding,
                    {floats({2, 1, 1}, {257, 1}), floats({1, 1, 1}, {1}),
                     floats({1, 1, 1}, {1})},
                    results(2, 1));
  EXPECT_EQ(numbers(rounded[0]), Numbers({257, 257}));
}

TEST_F(RecurrentTest, StepsPastTheLengthAreZero) {
  Tensor x = floats({2, 1, 1}, {1, 2}), w = floats({1, 1, 1}, {2});
  Tensor r = floats({1, 1, 1}, {0.5});
  for (std::string direction : {"forward", "reverse"}) {
    auto result = op(
        "graph.recurrent",
        attributes("1, 1, 1, 0, 1, 1, 0, 0", "rnn", "\"Affine\"", direction),
        {x, w, r, ints({1}, {1}, 32), floats({1, 1, 1}, {4})}, results(2, 1));
    EXPECT_EQ(numbers(result[0]), Numbers({4, 0}));
    EXPECT_EQ(numbers(result[1]), Numbers({4}));
  }
  EXPECT_NE(opFault("graph.recurrent",
                    attributes("1, 1, 1, 0, 1, 0, 0, 0", "rnn", "\"Tanh\""),
                    {x, w, r, ints({1}, {3}, 32)}, results(2, 1))
                .find("length of 3 is outside 0 .. 2"),
            std::string::npos);
}

// z = 1/4, r = 2, candidate from x is 3, h = 4.
TEST_F(RecurrentTest, GruResetsBeforeOrAfterTheProduct) {
  std::vector<Tensor> inputs = {
      floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0.25, 2, 3}),
      floats({1, 3, 1}, {0, 0, 1}), floats({1, 6}, {0, 0, 0, 0, 0, 5}),
      floats({1, 1, 1}, {4})};
  for (bool linear : {false, true})
    EXPECT_EQ(numbers(op("graph.recurrent",
                         attributes("1, 1, 1, 1, 0, 1, 0, 0", "gru",
                                    "\"Affine\", \"Affine\"", "forward", "0.0",
                                    linear),
                         inputs, results(1, 1))[1]),
              Numbers({linear ? 16.75 : 13}));
}

// i = 1, o = 2, f = 3, c~ = 4 and c = 10 before.
TEST_F(RecurrentTest, LstmGatesAndPeepholes) {
  std::vector<Tensor> inputs = {
      floats({1, 1, 1}, {1}), floats({1, 4, 1}, {1, 2, 3, 4}),
      floats({1, 4, 1}, {0, 0, 0, 0}), floats({1, 1, 1}, {0}),
      floats({1, 1, 1}, {10})};
  std::string affine = "\"Affine\", \"Affine\", \"Affine\"";
  auto plain = op("graph.recurrent",
                  attributes("1, 1, 1, 0, 0, 1, 1, 0", "lstm", affine), inputs,
                  results(1, 1));
  EXPECT_EQ(numbers(plain[1]), Numbers({68}));
  EXPECT_EQ(numbers(plain[2]), Numbers({34}));
  auto coupled = op("graph.recurrent",
                    attributes("1, 1, 1, 0, 0, 1, 1, 0", "lstm", affine,
                               "forward", "0.0", false, true),
                    inputs, results(1, 1));
  EXPECT_EQ(numbers(coupled[2]), Numbers({4}));
  inputs.push_back(floats({1, 3}, {1, 0, 0}));
  for (auto [peepholes, hidden, cell] :
       {std::tuple{Numbers{1, 0, 0}, 148., 74.},
        {{0, 1, 0}, 1224., 34.},
        {{0, 0, 1}, 268., 134.}}) {
    inputs.back() = floats({1, 3}, peepholes);
    auto result = op("graph.recurrent",
                     attributes("1, 1, 1, 0, 0, 1, 1, 1", "lstm", affine),
                     inputs, results(1, 1));
    EXPECT_EQ(numbers(result[1]), Numbers({hidden}));
    EXPECT_EQ(numbers(result[2]), Numbers({cell}));
  }
}

TEST_F(RecurrentTest, EachActivation) {
  auto activate = [&](std::string name, double x, std::string clip = "0.0") {
    return numbers(op("graph.recurrent",
                      attributes("1, 1, 1, 0, 0, 0, 0, 0", "rnn",
                                 "\"" + name + "\"", "forward", clip),
                      {floats({1, 1, 1}, {x}), floats({1, 1, 1}, {1}),
                       floats({1, 1, 1}, {0})},
                      results(1, 1)))[0];
  };
  EXPECT_NEAR(activate("Relu", -1), 0, 1e-7);
  EXPECT_NEAR(activate("Tanh", 1), 0.7615942, 1e-7);
  EXPECT_NEAR(activate("Sigmoid", 1), 0.7310586, 1e-7);
  EXPECT_NEAR(activate("LeakyRelu", -1), -0.01, 1e-7);
  EXPECT_NEAR(activate("ThresholdedRelu", 0.5), 0, 1e-7);
  EXPECT_NEAR(activate("ThresholdedRelu", 1.5), 1.5, 1e-7);
  EXPECT_NEAR(activate("ScaledTanh", 1), 0.7615942, 1e-7);
  EXPECT_NEAR(activate("HardSigmoid", 1), 0.7, 1e-7);
  EXPECT_NEAR(activate("Elu", -1), -0.6321206, 1e-7);
  EXPECT_NEAR(activate("Softsign", -1), -0.5, 1e-7);
  EXPECT_NEAR(activate("softplus", 1), 1.3132617, 1e-7);
  EXPECT_NEAR(activate("Affine", 5, "1.5"), 1.5, 1e-7);
  EXPECT_NEAR(activate("Affine", -5, "1.5"), -1.5, 1e-7);
}

} // namespace
} // namespace tenon::reference
