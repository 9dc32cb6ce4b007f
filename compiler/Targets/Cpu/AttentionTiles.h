//===- AttentionTiles.h - The products inside attention -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// Both products have queries as columns, kernel::queryBlock apart in memory:
///
///   Scores: C[key][query] = sum over d of keys[key][d] * B[d][query]
///   Values: C[n][query] = C[n][query] * factor[query]
///                       + sum over key of values[key][n] * B[key][query]
///
/// where keys and values lie as the model has them, `stride` elements from one
/// to the next: so neither is ever copied or transposed.
enum class AttentionProduct { Scores, Values };

struct AttentionTileWork {
  mlir::Value a, stride; // Keys or values.
  mlir::Value b, depth, c, rows;
  mlir::Value columns; // A multiple of columnStep.
  mlir::Value factor;
};

/// Queries come in multiples of this.
int64_t columnStep(const CpuLevel &level);

/// The function that does it at a level. All kernels of a module share it: it
/// is made at the first call.
mlir::LLVM::LLVMFuncOp attentionProduct(mlir::ModuleOp module,
                                        const CpuLevel &level,
                                        AttentionProduct product);

/// Calls it.
void callAttentionProduct(mlir::OpBuilder &b, mlir::LLVM::LLVMFuncOp function,
                          const AttentionTileWork &work);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONTILES_H
