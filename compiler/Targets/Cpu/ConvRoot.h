//===- ConvRoot.h - The convolution that a kernel computes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_CONVROOT_H
#define TENON_COMPILER_TARGETS_CPU_CONVROOT_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The root of a kernel with one result, if it is a convolution of two
/// arguments; else an error on the kernel.
mlir::FailureOr<graph::ConvOp> convRootOf(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_CONVROOT_H
