//===- RowTile.h - How threads of a device share rows ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, softmax and reductions along rows whose elements are neighbours. Some
// neighbouring threads take a row, as many as leave each of them some vectors:
// some threads of a warp, or a block. A thread has every so-many-th vector. Of
// rows of a known length it keeps them in registers from pass to pass; others
// are read again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_ROWTILE_H
#define TENON_DIALECTS_KERNEL_ROWTILE_H

#include "dialects/Kernel/RowView.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral blockColumnsSchedule = "BlockColumns";
constexpr llvm::StringLiteral blockRowsSchedule = "BlockRows";

struct RowTile {
  int64_t width;       // Elements of a vector: 16 bytes where rows allow it.
  int64_t threads;     // Of a block.
  int64_t rowThreads;  // Of a row: a power of two.
  int64_t held;        // Vectors of a row that a thread keeps; 0: none.
  int64_t sharedBytes; // For what warps tell each other.

  int64_t rows() const { return threads / rowThreads; }
};

/// How threads share the rows of a view, all of which are combined.
RowTile rowTileOf(mlir::Block &body, const RowView &view);

/// Blocks that share each of a few long rows of which one element is left: the
/// last one joins what all have, in order. 1: none.
Expr rowPieces(const RowView &view, const RowTile &tile);
/// Of what a block leaves for that one: two numbers.
constexpr int64_t rowPieceBytes = 16;

/// A row of the launch per block.
Geometry rowTileGeometry(const RowView &view, const RowTile &tile);

/// How threads share the columns of a view that keeps them: the lanes of a warp
/// have neighbouring vectors of them, and warps have steps.
struct ColumnTile {
  int64_t width, threads, sharedBytes;
};
ColumnTile columnTileOf(mlir::Block &body, const RowView &view);
Geometry columnTileGeometry(const RowView &view, const ColumnTile &tile);

/// The widest vectors, of 16 bytes, in which what a body reads and writes may
/// come: of its narrowest floats.
int64_t widestVector(mlir::Block &body);

/// The largest power of two up to `limit` that a size is a multiple of.
int64_t powerInside(Expr size, int64_t limit);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_ROWTILE_H
