//===- LhsHistogram.h - The range that 8 bits are to cover ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_LHSHISTOGRAM_H
#define TENON_TOOLS_TENON_LHSHISTOGRAM_H

#include "compiler/PrecisionPlan.h"

#include <cstdint>
#include <vector>

namespace tenon {

/// How a range is chosen: all that was seen; all but a ten-thousandth, half of
/// it at each end; or such that squares of errors are least.
enum class RangeChoice { MinMax, Percentile, Mse };

/// How often values were seen, in buckets of equal upper 16 bits: 1/128 of
/// their magnitude wide, whatever the range is going to be. So one look at the
/// data is enough, in any order, and memory is bounded.
class LhsHistogram {
public:
  LhsHistogram() : counts(size_t(1) << 16) {}

  /// What is not finite is left out.
  void add(float value);

  /// The scale and the zero point that suit what was seen.
  StaticLhs choose(RangeChoice choice) const;

private:
  struct Bucket {
    float low, high;
    double count;
  };
  struct Range {
    float low, high;
  };

  /// Those that are not empty, in ascending order.
  std::vector<Bucket> buckets() const;
  static Range withoutTails(const std::vector<Bucket> &buckets, Range all);
  static Range leastError(const std::vector<Bucket> &buckets, Range all);
  static double errorOf(const std::vector<Bucket> &buckets, Range range);

  std::vector<uint64_t> counts;
  float least = 0, most = 0; // Exactly; 0 is always within.
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_LHSHISTOGRAM_H
