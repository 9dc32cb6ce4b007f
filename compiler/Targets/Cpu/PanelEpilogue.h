//===- PanelEpilogue.h - What follows sums that wait in memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H
#define TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Elements [column, column + width) of a row of a tensor that waits: at
/// `position` on of the result, their f32 sums at `waits` on of `sums`.
struct PanelRow {
  Indices lead; // The index of all axes but the last.
  Value column, width, position;
  Value sums, waits; // Without sums, its elements are zero.
};

/// Computes and stores what is yielded for them: of tensors of equal sizes,
/// whose sums lie `apart` elements from each other.
void storePanelRow(Emitter &e, llvm::ArrayRef<Value> tensors,
                   const PanelRow &row, int64_t apart = 0);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H
