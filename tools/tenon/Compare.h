//===- Compare.h - Does a result agree with the expected one? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_COMPARE_H
#define TENON_TOOLS_TENON_COMPARE_H

#include "tools/tenon/Tensor.h"

namespace tenon {

struct Agreement {
  /// Largest difference, relative to the largest finite magnitude expected.
  double error = 0;
  /// Why they differ whatever the tolerance; empty when they do not.
  std::string mismatch;
  /// Where the error is largest.
  int64_t worst = 0;

  bool within(double tolerance) const {
    return mismatch.empty() && error <= tolerance;
  }
};

/// Types and shapes must be equal; integers and booleans exactly so. NaN,
/// infinities and values beyond 1e30 must match in place and kind, and count
/// for no magnitude. Two empty tensors of one type agree.
Agreement compare(const Tensor &actual, const Tensor &expected);

} // namespace tenon

#endif // TENON_TOOLS_TENON_COMPARE_H
