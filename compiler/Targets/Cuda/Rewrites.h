//===- Rewrites.h - LLVM IR as devices have instructions for it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_REWRITES_H
#define TENON_COMPILER_TARGETS_CUDA_REWRITES_H

#include "llvm/IR/Module.h"

namespace tenon::cuda {

/// Formulas round f32 to bf16 by arithmetic of its bits (cpu::roundTo), which
/// is seven instructions; here they become conversions, which are one for two
/// numbers. Before all passes.
void useConversions(llvm::Module &code);

/// Integers that are rounded by adding a large float are its lower bits. PTX
/// has st.b8 store them, and registers have no type; but ptxas (13.0, for all
/// devices) and drivers see that a float made them, and convert it to an
/// integer first: 255, in place of the bits. Puts a mov between both, after all
/// passes.
void keepPartialStores(llvm::Module &code);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_REWRITES_H
