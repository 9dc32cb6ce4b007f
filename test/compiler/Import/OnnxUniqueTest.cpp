//===- OnnxUniqueTest.cpp - Which values, or rows, there are --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxUniqueTest : public OperatorTest {
protected:
  /// The values, where each is first, which each element is, how often each is.
  void expectAll(std::vector<Numbers> expected) {
    auto found = results();
    ASSERT_EQ(found.size(), 4u);
    for (size_t i = 0; i < 4; ++i)
      expectNear(found[i], expected[i]);
  }
};

TEST_F(OnnxUniqueTest, ValuesAreSorted) {
  node("Unique", {floats({2, 3}, {2, 1, 1, 3, 4, 3})}, 4);
  expectAll({{1, 2, 3, 4}, {1, 0, 3, 4}, {1, 0, 0, 2, 3, 2}, {2, 1, 2, 1}});
}

TEST_F(OnnxUniqueTest, OrLeftInTheOrderOfTheFirst) {
  addInt(node("Unique", {ints({6}, {3, -1, -1, 2, 9, 3})}, 4), "sorted", 0);
  expectAll({{3, -1, 2, 9}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 0}, {2, 2, 1, 1}});
}

TEST_F(OnnxUniqueTest, RowsAreComparedFromTheirFirstElement) {
  addInt(node("Unique", {ints({4, 2}, {2, 0, 1, 5, 2, 0, 1, 4})}, 4), "axis",
         0);
  expectAll({{1, 4, 1, 5, 2, 0}, {3, 1, 0}, {2, 1, 2, 0}, {1, 1, 2}});
}

TEST_F(OnnxUniqueTest, ColumnsAreRowsOfTheOtherAxis) {
  addInt(node("Unique", {ints({2, 3}, {1, 0, 1, 7, 7, 7})}, 4), "axis", -1);
  expectAll({{0, 1, 7, 7}, {1, 0}, {1, 0, 1}, {1, 2}});
}

TEST_F(OnnxUniqueTest, OfFlagsThereAreTwo) {
  node("Unique", {ints({3}, {1, 0, 1}, 1)}, 4);
  expectAll({{0, 1}, {1, 0}, {1, 0, 1}, {1, 2}});
}

TEST_F(OnnxUniqueTest, OfNothingThereIsNothing) {
  node("Unique", {floats({0}, {})}, 4);
  expectAll({{}, {}, {}, {}});
}

TEST_F(OnnxUniqueTest, LongRowsAreRefused) {
  addInt(node("Unique", {floats({2, 65}, Numbers(130, 1))}, 4), "axis", 0);
  expectReason("compares slices of 65 elements, where 1 to 64 are supported");
}

} // namespace
} // namespace tenon
