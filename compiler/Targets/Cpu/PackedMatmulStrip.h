//===- PackedMatmulStrip.h - The inner kernel of packed matmuls -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H
#define TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// What the strip function computes: `rows` rows of
///
///     C[rows][panelColumns] (+)= A[rows][depth] * B[depth][panelColumns]
///
/// with B contiguous and the other two at a stride, in f32, each sum by fused
/// multiply-adds in the order of k. All sizes are i64 in elements.
struct Strip {
  mlir::Value a, aStride, b, depth, c, cStride, rows;
  mlir::Value accumulate; // i1: start from what C holds, else from zero.
  mlir::Value next;       // Another such B: fetched into the cache meanwhile.
};

/// The function that computes strips at a level. All packed matmuls of a module
/// share it: it is made at the first call.
mlir::LLVM::LLVMFuncOp packedMatmulStrip(mlir::ModuleOp module,
                                         const CpuLevel &level);

/// Calls it.
void callStrip(mlir::OpBuilder &b, mlir::LLVM::LLVMFuncOp function,
               const Strip &strip);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H
