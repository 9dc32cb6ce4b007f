//===- ConvRoot.h - The convolution that a kernel computes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_CONVROOT_H
#define TENON_COMPILER_TARGETS_CPU_CONVROOT_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The root of a kernel with one result, if it is a convolution of two
/// arguments, as they are or widened in pairs (see
/// dialects/Kernel/ConvDepth.h); else an error on the kernel.
mlir::FailureOr<graph::ConvOp> convRootOf(Emitter &e);

/// Fetches the elements of some pixels, of f32 operands of the result's shape,
/// which are read when the sums are there: `columns` from element `first` on.
void fetchOperands(Emitter &e, graph::ConvOp op, Value first, int64_t pixels,
                   int64_t columns);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_CONVROOT_H
