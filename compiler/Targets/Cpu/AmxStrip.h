//===- AmxStrip.h - Strips by matrices in registers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_AMXSTRIP_H
#define TENON_COMPILER_TARGETS_CPU_AMXSTRIP_H

#include "compiler/Targets/Cpu/AmxUnit.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"

namespace tenon::cpu {

/// Rows of a strip's tile.
inline constexpr int64_t amxTileRows = AmxUnit::mostHeight * AmxUnit::rows;

/// Whether a level computes strips of that kind so.
bool usesAmx(const CpuLevel &level, StripKind kind);

/// Emits `body`, in which strips may be called that use AMX if `used` says so:
/// before it the registers are given their shapes, behind it they are released,
/// so that nobody has to save them.
void withAmx(Emitter &e, bool used, llvm::function_ref<void()> body);

/// The function that callStripTile calls: strip(a, aStride, b, depth, c,
/// cStride, rows, accumulate, next, out, outStride, index, count, nextBytes).
mlir::LLVM::LLVMFuncOp amxStripFunction(mlir::ModuleOp module,
                                        const CpuLevel &level,
                                        const Strip &strip);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_AMXSTRIP_H
