//===- ErrorSpreading.cpp - Decompositions of sums of squares -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/ErrorSpreading.h"
#include <gtest/gtest.h>
#include <random>

using namespace tenon;

namespace {

std::vector<float> randomRows(int64_t rows, int64_t channels) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> distribution(-1, 2);
  std::vector<float> values(static_cast<size_t>(rows * channels));
  for (float &value : values)
    value = distribution(random);
  return values;
}

/// x^T * x in double precision.
double sumAt(const std::vector<float> &rows, int64_t channels, int64_t i,
             int64_t j) {
  double sum = 0;
  for (size_t at = 0; at < rows.size(); at += size_t(channels))
    sum += double(rows[at + size_t(i)]) * double(rows[at + size_t(j)]);
  return sum;
}

TEST(LhsSquares, SumProductsOfChannels) {
  for (int64_t channels : {1, 63, 64, 65, 330}) {
    std::vector<float> rows = randomRows(600, channels);
    LhsSquares squares(channels);
    squares.add(llvm::ArrayRef(rows).take_front(size_t(70 * channels)));
    squares.add(llvm::ArrayRef(rows).drop_front(size_t(70 * channels)));
    for (int64_t i = 0; i < channels; ++i)
      for (int64_t j = i; j < channels; j += 7) {
        double sum = sumAt(rows, channels, i, j);
        EXPECT_NEAR(squares.getSums().row(i)[j], sum, 1e-3) << i << ' ' << j;
      }
  }
}

TEST(ErrorSpreading, IsARootOfTheSums) {
  // Of fewer rows than channels sums alone would not be definite.
  for (int64_t count : {20, 500})
    for (int64_t channels : {1, 64, 100, 330}) {
      std::vector<float> rows = randomRows(count, channels);
      LhsSquares squares(channels);
      squares.add(rows);
      auto spreading = ErrorSpreading::of(squares);
      ASSERT_TRUE(spreading);
      double trace = 0;
      for (int64_t i = 0; i < channels; ++i)
        trace += sumAt(rows, channels, i, i);
      double share = 0.01 + 0.1 * double(channels) / double(count);
      double damping = share * trace / double(channels);
      const UpperTriangle &factor = spreading->getFactor();
      for (int64_t i = 0; i < channels; i += 3)
        for (int64_t j = i; j < channels; j += 5) {
          double sum = 0;
          for (int64_t k = 0; k <= i; ++k) {
            double left = k == i ? 1 : factor.row(k)[i];
            sum += left * factor.row(k)[j] * spreading->getCosts()[size_t(k)];
          }
          double expected =
              sumAt(rows, channels, i, j) + (i == j ? damping : 0);
          EXPECT_NEAR(sum, expected, 1e-5 * trace) << i << ' ' << j;
        }
      EXPECT_EQ(factor.row(0)[0], 1);
    }
}

} // namespace
