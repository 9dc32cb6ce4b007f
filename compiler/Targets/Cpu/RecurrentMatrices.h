//===- RecurrentMatrices.h - Sums of cells by matrices in registers -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTMATRICES_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTMATRICES_H

#include "compiler/Targets/Cpu/AmxUnit.h"
#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Sums of `width` gates' vectors of units, side by side, of up to `rows`
/// states: lines of "cells16_pairs", which has `gates` of them side by side,
/// `lines` of them. Registers have so many rows, or 16.
struct CellTile {
  int64_t gates, width, rows, lines;

  /// Registers of states.
  int64_t height() const { return rows > AmxUnit::rows ? 2 : 1; }
  /// Registers that are the sum of a gate: a product waits for the one before.
  int64_t chains() const;
};

/// Multiplies the first `count` of states, pairs of bf16 in rows that are
/// `stride` bytes apart, by what R has from `recurrence` on: to
/// [rows][chains][width][16] of f32 at `out`.
void callCellTile(Emitter &e, const CellTile &tile, Value states,
                  int64_t stride, Value recurrence, Value out, Value count);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTMATRICES_H
