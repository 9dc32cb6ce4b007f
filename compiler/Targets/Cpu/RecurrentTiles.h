//===- RecurrentTiles.h - RNN, GRU and LSTM by vectors of units -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTTILES_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTTILES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The loop nest of the schedule RecurrentTiles.
mlir::LogicalResult emitRecurrentTiles(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTTILES_H
