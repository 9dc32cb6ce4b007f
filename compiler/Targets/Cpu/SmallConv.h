//===- SmallConv.h - Convolutions of small images -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_SMALLCONV_H
#define TENON_COMPILER_TARGETS_CPU_SMALLCONV_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the SmallConv schedule.
mlir::LogicalResult emitSmallConv(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_SMALLCONV_H
