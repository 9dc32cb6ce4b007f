//===- AmxLines.h - Tiles whose rows are pixels of lines ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_AMXLINES_H
#define TENON_COMPILER_TARGETS_CPU_AMXLINES_H

#include "compiler/Targets/Cpu/AmxUnit.h"

namespace tenon::cpu {

/// Lines of the cache that a step may fetch.
inline constexpr int64_t amxFetchedLines = 4;

/// What is multiplied: ui8 by i8 with sums of i32, or pairs of bf16; `step`
/// elements of 4 bytes at once, AmxUnit::rows of them at most.
struct AmxLines {
  bool isInt8;
  int64_t step, columns;
  bool fetches;
};

/// lines(a, aLower, aStride, starts, runs, steps, b, out, outStride, rows
/// [, next, nextStep]):
///
///     out[2 * rows][columns] = sum over runs r of
///         A[2 * rows][at r][step * steps] * B[r][step * steps][panelColumns]
///
/// A's first `rows` rows begin at `a`, the others at `aLower`, at a stride;
/// where run r begins in each is starts[r] bytes behind. Strides are bytes.
/// Registers have been shaped for as many rows, and for steps
/// (AmxUnit::shape). If it fetches, each step does from `next` on, which goes
/// on by nextStep bytes. All kernels of a module share it.
mlir::LLVM::LLVMFuncOp amxLinesFunction(mlir::ModuleOp module,
                                        const CpuLevel &level,
                                        const AmxLines &lines);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_AMXLINES_H
