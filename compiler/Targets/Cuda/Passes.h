//===- Passes.h - GPU instructions become LLVM's --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_PASSES_H
#define TENON_COMPILER_TARGETS_CUDA_PASSES_H

#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace tenon {

#define GEN_PASS_DECL
#include "compiler/Targets/Cuda/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/Targets/Cuda/Passes.h.inc"

} // namespace tenon

#endif // TENON_COMPILER_TARGETS_CUDA_PASSES_H
