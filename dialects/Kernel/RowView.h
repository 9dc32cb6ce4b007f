//===- RowView.h - Kernels that work along rows ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, softmax and reductions run over vectors of neighbouring elements. A
// vector lies along axes behind which there is nothing but axes of size 1: the
// axes that the root works along (a row is combined), or the innermost ones
// that it keeps (rows of columns, each column by itself).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_ROWVIEW_H
#define TENON_DIALECTS_KERNEL_ROWVIEW_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

/// Columns that one unit of work takes where columns are kept.
constexpr int64_t rowColumns = 64;

/// Rows of a run that are worked on side by side.
constexpr int64_t rowsTogether = 2;

/// The axes of a root's operand, axes of size 1 in none of the lists. An axis
/// of `run` but the last has index 0: the last one's counts them all.
struct RowView {
  mlir::Operation *root = nullptr;
  graph::QuantizeRowsOp quantize;   // The root or behind it; null: none.
  llvm::SmallVector<int64_t> lead;  // Units count them, outermost first.
  llvm::SmallVector<int64_t> steps; // Worked along, an index at a time.
  llvm::SmallVector<int64_t> run;   // Neighbours, along which vectors lie.
  bool combinesRun = false;         // Whether the root works along `run`.
  llvm::SmallVector<Expr> leadDims, stepDims;
  Expr length; // Elements of the run.

  /// Columns that lie in scratch memory for each step: whole vectors.
  Expr heldColumns() const;

  Geometry geometry(mlir::Block &body) const;
};

/// Whether elements of a value along some axes lie one behind the other in
/// memory, or are one element, all the way to the operands of a body whose root
/// is `root`, if any. Lanes of a vector that are not there do no harm.
bool liesAlong(mlir::Value value, llvm::ArrayRef<int64_t> axes,
               mlir::Operation *root = nullptr);

/// How a body runs over rows; nullopt, and why, when it does not.
std::optional<RowView> rowViewOf(mlir::Block &body, std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_ROWVIEW_H
