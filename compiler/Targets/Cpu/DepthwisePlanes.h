//===- DepthwisePlanes.h - Convolutions of each channel by planes ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_DEPTHWISEPLANES_H
#define TENON_COMPILER_TARGETS_CPU_DEPTHWISEPLANES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the DepthwisePlanes schedule.
mlir::LogicalResult emitDepthwisePlanes(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_DEPTHWISEPLANES_H
