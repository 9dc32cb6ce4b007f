//===- PrecisionChoice.h - The fastest precisions within bounds -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PRECISIONCHOICE_H
#define TENON_TOOLS_TENON_PRECISIONCHOICE_H

#include <cstddef>
#include <optional>
#include <vector>

namespace tenon {

/// What an op would cost. Units are the caller's; errors are squares, so that
/// they add up as those of independent ops do.
struct PrecisionCost {
  double error = 0, time = 0, bytes = 0;

  PrecisionCost &operator+=(const PrecisionCost &other);
};

/// The index of a candidate for each op, such that errors and bytes of all stay
/// within bounds and the time is small: the least on the convex hull of what
/// can be had, and then as much less as still fits. An op has one candidate at
/// least. nullopt when no choice is within both bounds.
std::optional<std::vector<size_t>>
choosePrecisions(const std::vector<std::vector<PrecisionCost>> &ops,
                 double mostError, double mostBytes);

/// What a choice costs.
PrecisionCost costOf(const std::vector<std::vector<PrecisionCost>> &ops,
                     const std::vector<size_t> &choice);

} // namespace tenon

#endif // TENON_TOOLS_TENON_PRECISIONCHOICE_H
