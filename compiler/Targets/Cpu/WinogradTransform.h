//===- WinogradTransform.h - Linear combinations of vectors ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINOGRADTRANSFORM_H
#define TENON_COMPILER_TARGETS_CPU_WINOGRADTRANSFORM_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/WinogradView.h"

namespace tenon::cpu {

/// Emits M * D * M^T for a square D of f32 vectors, which `load` gives, each
/// once; `store` gets each of the result. Rows of M begin with a factor other
/// than zero, or have one of one.
void transformSquare(
    Emitter &e, mlir::VectorType vector,
    llvm::ArrayRef<kernel::WinogradMatrices::Row> matrix,
    llvm::function_ref<Value(int64_t y, int64_t x)> load,
    llvm::function_ref<void(int64_t y, int64_t x, Value)> store);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINOGRADTRANSFORM_H
