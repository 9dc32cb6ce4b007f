//===- ElementRoots.h - Elements of roots over images ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_ELEMENTROOTS_H
#define TENON_COMPILER_TARGETS_CUDA_ELEMENTROOTS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// The element at `index` of a convolution or pool, or null for other roots.
Value windowElement(cpu::Emitter &e, mlir::Operation *root,
                    llvm::ArrayRef<Value> index);

/// The element of a resize; of an image without elements a fault.
Value resized(cpu::Emitter &e, graph::ResizeOp op, llvm::ArrayRef<Value> index);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_ELEMENTROOTS_H
