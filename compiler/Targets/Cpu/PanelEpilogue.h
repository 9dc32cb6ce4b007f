//===- PanelEpilogue.h - What follows sums that wait in memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H
#define TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Memory on the stack for `count` elements, such as sums, in whole lines of
/// the cache: once per call of the kernel.
Value onStack(Emitter &e, mlir::Type element, int64_t count);

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

/// Binds elements of a tensor, from `column` on of the row that `lead` is the
/// index of, and stores at `position` on what is yielded for them.
void storeElements(Emitter &e, Value tensor, Indices lead, Value column,
                   Value elements, Value position);

/// One element of a row, or those of the lanes of a vector.
class RowElements {
public:
  RowElements(Emitter &e, const Lanes *lanes) : e(e), lanes(lanes) {}

  /// Of memory, the first one at `at`.
  Value load(Value base, mlir::Type element, Value at) const;
  /// What is the same for all.
  Value all(Value value) const {
    return lanes ? e.spread(value, lanes->width) : value;
  }

private:
  Emitter &e;
  const Lanes *lanes;
};

/// Runs `body` for elements [0, width) of a row of a tensor, whose values it
/// binds and stores: for vectors of them, the first one given, where bytes are
/// looked up, else for one in a loop that LLVM vectorises.
void forEachElement(
    Emitter &e, Value tensor, Value width,
    llvm::function_ref<void(Value i, const RowElements &elements)> body);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PANELEPILOGUE_H
