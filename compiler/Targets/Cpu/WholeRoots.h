//===- WholeRoots.h - Roots whose results are made in one row -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WHOLEROOTS_H
#define TENON_COMPILER_TARGETS_CPU_WHOLEROOTS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Emits the only row of a root: `body` gets where each of its results lies
/// (row-major, memory type): in a buffer of the kernel where one is the result
/// itself, else in scratch memory. Then everything else is yielded.
void emitWhole(Emitter &e, mlir::Operation *root,
               llvm::function_ref<void(llvm::ArrayRef<Value> bases)> body);

/// Where each result of a root lies; null for what is not yielded.
llvm::SmallVector<Value> yieldedBuffers(Emitter &e, mlir::Operation *root);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WHOLEROOTS_H
