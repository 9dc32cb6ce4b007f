//===- DepthwiseTiles.h - Convolutions of small groups, by tiles ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_DEPTHWISETILES_H
#define TENON_COMPILER_TARGETS_CPU_DEPTHWISETILES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the schedules DepthwiseTiles and GroupTiles.
mlir::LogicalResult emitDepthwiseTiles(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_DEPTHWISETILES_H
