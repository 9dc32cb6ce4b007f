//===- ErrorSpreading.h - How rows of a weight make up for one another ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ERRORSPREADING_H
#define TENON_COMPILER_TRANSFORMS_ERRORSPREADING_H

#include "compiler/Weights/LhsSquares.h"
#include <optional>

namespace tenon {

/// The sums of squares H of a lhs as R^T * diag(costs) * R, where R is upper
/// triangular with ones on its diagonal. A weight's column that errs by e makes
/// results err by
///
///     e^T * H * e = sum over k of costs[k] * (sum over j >= k of R[k][j]
///     e[j])^2
///
/// squared and summed. So rows are rounded from the last to the first: row k is
/// moved by what the errors of those behind it come to, R[k][j] * e[j], and
/// what its own rounding leaves costs costs[k] times its square.
class ErrorSpreading {
public:
  /// Adds a share of the mean of H's diagonal to it, the larger the fewer rows
  /// there were, which keeps these from deciding everything. Nullopt where H is
  /// 0 or not finite.
  static std::optional<ErrorSpreading> of(const LhsSquares &squares);

  /// Rows and columns, completed to whole strips.
  int64_t size() const { return factor.size(); }
  const UpperTriangle &getFactor() const { return factor; }
  llvm::ArrayRef<float> getCosts() const { return costs; }

private:
  explicit ErrorSpreading(const UpperTriangle &sums);
  void decompose(float damping);
  void decomposeCorner(int64_t top, float damping);
  void solveStrip(int64_t top);
  void subtractStrip(int64_t top);

  UpperTriangle factor;
  std::vector<float> costs;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ERRORSPREADING_H
