//===- OnnxPositionBiasTest.cpp - Biases of scores by distance ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// Four buckets of two heads: 0 to 3, and 10 to 13.
class OnnxPositionBiasTest : public OperatorTest {
protected:
  onnx::NodeProto *bias(int64_t queries, int64_t keys, int64_t most) {
    auto *made = node("RelativePositionBias",
                      {floats({4, 2}, {0, 1, 2, 3, 10, 11, 12, 13}),
                       ints({1}, {queries}), ints({1}, {keys})},
                      1, "com.microsoft");
    addInt(made, "max_distance", most);
    return made;
  }
  void gated(int64_t heads) {
    auto *made =
        node("GatedRelativePositionBias",
             {floats({1, 1, 2}, {0.25, -1}), floats({2}, {0.25, 1}),
              floats({1, 2, 1, 1}, {3, 5}), floats({1, 4}, {2, 2, -1, -1}),
              floats({4}, {0, 0, 0, 0}), floats({1, 2, 1, 1}, {2, 4})},
             1, "com.microsoft");
    addInt(made, "num_heads", heads);
  }
};

TEST_F(OnnxPositionBiasTest, KeysBehindAreInTheFirstBucket) {
  bias(2, 2, 8);
  expect({0, 0, 1, 0, 10, 10, 11, 10});
}

TEST_F(OnnxPositionBiasTest, FarKeysShareBuckets) {
  // Distances 0, 1 by themselves, 2 and 3, and from 4 on.
  bias(7, 1, 8);
  expect({0, 1, 2, 2, 3, 3, 3, 10, 11, 12, 12, 13, 13, 13});
}

TEST_F(OnnxPositionBiasTest, HalfOfTheBucketsAreForKeysBehind) {
  addInt(bias(2, 3, 8), "is_bidirectional", 1);
  expect({0, 3, 3, 1, 0, 3, 10, 13, 13, 11, 10, 13});
}

TEST_F(OnnxPositionBiasTest, BucketsReachFurtherThanHalfOfThem) {
  bias(2, 2, 2);
  expectReason("max_distance must be more than half of the buckets");
}

TEST_F(OnnxPositionBiasTest, GatesOpenByQueries) {
  gated(2);
  // Of 0.5: u = sigmoid(2), r = sigmoid(-1). Of 0: both a half.
  expect({4.7789057, 12.5});
}

TEST_F(OnnxPositionBiasTest, HeadsHaveTheRowsOfTheWeight) {
  gated(3);
  expectReason("the weight must have the rows of a head");
}

} // namespace
} // namespace tenon
