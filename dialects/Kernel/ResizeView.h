//===- ResizeView.h - Resampled images, row by row ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A resize as the ResizeRows schedule computes it. Which elements of the input
// a position of an axis is made of, and their weights, are the same all along
// the other axes: they are put into tables in scratch memory, once for a piece.
// A row of the launch is the last axis of the result. Where that axis changes,
// the rows of the input that a row needs are first summed into one, from which
// its elements are looked up.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_RESIZEVIEW_H
#define TENON_DIALECTS_KERNEL_RESIZEVIEW_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

/// Elements of an axis that one of the result is made of where an image is
/// enlarged: one, two or four.
int64_t supportOf(graph::ResizeOp op);

/// How many it can be of at most along an axis: more where antialiasing makes
/// an image smaller, by a scale that is known; else none.
std::optional<int64_t> tapsOf(graph::ResizeOp op, int64_t axis);

/// Whether positions along an axis are those of the input.
bool keepsAxis(graph::ResizeOp op, int64_t axis);

struct ResizeView {
  mutable graph::ResizeOp op;      // Its getters are not const.
  llvm::SmallVector<int64_t> axes; // Those that change.
  int64_t taps;                    // Of each of them, at most.

  bool changesRow() const {
    return axes.back() + 1 == graph::getRank(op.getResult());
  }
  /// Bytes of a tap's table of an axis: i32 or f32.
  Expr tableBytes(int64_t axis) const;
  /// Bytes in front of the tables of axes[i]: for each tap its indices, then
  /// its weights if there are several; behind all axes, a row of the input.
  Expr tableStart(size_t i) const;
  Geometry geometry(mlir::Block &body) const;
};

/// nullopt with a reason for kernels that it does not suit.
std::optional<ResizeView> resizeViewOf(mlir::Block &body, std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_RESIZEVIEW_H
