//===- LowerPtx.h - Ptx ops become LLVM intrinsics and inline assembly ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_LOWERPTX_H
#define TENON_COMPILER_TARGETS_CUDA_LOWERPTX_H

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
}

namespace tenon::cuda {

/// Replaces all ptx ops of a module: by an intrinsic where LLVM has one that is
/// tied to its values, else by inline assembly with all registers as operands
/// and results. Every op becomes something; failure is an internal error.
mlir::LogicalResult lowerPtx(mlir::ModuleOp module);

/// Marks what the threads of a warp have to run together. The LLVM dialect
/// cannot say so; without it, LLVM may move such a call under a condition.
/// To be called before any pass runs on the translated module.
void markConvergent(llvm::Module &module);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_LOWERPTX_H
