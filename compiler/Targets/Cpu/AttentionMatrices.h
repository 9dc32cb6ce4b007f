//===- AttentionMatrices.h - The products of attention by AMX -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONMATRICES_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONMATRICES_H

#include "compiler/Targets/Cpu/AmxUnit.h"
#include "compiler/Targets/Cpu/AttentionTiles.h"

namespace tenon::cpu {

/// The products of AttentionTiles.h of what is rounded to bf16. A lies in
/// matrices of 16 rows by 32 steps of the depth, B's lines are pairs of steps;
/// what pads either of them is zeros. Values are added to C as it is: it has
/// been multiplied by its factors before.
struct AttentionMatrixWork {
  mlir::Value a, aStep; // From 16 rows to the next, in matrices.
  mlir::Value b, steps; // Of 32 each.
  mlir::Value c, tiles; // Of 16 rows.
  mlir::Value columns;  // A multiple of 16.
};

inline constexpr int64_t matrixRows = AmxUnit::rows;
inline constexpr int64_t matrixSteps = AmxUnit::rowBytes / 2;
inline constexpr int64_t matrixBytes = matrixRows * matrixSteps * 2;

/// Calls the function that does it at a level, which all kernels of a module
/// share. Registers have their whole shapes.
void callAttentionMatrices(mlir::OpBuilder &b, mlir::ModuleOp module,
                           const CpuLevel &level, AttentionProduct product,
                           const AttentionMatrixWork &work);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONMATRICES_H
