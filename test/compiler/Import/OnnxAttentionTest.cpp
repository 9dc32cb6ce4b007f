//===- OnnxAttentionTest.cpp - Attention in its forms ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of zero make all scores equal: the result is the mean of the values
// that a query sees.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

#include <limits>

namespace tenon {
namespace {

class OnnxAttentionTest : public OperatorTest {
protected:
  OnnxAttentionTest() { setOpset(24); }

  Tensor zeros(llvm::ArrayRef<int64_t> shape) {
    return floats(shape, Numbers(*reference::countOf(shape), 0));
  }
  /// [1, 1, values, 1]
  Tensor column(Numbers values) {
    return floats({1, 1, int64_t(values.size()), 1}, values);
  }
  Tensor flags(llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values) {
    return Tensor::fromInts(mlir::IntegerType::get(&context, 1), shape, values);
  }
};

TEST_F(OnnxAttentionTest, CausalBeginsAtTheTopLeftWithoutAPast) {
  addInt(node("Attention",
              {zeros({1, 1, 2, 1}), zeros({1, 1, 3, 1}), column({2, 4, 9})}),
         "is_causal", 1);
  expect({2, 3});
}

TEST_F(OnnxAttentionTest, CausalBeginsBehindThePast) {
  auto *attention = node("Attention",
                         {zeros({1, 1, 2, 1}),
                          zeros({1, 1, 2, 1}),
                          column({6, 8}),
                          {},
                          zeros({1, 1, 1, 1}),
                          column({2})},
                         3);
  addInt(attention, "is_causal", 1);
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {4, 16.0 / 3});
  expectNear(found[2], {2, 6, 8});
}

TEST_F(OnnxAttentionTest, ARowThatSeesNothingIsZero) {
  node("Attention", {zeros({1, 1, 2, 1}), zeros({1, 1, 2, 1}), column({6, 8}),
                     flags({2, 2}, {0, 0, 0, 1})});
  expect({0, 8});
}

TEST_F(OnnxAttentionTest, AMaskOfNumbersIsAdded) {
  // The lowest number is no bool: a row of nothing else is the mean.
  double lowest = std::numeric_limits<float>::lowest();
  node("Attention", {zeros({1, 1, 2, 1}), zeros({1, 1, 2, 1}), column({6, 8}),
                     floats({2, 2}, {lowest, lowest, lowest, 0})});
  expect({7, 8});
}

TEST_F(OnnxAttentionTest, AShortMaskHidesTheRest) {
  node("Attention", {zeros({1, 1, 1, 1}), zeros({1, 1, 3, 1}),
                     column({2, 4, 900}), flags({1, 2}, {1, 1})});
  expect({3});
}

TEST_F(OnnxAttentionTest, HeadsOfQueriesShareThoseOfKeys) {
  // Four query heads on two key heads: 0 and 1 read the first.
  node("Attention", {zeros({1, 4, 1, 1}), zeros({1, 2, 1, 1}),
                     floats({1, 2, 1, 1}, {5, 7})});
  expect({5, 5, 7, 7});
}

TEST_F(OnnxAttentionTest, HeadsThatDoNotDivideAreRefused) {
  node("Attention", {zeros({1, 3, 1, 1}), zeros({1, 2, 1, 1}),
                     floats({1, 2, 1, 1}, {5, 7})});
  expectReason("heads of the keys must divide");
}

TEST_F(OnnxAttentionTest, PackedOperandsNeedTheirNumberOfHeads) {
  node("Attention", {zeros({1, 1, 2}), zeros({1, 1, 2}), zeros({1, 1, 2})});
  expectReason("q_num_heads");
}

/// FlexAttention whose scores are all 1, and whose values are 6 and 8.
class FlexAttentionTest : public OnnxAttentionTest {
protected:
  FlexAttentionTest() {
    setOpset(26);
    flex = node("FlexAttention",
                {floats({1, 1, 1, 1}, {1}), floats({1, 1, 2, 1}, {1, 1}),
                 column({6, 8})},
                1, "ai.onnx.preview");
  }
  /// The body that an attribute of the node is.
  GraphBuilder change(const std::string &name) {
    GraphBuilder body = addBody(flex, name);
    body.input("before", {1, 1, 1, 2});
    body.output("after");
    return body;
  }

  onnx::NodeProto *flex;
};

TEST_F(FlexAttentionTest, IsAnAttentionWithoutBodies) { expect({7}); }

TEST_F(FlexAttentionTest, ABodyChangesScores) {
  GraphBuilder body = change("score_mod");
  body.floats("added", {2}, {0, -std::numeric_limits<float>::infinity()});
  body.node("Add", {"before", "added"}, {"after"});
  expect({6});
}

TEST_F(FlexAttentionTest, ABodyChangesWeights) {
  GraphBuilder body = change("prob_mod");
  body.floats("factors", {2}, {1, 0});
  body.node("Mul", {"before", "factors"}, {"after"});
  expect({3});
}

TEST_F(FlexAttentionTest, ABodyMayReadWhatIsAroundIt) {
  change("score_mod").node("Mul", {"before", "x0"}, {"after"});
  expect({7});
}

TEST_F(FlexAttentionTest, ABodyKeepsTheShape) {
  GraphBuilder body = change("score_mod");
  body.ints("axis", {3});
  body.node("ReduceSum", {"before", "axis"}, {"after"});
  expectReason("the output of score_mod must fit");
}

TEST_F(FlexAttentionTest, ABodyKeepsTheElementType) {
  addInt(change("score_mod").node("Cast", {"before"}, {"after"}), "to",
         onnx::TensorProto::DOUBLE);
  expectReason("score_mod must keep the element type");
}

TEST_F(FlexAttentionTest, ABodyHasOneOutput) {
  GraphBuilder body = change("prob_mod");
  body.node("Identity", {"before"}, {"after"});
  body.output("before");
  expectReason("prob_mod must have one output");
}

TEST_F(FlexAttentionTest, SoftmaxIsOfFloats) {
  addInt(flex, "softmax_precision", onnx::TensorProto::INT64);
  expectReason("softmax_precision must be a type of floats");
}

TEST_F(OnnxAttentionTest, RotationTurnsPairs) {
  // A quarter turn of (1, 2) at the only position.
  node("RotaryEmbedding", {floats({1, 1, 1, 2}, {1, 2}), floats({1, 1, 1}, {0}),
                           floats({1, 1, 1}, {1})});
  expect({-2, 1});
}

TEST_F(OnnxAttentionTest, AMaskIndexCountsKeysFromTheLeft) {
  // q and k are zero, v is x; 4 of B = 1 is more than there are keys.
  auto *attention =
      node("Attention",
           {floats({1, 3, 1}, {3, 6, 900}), floats({1, 3}, {0, 0, 1}),
            floats({3}, {0, 0, 0}), ints({1}, {2}, 32)},
           1, "com.microsoft");
  addInt(attention, "num_heads", 1);
  expect({4.5, 4.5, 4.5});
}

TEST_F(OnnxAttentionTest, AMaskOfNumbersKeepsThoseAboveZero) {
  // 2 keeps a key as 1 does, -1 hides it as 0 does.
  auto *attention =
      node("Attention",
           {floats({1, 4, 1}, {3, 600, 6, 900}), floats({1, 3}, {0, 0, 1}),
            floats({3}, {0, 0, 0}), ints({1, 4}, {1, 0, 2, -1}, 32)},
           1, "com.microsoft");
  addInt(attention, "num_heads", 1);
  expect({4.5, 4.5, 4.5, 4.5});
}

TEST_F(OnnxAttentionTest, AMaskIndexHidesWithAFiniteNumber) {
  // No key is left: all have the same score again, less 10000.
  auto *attention = node("Attention",
                         {floats({1, 2, 1}, {3, 6}), floats({1, 3}, {0, 0, 1}),
                          floats({3}, {0, 0, 0}), ints({1}, {0}, 32)},
                         1, "com.microsoft");
  addInt(attention, "num_heads", 1);
  expect({4.5, 4.5});
}

class GroupQueryTest : public OnnxAttentionTest {
protected:
  /// One head of size 1; query and key are zero. The buffers hold `past`.
  void decode(Numbers past, std::vector<int64_t> lengths, int64_t total,
              Numbers fresh, int64_t window = -1) {
    int64_t batch = lengths.size(), places = past.size() / batch;
    int64_t count = fresh.size() / batch;
    auto *attention =
        node("GroupQueryAttention",
             {zeros({batch, count, 1}), zeros({batch, count, 1}),
              floats({batch, count, 1}, fresh), zeros({batch, 1, places, 1}),
              floats({batch, 1, places, 1}, past), ints({batch}, lengths, 32),
              ints({}, {total}, 32)},
             3, "com.microsoft");
    addInt(attention, "num_heads", 1);
    addInt(attention, "kv_num_heads", 1);
    addInt(attention, "local_window_size", window);
  }
};

TEST_F(GroupQueryTest, PastsMayHaveDifferentLengths) {
  // The first has 2 valid of 3 places, the second 1.
  decode({1, 2, 99, 4, 98, 97}, {2, 1}, 3, {6, 8});
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {3, 6});
  expectNear(found[2], {1, 2, 6, 4, 8, 0});
}

TEST_F(GroupQueryTest, APromptStartsAtTheFrontOfItsBuffer) {
  decode({99, 98, 97, 96}, {1}, 2, {6, 8});
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {6, 7});
  expectNear(found[2], {6, 8, 0, 0});
}

TEST_F(GroupQueryTest, AWindowHoldsItsOwnKey) {
  decode({1, 2, 3}, {3}, 4, {5}, 2);
  auto found = results();
  ASSERT_EQ(found.size(), 3u);
  expectNear(found[0], {4});
}

/// One token at time 0, height 1 and width 1, where tables turn by nothing and
/// by a quarter.
class MultimodalRotaryTest : public OperatorTest {
protected:
  void rotate(std::vector<int64_t> sections, int64_t layout) {
    auto *rotary = node("MRotaryEmbedding",
                        {floats({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}),
                         ints({3, 1, 1}, {0, 1, 1}),
                         floats({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}),
                         floats({2, 4}, {0, 0, 0, 0, 1, 1, 1, 1})},
                        1, "com.microsoft");
    addInts(rotary, "mrope_section", std::move(sections));
    addInt(rotary, "mrope_layout", layout);
  }
};

TEST_F(MultimodalRotaryTest, SectionsFollowEachOther) {
  rotate({2, 1, 1}, 0);
  expect({1, 2, -7, -8, 5, 6, 3, 4});
}

TEST_F(MultimodalRotaryTest, SectionsTakeTurns) {
  rotate({2, 1, 1}, 1);
  expect({1, -6, -7, 4, 5, 2, 3, 8});
}

TEST_F(MultimodalRotaryTest, SectionsAddUpToTheTables) {
  rotate({2, 1, 0}, 0);
  expectReason("must add up to the width of the tables");
}

TEST_F(MultimodalRotaryTest, ThereAreThreeSections) {
  rotate({2, 2}, 0);
  expectReason("three small numbers");
}

} // namespace
} // namespace tenon
