//===- LhsHistogram.cpp - The range that 8 bits are to cover --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/LhsHistogram.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

using namespace tenon;

namespace {

constexpr float steps = 255;
/// What lies outside of a range by percentiles, at both ends together.
constexpr double outside = 1e-4;
/// Ranges of least error are sought in steps of this part of all.
constexpr int parts = 64;
/// Narrower ranges are of zeros.
constexpr float narrowest = 1e-30f;

/// The lower end of a bucket of positive values, and so the upper end of that
/// before it.
float magnitudeOf(uint32_t upper) {
  return std::min(llvm::bit_cast<float>(upper << 16), FLT_MAX);
}

StaticLhs lhsOf(float low, float high) {
  StaticLhs lhs;
  if (high - low < narrowest)
    return lhs;
  lhs.scale = high / steps - low / steps;
  lhs.zero = int64_t(std::clamp(std::nearbyint(-low / lhs.scale), 0.0f, steps));
  return lhs;
}

} // namespace

void LhsHistogram::add(float value) {
  if (!std::isfinite(value))
    return;
  ++counts[llvm::bit_cast<uint32_t>(value) >> 16];
  least = std::min(least, value);
  most = std::max(most, value);
}

std::vector<LhsHistogram::Bucket> LhsHistogram::buckets() const {
  constexpr uint32_t negative = 0x8000, infinite = 0x7f80;
  std::vector<Bucket> found;
  for (uint32_t upper = infinite; upper-- > 0;)
    if (uint64_t count = counts[negative | upper])
      found.push_back(
          {-magnitudeOf(upper + 1), -magnitudeOf(upper), double(count)});
  for (uint32_t upper = 0; upper < infinite; ++upper)
    if (uint64_t count = counts[upper])
      found.push_back(
          {magnitudeOf(upper), magnitudeOf(upper + 1), double(count)});
  return found;
}

LhsHistogram::Range
LhsHistogram::withoutTails(const std::vector<Bucket> &buckets, Range all) {
  double total = 0;
  for (const Bucket &each : buckets)
    total += each.count;
  double tail = total * outside / 2;
  auto endOf = [&](auto begin, auto end, float Bucket::*side) {
    double seen = 0;
    for (auto each = begin; each != end; ++each)
      if ((seen += each->count) > tail)
        return (*each).*side;
    return 0.0f;
  };
  float low = endOf(buckets.begin(), buckets.end(), &Bucket::low);
  float high = endOf(buckets.rbegin(), buckets.rend(), &Bucket::high);
  return {std::clamp(low, all.low, 0.0f), std::clamp(high, 0.0f, all.high)};
}

double LhsHistogram::errorOf(const std::vector<Bucket> &buckets, Range range) {
  StaticLhs lhs = lhsOf(range.low, range.high);
  double scale = lhs.scale, zero = double(lhs.zero);
  double low = -zero * scale, high = (steps - zero) * scale, error = 0;
  for (const Bucket &each : buckets) {
    double width = double(each.high) - each.low;
    double middle = (double(each.high) + each.low) / 2;
    double nearest = std::clamp(middle, low, high);
    double one;
    if (nearest != middle) {
      double beyond = middle - nearest;
      one = beyond * beyond + width * width / 12;
    } else if (width >= scale) {
      one = scale * scale / 12; // Anywhere between two numbers.
    } else {
      double off = middle - scale * std::nearbyint(middle / scale);
      one = off * off;
    }
    error += each.count * one;
  }
  return error;
}

LhsHistogram::Range LhsHistogram::leastError(const std::vector<Bucket> &buckets,
                                             Range all) {
  Range best = all;
  double least = errorOf(buckets, all);
  // Each end in turn: what suits one hardly depends on the other.
  for (float Range::*end :
       {&Range::low, &Range::high, &Range::low, &Range::high})
    for (int part = 1; part <= parts; ++part) {
      Range range = best;
      range.*end = all.*end * float(part) / parts;
      double error = errorOf(buckets, range);
      if (error < least) {
        least = error;
        best = range;
      }
    }
  return best;
}

StaticLhs LhsHistogram::choose(RangeChoice choice) const {
  Range range = {least, most};
  if (choice == RangeChoice::Percentile)
    range = withoutTails(buckets(), range);
  if (choice == RangeChoice::Mse)
    range = leastError(buckets(), range);
  return lhsOf(range.low, range.high);
}
