//===- TurnedTile.h - Tiles whose rows become columns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H
#define TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/ChannelTail.h"

namespace tenon::cpu {

/// Of the squares that are turned in registers.
inline constexpr int64_t turnedSide = 8;

/// Columns of such a square, whose rows of f32 lie `apart` elements from each
/// other: a vector of rows for each. The memory of fewer rows may be readable;
/// the others are then anything.
llvm::SmallVector<Value> turnedColumns(Emitter &e, Value square, int64_t apart,
                                       int64_t readableRows = turnedSide);

/// Rows of a product, `columns` from `column` on, whose f32 sums
/// lie `apart` elements from row to row.
struct TurnedTile {
  Indices lead; // The index of the first row: all axes but the last.
  Value rows, column, columns;
  Value sums;
  int64_t apart;
  int64_t readableRows; // Whose memory may be read: few, or a multiple of 8.
};

/// Computes and stores what is yielded for them, which lies behind `turn` (see
/// kernel::turnBehind): the tile's columns, by vectors of its rows.
void storeTurnedTile(Emitter &e, mlir::Value product, graph::TransposeOp turn,
                     const TurnedTile &tile);

/// Pixels of an image that follow each other, for `columns` maps from `column`
/// on: the f32 sums of a pixel lie `apart` elements from those of the next one,
/// in memory that has room for a square's.
struct TurnedPixels {
  Value image;        // Its number.
  Value first, count; // The first pixel in the image, and how many there are.
  int64_t ofImage;    // The pixels of one.
  Value column;
  int64_t columns;
  Value sums;
  int64_t apart;
  bool mayBeFew; // Fewer than a square has.
};

/// Computes and stores what is yielded for them behind a convolution, map by
/// map, by vectors of pixels.
void storeTurnedPixels(Emitter &e, graph::ConvOp op,
                       const kernel::ChannelTail &tail,
                       const TurnedPixels &pixels);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H
