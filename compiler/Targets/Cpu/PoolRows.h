//===- PoolRows.h - Pools, by vectors -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_POOLROWS_H
#define TENON_COMPILER_TARGETS_CPU_POOLROWS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the PoolRows schedule.
mlir::LogicalResult emitPoolRows(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_POOLROWS_H
