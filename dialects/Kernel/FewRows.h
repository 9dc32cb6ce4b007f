//===- FewRows.h - Matrix products of few rows on devices -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few rows is as fast as its rhs can be read: once, by all of the
// device, with many wide loads on their way. A block has some columns and some
// rows of the result; its threads share the steps of k. A rhs of few bits (see
// FragmentLayout.h) is multiplied by the matrix instructions, each warp some
// blocks of k of a panel. Where that makes few
// blocks, several share the steps of k, too: their sums meet in memory, and the
// block that comes last adds them in the order of k.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_FEWROWS_H
#define TENON_DIALECTS_KERNEL_FEWROWS_H

#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral fewRowsSchedule = "MatmulRows";

struct FewRows {
  static constexpr int64_t threads = 256, warps = 8;
  static constexpr int64_t across = 8; // Lanes of a warp along the columns.
  static constexpr int64_t runs = 4;   // Steps of k, or columns, of a thread.

  /// Threads of a warp go along k, for rhs lies so; else some along columns.
  bool alongDepth;
  int64_t rows; // Of a block, at most: registers hold so many sums.
  /// Elements of rhs that a thread has side by side: of 16 bytes together, and
  /// of one load.
  int64_t together, width;
  /// Panels of a rhs of few bits; 0 for others.
  int64_t panels = 0;

  int64_t columns() const {
    if (panels > 0)
      return panels * fragmentColumns;
    return alongDepth ? warps * runs : across * together;
  }
  /// Steps of k that a block takes at once.
  int64_t depth() const {
    if (panels > 0)
      return warps * fragmentSteps;
    return alongDepth ? 32 * together : threads / across * runs;
  }
  /// Sums of a warp, or of all, wait in shared memory.
  int64_t slabs() const { return alongDepth ? 1 : warps; }
  int64_t slabElements() const { return rows * columns(); }
  int64_t sharedBytes() const { return slabs() * slabElements() * 4 + 16; }
};

FewRows fewRowsOf(const MatmulView &view);
DeviceTile fewRowsTileOf(const MatmulView &view);

/// 1 for sizes at which that is worth it, else 0: more rows are faster by
/// tiles.
Expr hasFewRows(const MatmulView &view);

/// Blocks that share the steps of k of one part of the result.
Expr depthPiecesOf(const MatmulView &view, const FewRows &plan);

/// A row of the launch per block: batches, columns, rows, pieces of k.
Geometry fewRowsGeometry(const MatmulView &view);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FEWROWS_H
