//===- ResizeRows.h - Resampling by rows ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RESIZEROWS_H
#define TENON_COMPILER_TARGETS_CPU_RESIZEROWS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the ResizeRows schedule.
mlir::LogicalResult emitResizeRows(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RESIZEROWS_H
