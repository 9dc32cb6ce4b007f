//===- ObservedLhs.cpp - Static scales of rows that a test plants ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/ObservedLhs.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;

namespace {

using Rows = std::vector<std::vector<float>>;

/// A matrix of ones; the context outlives it.
struct Ones {
  mlir::MLIRContext context;
  WeightStore store;
  const Weight *weight;

  explicit Ones(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    std::vector<float> values(size_t(count), 1);
    std::vector<char> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    weight = llvm::cantFail(store.addOwned(
        "w", mlir::Float32Type::get(&context), shape, std::move(bytes)));
  }
};

/// `count` rows of four channels, that reach from -most to most.
Rows rowsUpTo(float most, size_t count) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    float part = float(i + 1) / float(count);
    rows.push_back({most, -most, most * part * 0.7f, -most * part * 0.3f});
  }
  return rows;
}

/// What it comes to of the sets of rows.
ObservedLhs observed(const Weight *weight, const std::vector<Rows> &sets,
                     bool areShared = false) {
  ObservedLhs lhs({weight}, areShared, sets.size());
  auto forEachRow = [&](auto body) {
    for (size_t set = 0; set < sets.size(); ++set)
      for (const std::vector<float> &row : sets[set])
        body(ObservedLhs::Row(row), set);
  };
  forEachRow([&](auto row, size_t) { lhs.seeMagnitudes(row); });
  lhs.chooseShifts();
  forEachRow([&](auto row, size_t) { lhs.count(row); });
  lhs.chooseRanges(RangeChoice::MinMax);
  forEachRow([&](auto row, size_t set) { lhs.measure(row, set); });
  return lhs;
}

TEST(ObservedLhs, RowsOfOneRangeAreStatic) {
  Ones ones({4, 3});
  ObservedLhs lhs = observed(ones.weight, {rowsUpTo(2, 32), rowsUpTo(2, 8)});
  EXPECT_TRUE(lhs.isStatic());
  EXPECT_FLOAT_EQ(lhs.best().scale, 4.0f / 255);
  EXPECT_LT(lhs.timesWorse(), 1.25);
}

TEST(ObservedLhs, ASetOfFewSmallRowsIsNotOutvoted) {
  Ones ones({4, 3});
  ObservedLhs lhs =
      observed(ones.weight, {rowsUpTo(2, 4096), rowsUpTo(0.01f, 1)});
  EXPECT_TRUE(lhs.isKnown());
  EXPECT_FALSE(lhs.isStatic());
  EXPECT_GT(lhs.timesWorse(), 1.25);
}

TEST(ObservedLhs, FewRowsSayNothing) {
  Ones ones({4, 3});
  EXPECT_FALSE(observed(ones.weight, {rowsUpTo(2, 15)}).isKnown());
  EXPECT_FALSE(observed(ones.weight, {rowsUpTo(2, 15)}).isStatic());
  EXPECT_TRUE(
      observed(ones.weight, {rowsUpTo(2, 8), rowsUpTo(2, 8)}).isKnown());
}

TEST(ObservedLhs, AChannelThatStandsOutMovesToAWeightOfItsOwn) {
  Ones ones({4, 3});
  Rows rows = rowsUpTo(1, 64);
  for (std::vector<float> &row : rows)
    row.front() *= 256;
  EXPECT_EQ(observed(ones.weight, {rows}).best().shifts.front(), 4);
  EXPECT_TRUE(observed(ones.weight, {rows}, true).best().shifts.empty());
}

TEST(ObservedLhs, ImagesAreHeldAgainstTheirResults) {
  Ones filter({2, 4, 1, 1});
  ObservedLhs even = observed(filter.weight, {rowsUpTo(2, 2)});
  EXPECT_TRUE(even.isImage());
  EXPECT_TRUE(even.isStatic());
  EXPECT_FALSE(observed(filter.weight, {rowsUpTo(2, 64), rowsUpTo(0.01f, 64)})
                   .isStatic());
}

TEST(ObservedLhs, WhatIsNotFiniteIsLeftOut) {
  Ones ones({4, 3});
  Rows rows = rowsUpTo(2, 32);
  rows.back()[1] = std::numeric_limits<float>::infinity();
  rows.front()[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(observed(ones.weight, {rows}).isStatic());
  EXPECT_TRUE(observed(ones.weight, {Rows(32, {0, 0, 0, 0})}).isStatic());
}

} // namespace
