//===- MathLibrary.h - Functions of floats for devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_MATHLIBRARY_H
#define TENON_COMPILER_TARGETS_CUDA_MATHLIBRARY_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace tenon::cuda {

/// Adds those functions of device/Math.cpp to `code` that it calls, to be
/// inlined.
llvm::Error linkMath(llvm::Module &code);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_MATHLIBRARY_H
