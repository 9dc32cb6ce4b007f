//===- TurnedTile.h - Tiles whose rows become columns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H
#define TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

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

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_TURNEDTILE_H
