//===- VectorStrip.h - Strips by sums in vector registers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_VECTORSTRIP_H
#define TENON_COMPILER_TARGETS_CPU_VECTORSTRIP_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"

namespace tenon::cpu {

/// The most rows of such a tile.
int64_t vectorStripRows(const CpuLevel &level, StripKind kind);

/// Of the names of functions that multiply and add by a kind.
llvm::StringRef suffixOf(StripKind kind);

/// The function that callStripTile calls: strip(a, aStride, b, depth, c,
/// cStride, rows, accumulate, next, out, outStride, index, count,
/// nextBytes[, kept]).
mlir::LLVM::LLVMFuncOp vectorStripFunction(mlir::ModuleOp module,
                                           const CpuLevel &level,
                                           const Strip &strip);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_VECTORSTRIP_H
