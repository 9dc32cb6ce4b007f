//===- AmxLines.h - Tiles whose rows are pixels of lines ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_AMXLINES_H
#define TENON_COMPILER_TARGETS_CPU_AMXLINES_H

#include "compiler/Targets/Cpu/AmxUnit.h"

namespace tenon::cpu {

/// Lines of the cache that a step reads of a panel, and that one may fetch.
inline constexpr int64_t amxStepLines = 48, amxFetchedLines = 4;

/// lines(a, aLower, aStride, starts, runs, steps, b, out, outStride, rows
/// [, next, nextStep]):
///
///     out[2 * rows][columns] = sum over runs r of
///         A[2 * rows][at r][16 * steps] * B[r][16 * steps][panelColumns]
///
/// of pairs of bf16, or of quads of bytes (ui8 by i8, sums of i32). A's first
/// `rows` rows begin at `a`, the others at `aLower`, at a stride; where run r
/// begins in each is starts[r] bytes behind. Strides are bytes. All registers
/// of A and of sums have been shaped for as many rows (AmxUnit::shape). If it
/// fetches, each step does from `next` on, which goes on by nextStep bytes. All
/// kernels of a module share it.
mlir::LLVM::LLVMFuncOp amxLinesFunction(mlir::ModuleOp module,
                                        const CpuLevel &level, bool isInt8,
                                        int64_t columns, bool fetches);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_AMXLINES_H
