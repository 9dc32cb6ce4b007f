//===- AttentionTiles.h - The products inside attention -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// Both products have queries as columns, kernel::queryBlock apart in memory,
/// and are made in tiles of `tileRows` rows. Of A each tile has a panel to
/// itself, in which its rows lie side by side:
///
///   Scores: C[key][query] = sum over d of keys[d][key] * B[d][query]
///   MoreScores: C[key][query] += the same
///   Values: C[n][query] = C[n][query] * factor[query]
///                       + sum over key of values[key][n] * B[key][query]
///
/// In pairs, a step of the depth is two of bf16 or f16 side by side, of A and
/// of B. Those of f16 are added up so, and the sums multiplied by `scale`.
enum class AttentionProduct { Scores, MoreScores, Values };

struct AttentionTileWork {
  mlir::Value a, aStep; // From panel to panel.
  mlir::Value b, depth; // A multiple of depthStep.
  mlir::Value c, tiles;
  mlir::Value columns; // A multiple of columnStep.
  mlir::Value factor;
  mlir::Value after; // A panel that will be read next.
  mlir::Value scale; // f32; null but for pairs of f16.
};

/// Rows of a tile.
int64_t tileRows(const CpuLevel &level);
/// Queries come in multiples of this.
int64_t columnStep(const CpuLevel &level);
constexpr int64_t depthStep = 4;
/// Of pairs of f16, whose sums would get too coarse of more.
constexpr int64_t mostStepsInF16 = 64;

/// Calls the function that does it at a level, which all kernels of a module
/// share: it is made at the first call.
void callAttentionProduct(mlir::OpBuilder &b, mlir::ModuleOp module,
                          const CpuLevel &level, AttentionProduct product,
                          StripKind kind, const AttentionTileWork &work);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H
