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
/// with B contiguous and the other two at a stride (A may be interleaved
/// instead: [ceil(rows / interleavedRows)][depth][interleavedRows]), in f32,
/// each sum from zero by fused multiply-adds in the order of k, then added to
/// C. All sizes are i64 in elements.
struct Strip {
  mlir::Value a, aStride, b, depth, c, cStride, rows;
  mlir::Value accumulate; // i1: add to what C holds.
  mlir::Value next;       // Another such B: fetched into the cache meanwhile.
};

/// The function that computes strips at a level. All packed matmuls of a module
/// share it: it is made at the first call. Columns from `columns` on may be
/// left out. Where A is interleaved, a strip starts at a multiple of
/// kernel::interleavedRows, and aStride is its depth.
mlir::LLVM::LLVMFuncOp packedMatmulStrip(mlir::ModuleOp module,
                                         const CpuLevel &level,
                                         bool interleaved, int64_t columns);

/// Calls it.
void callStrip(mlir::OpBuilder &b, mlir::LLVM::LLVMFuncOp function,
               const Strip &strip);

/// Whether a level's tiles are as high as what is interleaved.
bool canInterleaveLhs(const CpuLevel &level);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H
