//===- PrecisionChoice.cpp - Choices of precisions against all there are --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/PrecisionChoice.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tenon;

namespace {

using Ops = std::vector<std::vector<PrecisionCost>>;
constexpr double unbounded = std::numeric_limits<double>::infinity();

/// The least time of all choices within bounds; infinite when there is none.
double leastTime(const Ops &ops, double mostError, double mostBytes) {
  std::vector<size_t> choice(ops.size(), 0);
  double best = unbounded;
  for (;;) {
    PrecisionCost cost = costOf(ops, choice);
    if (cost.error <= mostError && cost.bytes <= mostBytes)
      best = std::min(best, cost.time);
    size_t i = 0;
    while (i < ops.size() && ++choice[i] == ops[i].size())
      choice[i++] = 0;
    if (i == ops.size())
      return best;
  }
}

/// Ops whose faster candidates err more and hold less.
Ops someOps(std::mt19937 &noise, size_t count) {
  std::uniform_real_distribution<double> unit(0.1, 1);
  Ops ops(count);
  for (auto &candidates : ops) {
    double work = unit(noise), error = unit(noise) * 1e-6;
    candidates = {{0, work, 4 * work},
                  {error, work * 0.6, 2 * work},
                  {error * 16, work * 0.3, work}};
  }
  return ops;
}

TEST(PrecisionChoice, TakesTheFastestWithoutBounds) {
  Ops ops = {{{0, 3, 4}, {1, 1, 2}, {2, 2, 1}}, {{0, 1, 4}, {1, 2, 2}}};
  EXPECT_EQ(choosePrecisions(ops, unbounded, unbounded),
            (std::vector<size_t>{1, 0}));
  EXPECT_EQ(choosePrecisions({}, 0, 0), std::vector<size_t>());
}

TEST(PrecisionChoice, NeverErrsWhereNothingMay) {
  std::mt19937 noise(3);
  EXPECT_EQ(choosePrecisions(someOps(noise, 5), 0, unbounded),
            std::vector<size_t>(5, 0));
}

TEST(PrecisionChoice, SaysWhenNoChoiceIsWithinBounds) {
  Ops ops = {{{0, 2, 4}, {1, 1, 2}}};
  EXPECT_EQ(choosePrecisions(ops, 0, 3), std::nullopt);
  EXPECT_EQ(choosePrecisions(ops, 1, 1), std::nullopt);
  EXPECT_EQ(choosePrecisions(ops, 1, 2), std::vector<size_t>{1});
}

TEST(PrecisionChoice, KeepsBoundsAndIsCloseToTheBest) {
  std::mt19937 noise(5);
  for (int i = 0; i < 40; ++i) {
    Ops ops = someOps(noise, 8);
    PrecisionCost all = costOf(ops, std::vector<size_t>(8, 2));
    for (double part : {0.02, 0.2, 0.7})
      for (double bytes : {unbounded, all.bytes * 2.5}) {
        double mostError = all.error * part;
        double best = leastTime(ops, mostError, bytes);
        auto choice = choosePrecisions(ops, mostError, bytes);
        if (!choice) {
          // Bounds that only a choice off the convex hull keeps.
          EXPECT_LT(bytes, unbounded);
          continue;
        }
        PrecisionCost cost = costOf(ops, *choice);
        EXPECT_LE(cost.error, mostError);
        EXPECT_LE(cost.bytes, bytes);
        EXPECT_LE(cost.time, best * 1.2);
      }
  }
}

} // namespace
