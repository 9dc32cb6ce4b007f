//===- LhsHistogram.cpp - Ranges of values that a test plants -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/LhsHistogram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tenon;

namespace {

std::vector<float> normal(size_t count) {
  std::mt19937 noise(3);
  std::normal_distribution<float> one(0, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = one(noise);
  return values;
}

StaticLhs choose(const std::vector<float> &values, RangeChoice choice) {
  LhsHistogram histogram;
  for (float value : values)
    histogram.add(value);
  return histogram.choose(choice);
}

/// The mean square of what quantization changes.
double errorOf(const std::vector<float> &values, const StaticLhs &lhs) {
  double sum = 0;
  for (float value : values) {
    float number = std::nearbyint(value / lhs.scale) + float(lhs.zero);
    float back =
        (std::fmin(std::fmax(number, 0), 255) - float(lhs.zero)) * lhs.scale;
    sum += double(value - back) * (value - back);
  }
  return sum / double(values.size());
}

TEST(LhsHistogram, MinMaxCoversExactlyWhatWasSeen) {
  StaticLhs lhs = choose({-1, 0.5, 3, 0.25}, RangeChoice::MinMax);
  EXPECT_FLOAT_EQ(lhs.scale, 4.0f / 255);
  EXPECT_EQ(lhs.zero, 64); // 63.75
  EXPECT_EQ(choose({2, 5.1f}, RangeChoice::MinMax).zero, 0);
  EXPECT_EQ(choose({-2, -5.1f}, RangeChoice::MinMax).zero, 255);
}

TEST(LhsHistogram, ZerosAndWhatIsNotFiniteHaveAScaleToo) {
  float infinity = std::numeric_limits<float>::infinity();
  for (RangeChoice choice :
       {RangeChoice::MinMax, RangeChoice::Percentile, RangeChoice::Mse}) {
    EXPECT_EQ(choose({}, choice), StaticLhs());
    EXPECT_EQ(choose({0, -0.0f}, choice), StaticLhs());
    EXPECT_EQ(choose({infinity, -infinity, NAN}, choice), StaticLhs());
    StaticLhs most = choose({-3e38f, 3e38f}, choice);
    EXPECT_TRUE(std::isfinite(most.scale) && most.scale > 0);
  }
}

TEST(LhsHistogram, OutliersAreCutOffWhereThatHelps) {
  std::vector<float> values = normal(100000);
  values.push_back(100);
  StaticLhs all = choose(values, RangeChoice::MinMax);
  StaticLhs percentile = choose(values, RangeChoice::Percentile);
  StaticLhs mse = choose(values, RangeChoice::Mse);
  EXPECT_GT(all.scale * 255, 100);
  // A tail of 5e-5 begins at 3.9 deviations, and a bucket is 1/128 wide.
  EXPECT_NEAR(percentile.scale * 255, 7.8, 0.4);
  EXPECT_LT(errorOf(values, mse), errorOf(values, all));
  EXPECT_LE(errorOf(values, mse), errorOf(values, percentile) * 1.01);
}

TEST(LhsHistogram, EndsAreChosenApart) {
  std::vector<float> values = normal(100000);
  for (float &value : values) // Like a GELU's.
    value = std::fmax(value, -0.17f);
  for (RangeChoice choice :
       {RangeChoice::MinMax, RangeChoice::Percentile, RangeChoice::Mse}) {
    StaticLhs lhs = choose(values, choice);
    EXPECT_LT(lhs.zero, 16);
    EXPECT_LT(errorOf(values, lhs), 1e-4);
  }
}

} // namespace
