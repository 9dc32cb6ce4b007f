//===- CompensateRounding.cpp - Rounding that makes up for itself ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/CompensateRounding.h"
#include "compiler/Weights/WeightStore.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tenon;

namespace {

using Floats = std::vector<float>;

std::mt19937 &source() {
  static std::mt19937 random(11);
  return random;
}

Floats normal(size_t count, float deviation = 1) {
  std::normal_distribution<float> distribution(0, deviation);
  Floats values(count);
  for (float &value : values)
    value = distribution(source());
  return values;
}

/// Rows whose channels are mixtures of few values, and a little of their own.
Floats correlated(int64_t rows, int64_t channels) {
  int64_t few = channels / 8;
  Floats mixture = normal(size_t(few * channels)), result;
  for (int64_t i = 0; i < rows; ++i) {
    Floats hidden = normal(size_t(few)), row = normal(size_t(channels), 0.3f);
    for (int64_t k = 0; k < channels; ++k)
      for (int64_t j = 0; j < few; ++j)
        row[size_t(k)] += hidden[size_t(j)] * mixture[size_t(j * channels + k)];
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

/// A weight [depth][columns], rows to round it by, and others of their kind.
struct RoundingCase {
  int64_t depth, columns, block;
  BlockForm form;
  Floats weight, rows, others;

  RoundingCase(int64_t depth, int64_t columns, int64_t block, BlockForm form)
      : depth(depth), columns(columns), block(block), form(form),
        weight(normal(size_t(depth * columns), 0.05f)),
        rows(correlated(1000, depth)) {
    auto middle = rows.begin() + 700 * depth;
    others.assign(middle, rows.end());
    rows.erase(middle, rows.end());
  }

  Floats nearest() const {
    Floats result(weight.size());
    std::vector<int8_t> numbers(static_cast<size_t>(block));
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t k = 0; k < depth; k += block) {
        Floats values(static_cast<size_t>(block));
        int64_t count = std::min(block, depth - k);
        for (int64_t i = 0; i < count; ++i)
          values[size_t(i)] = weight[size_t((k + i) * columns + n)];
        keep(result, n, k, quantizeBlock(values, form, numbers), numbers);
      }
    return result;
  }

  /// Nothing where the rows do not say how.
  std::optional<Floats> compensated() const {
    LhsSquares squares(depth);
    squares.add(rows);
    std::optional<ErrorSpreading> spreading = ErrorSpreading::of(squares);
    if (!spreading)
      return std::nullopt;
    Floats result(weight.size());
    constexpr int64_t width = CompensatedColumns::width;
    for (int64_t first = 0; first < columns; first += width) {
      CompensatedColumns some(*spreading, depth, block, form);
      int64_t count = std::min(width, columns - first);
      for (int64_t k = 0; k < depth; ++k)
        std::copy_n(weight.begin() + k * columns + first, count,
                    some.getValues() + k * width);
      some.round(count,
                 [&](int64_t column, int64_t at, const QuantizedBlock &found,
                     llvm::ArrayRef<int8_t> numbers) {
                   EXPECT_EQ(int64_t(numbers.size()), block);
                   keep(result, first + column, at * block, found, numbers);
                 });
    }
    return result;
  }

  void keep(Floats &result, int64_t n, int64_t k, const QuantizedBlock &found,
            llvm::ArrayRef<int8_t> numbers) const {
    float scale = widenBf16(found.scale);
    for (int64_t i = 0; i < block; ++i) {
      float value = float(numbers[size_t(i)] - found.zero) * scale;
      if (k + i < depth)
        result[size_t((k + i) * columns + n)] = value;
      else
        EXPECT_EQ(value, 0);
    }
  }

  /// Of the products of the other rows by another weight, over those by this
  /// one.
  double errorOf(const Floats &other) const {
    double off = 0, all = 0;
    for (size_t i = 0; i < others.size(); i += size_t(depth))
      for (int64_t n = 0; n < columns; ++n) {
        double sum = 0, difference = 0;
        for (int64_t k = 0; k < depth; ++k) {
          double x = others[i + size_t(k)];
          size_t at = size_t(k * columns + n);
          sum += x * weight[at];
          difference += x * (other[at] - weight[at]);
        }
        off += difference * difference;
        all += sum * sum;
      }
    return std::sqrt(off / all);
  }
};

TEST(CompensateRounding, ErrsLessThanNearestWhereChannelsGoTogether) {
  for (BlockForm form :
       {BlockForm::Bytes, BlockForm::Nibbles, BlockForm::NibblesFromZero})
    for (int64_t block : {16, 32, 128}) {
      RoundingCase test(300, 70, block, form);
      double nearest = test.errorOf(test.nearest());
      EXPECT_LT(test.errorOf(*test.compensated()), 0.4 * nearest)
          << "blocks of " << block;
    }
}

TEST(CompensateRounding, RoundsToNearestWhereChannelsAreTheirOwn) {
  // One row for each channel: errors in two of them never meet.
  RoundingCase test(64, 9, 32, BlockForm::Bytes);
  test.rows.assign(64 * 64, 0);
  for (size_t k = 0; k < 64; ++k)
    test.rows[k * 65] = 1;
  test.others = test.rows;
  Floats nearest = test.nearest(), found = *test.compensated();
  // Scales may be other ones, by a little: numbers are off by half of one.
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], test.weight[i], 0.25 / 127);
  EXPECT_NEAR(test.errorOf(found), test.errorOf(nearest), 1e-3);
}

TEST(CompensateRounding, TakesAnyDepthAndWidth) {
  for (int64_t depth : {2, 31, 64, 65, 100, 190})
    for (int64_t columns : {1, 8, 65}) {
      // One block alone has any even number of rows.
      int64_t block = depth <= 100 ? depth + depth % 2 : 64;
      RoundingCase test(depth, columns, block, BlockForm::Nibbles);
      EXPECT_LT(test.errorOf(*test.compensated()), 0.2)
          << depth << " by " << columns;
    }
}

TEST(CompensateRounding, ChannelsThatAreDeadOrTheSameAreNoFault) {
  RoundingCase test(96, 20, 32, BlockForm::Nibbles);
  for (Floats *rows : {&test.rows, &test.others})
    for (size_t i = 0; i < rows->size(); i += 96)
      for (size_t k = 0; k < 96; ++k)
        if (k % 3 == 0)
          (*rows)[i + k] = 0;
        else if (k % 3 == 1)
          (*rows)[i + k] = (*rows)[i + 2];
  test.rows[5] = std::numeric_limits<float>::quiet_NaN();
  test.rows[7] = std::numeric_limits<float>::infinity();
  std::optional<Floats> found = test.compensated();
  ASSERT_TRUE(found);
  for (size_t i = 0; i < found->size(); ++i)
    EXPECT_NEAR((*found)[i], test.weight[i], 0.4);
  EXPECT_LT(test.errorOf(*found), 0.5 * test.errorOf(test.nearest()));
}

TEST(CompensateRounding, NothingIsSaidByNothing) {
  RoundingCase test(32, 4, 32, BlockForm::Nibbles);
  test.rows.assign(64, 0);
  EXPECT_FALSE(test.compensated());
  test.rows.assign(64, 1e30f); // Squares of that are infinite.
  EXPECT_FALSE(test.compensated());
}

TEST(CompensateRounding, WeightsThatAreNotFiniteAreNoFault) {
  RoundingCase test(40, 4, 32, BlockForm::NibblesFromZero);
  test.weight[3] = std::numeric_limits<float>::infinity();
  test.weight[4] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 8; i < 4 * 32; i += 4)
    test.weight[i] = 0;
  Floats found = *test.compensated();
  for (float value : found)
    EXPECT_TRUE(std::isfinite(value));
}

} // namespace
