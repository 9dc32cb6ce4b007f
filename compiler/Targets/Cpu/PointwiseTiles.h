//===- PointwiseTiles.h - The axes of a kernel without root ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_POINTWISETILES_H
#define TENON_COMPILER_TARGETS_CPU_POINTWISETILES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Neighbouring axes that are counted as one, by the index of `axis`; the
/// others' stays 0.
struct AxisRun {
  int64_t axis;
  Value size;
};

llvm::SmallVector<Value> sizesOf(llvm::ArrayRef<AxisRun> runs);

/// What a kernel without root iterates over; axes of size 1 are in no run. A
/// scalar has neither dims nor runs.
struct PointwiseSpace {
  llvm::SmallVector<Expr> dims;
  llvm::SmallVector<AxisRun> runs; // Outermost first.

  /// The index of an element from one count per run.
  Indices index(Emitter &e, llvm::ArrayRef<Value> counts) const;
  /// How many rows (last axes) make one of the innermost run.
  Value rowsOfInner(Emitter &e) const;
};

/// The space of the emitter's kernel.
PointwiseSpace pointwiseSpace(Emitter &e);

/// Transposes a square of vectors, by exchanging ever larger squares inside it.
void turnRegisters(Emitter &e, llvm::MutableArrayRef<Value> lines);

/// Emits a kernel that yields through a transposition which moves the last
/// axis, in tiles; `elements` is called for rows that make no tile. False,
/// with nothing emitted, when the kernel is of another kind.
bool emitTransposedTiles(Emitter &e, const PointwiseSpace &space,
                         llvm::function_ref<void(Value, Value)> elements);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_POINTWISETILES_H
