//===- AttentionTest.cpp - Attention by hand -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"
#include <cmath>

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

class AttentionTest : public EvaluateTest {
protected:
  struct Form {
    std::string segments = "0, 0, 0", causal = "false", offset = "0",
                dead = "zero";
    double scale = 1, softcap = 0;
    int64_t window = 0;
  };

  static std::string attributes(const Form &form) {
    return "{operandSegmentSizes = array<i32: 1, 1, 1, " + form.segments +
           ">, scale = " + std::to_string(form.scale) +
           " : f64, softcap = " + std::to_string(form.softcap) +
           " : f64, causal = " + form.causal + ", offset = #graph.dims<" +
           form.offset + ">, window = " + std::to_string(form.window) +
           " : i64, dead_rows = #graph<dead_rows " + form.dead + ">}";
  }

  /// Queries of zeros over keys of one head: all scores are 0, so a row is
  /// the mean of the values that take part.
  Numbers means(int64_t queries, Numbers values, const Form &form,
                std::vector<Tensor> more = {}) {
    int64_t keys = values.size();
    std::vector<Tensor> inputs = {
        floats({1, 1, queries, 2}, Numbers(2 * queries, 0)),
        floats({1, 1, keys, 2}, Numbers(2 * keys, 1)),
        floats({1, 1, keys, 1}, values)};
    for (Tensor &tensor : more)
      inputs.push_back(tensor);
    return numbers(op("graph.attention", attributes(form), inputs,
                      {"tensor<1x1x" + std::to_string(queries) + "x1xf32>"}));
  }
};

TEST_F(AttentionTest, WeighsValuesByScores) {
  Form form;
  form.scale = 0.5;
  // Scores 0 and ln(3).
  Tensor query = floats({1, 1, 1, 1}, {2 * std::log(3)});
  Numbers got = numbers(op(
      "graph.attention", attributes(form),
      {query, floats({1, 1, 2, 1}, {0, 1}), floats({1, 1, 2, 2}, {0, 4, 8, 0})},
      {"tensor<1x1x1x2xf32>"}));
  EXPECT_NEAR(got[0], 6, 1e-6);
  EXPECT_NEAR(got[1], 1, 1e-6);
}

TEST_F(AttentionTest, HeadsShareKeys) {
  Tensor values = floats({1, 2, 1, 1}, {5, 7});
  EXPECT_EQ(numbers(op("graph.attention", attributes({}),
                       {floats({1, 4, 1, 1}, {1, 2, 3, 4}),
                        floats({1, 2, 1, 1}, {1, 1}), values},
                       {"tensor<1x4x1x1xf32>"})),
            Numbers({5, 5, 7, 7}));
}

TEST_F(AttentionTest, CausalFromAnOffset) {
  Form form;
  form.causal = "true";
  EXPECT_EQ(means(3, {2, 4, 12}, form), Numbers({2, 3, 6}));
  form.offset = "1";
  EXPECT_EQ(means(2, {2, 4, 12}, form), Numbers({3, 6}));
  form.offset = "-1";
  EXPECT_EQ(means(2, {2, 4}, form), Numbers({0, 2}));
  form.segments = "0, 1, 0";
  EXPECT_EQ(means(2, {2, 4, 12}, form, {ints({1}, {2})}), Numbers({3, 6}));
  EXPECT_EQ(means(2, {2, 4}, form, {ints({1}, {INT64_MIN})}), Numbers({0, 0}));
  EXPECT_EQ(means(2, {2, 4}, form, {ints({1}, {INT64_MAX})}), Numbers({3, 3}));
}

TEST_F(AttentionTest, WindowEndsAtTheQuery) {
  Form form;
  form.causal = "true";
  form.window = 2;
  EXPECT_EQ(means(4, {2, 4, 12, 20}, form), Numbers({2, 3, 8, 16}));
}

TEST_F(AttentionTest, DeadRows) {
  Form form;
  form.segments = "1, 0, 0";
  Tensor none = ints({1, 2}, {0, 0}, 1);
  EXPECT_EQ(means(1, {2, 4}, form, {ints({1, 2}, {0, 1}, 1)}), Numbers({4}));
  EXPECT_EQ(means(1, {2, 4}, form, {none}), Numbers({0}));
  form.dead = "uniform";
  EXPECT_EQ(means(1, {2, 4}, form, {none}), Numbers({3}));
  form.dead = "nan";
  EXPECT_TRUE(std::isnan(means(1, {2, 4}, form, {none})[0]));
}

TEST_F(AttentionTest, BiasesRepeatOverBatches) {
  Form form;
  form.segments = "0, 0, 1";
  double far = -1e4;
  Tensor values = floats({4, 1, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(numbers(op("graph.attention", attributes(form),
                       {floats({4, 1, 1, 1}, Numbers(4, 1)),
                        floats({4, 1, 2, 1}, Numbers(8, 1)), values,
                        floats({2, 1, 1, 2}, {far, 0, 0, far})},
                       {"tensor<4x1x1x1xf32>"})),
            Numbers({2, 3, 6, 7}));
}

TEST_F(AttentionTest, SoftcapBoundsScores) {
  Form form;
  form.softcap = 2;
  Numbers got =
      numbers(op("graph.attention", attributes(form),
                 {floats({1, 1, 1, 1}, {1000}), floats({1, 1, 2, 1}, {1, -1}),
                  floats({1, 1, 2, 1}, {1, 0})},
                 {"tensor<1x1x1x1xf32>"}));
  EXPECT_NEAR(got[0], 1 / (1 + std::exp(-4)), 1e-6);
}

TEST_F(AttentionTest, ShapesThatDoNotMatch) {
  std::string text =
      opFault("graph.attention",
              "{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>,"
              "scale = 1.0 : f64, softcap = 0.0 : f64, causal = false, "
              "offset = #graph.dims<0>, window = 0 : i64, "
              "dead_rows = #graph<dead_rows zero>}",
              {floats({3, 1, 1, 1}, {1, 1, 1}), floats({3, 1, 1, 1}, {1, 1, 1}),
               floats({3, 1, 1, 1}, {1, 1, 1}), floats({2, 1, 1, 1}, {1, 1})},
              {"tensor<3x1x1x1xf32>"});
  EXPECT_NE(text.find("does not divide 3"), std::string::npos) << text;
}

} // namespace
} // namespace tenon::reference
