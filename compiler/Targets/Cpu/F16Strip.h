//===- F16Strip.h - Strips that are added up in f16 -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_F16STRIP_H
#define TENON_COMPILER_TARGETS_CPU_F16STRIP_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"

namespace tenon::cpu {

/// Rows of a strip's tile.
inline constexpr int64_t f16TileRows = 8;

/// The function that callStripTile calls: strip(a, aStride, b, depth, c,
/// cStride, rows, accumulate, next, out, outStride, index, count, nextBytes,
/// factors[, columnFactors][, kept]).
mlir::LLVM::LLVMFuncOp f16StripFunction(mlir::ModuleOp module,
                                        const CpuLevel &level,
                                        const Strip &strip);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_F16STRIP_H
