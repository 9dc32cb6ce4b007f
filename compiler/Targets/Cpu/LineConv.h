//===- LineConv.h - Convolutions that read lines of an image --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_LINECONV_H
#define TENON_COMPILER_TARGETS_CPU_LINECONV_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the LineConv schedule.
mlir::LogicalResult emitLineConv(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LINECONV_H
