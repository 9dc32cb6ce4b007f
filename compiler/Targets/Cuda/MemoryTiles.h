//===- MemoryTiles.h - Schedules of what memory bounds --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_MEMORYTILES_H
#define TENON_COMPILER_TARGETS_CUDA_MEMORYTILES_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// How blocks of such a schedule run; nothing for others.
std::optional<kernel::DeviceTile> memoryTileOf(kernel::FuncOp kernel);

/// A block's part of a kernel by such a schedule; nothing for others.
std::optional<mlir::LogicalResult> emitMemoryTile(DeviceEmitter &e,
                                                  Value ordinal);

mlir::LogicalResult emitBlockColumns(DeviceEmitter &e, Value ordinal);
mlir::LogicalResult emitBlockRows(DeviceEmitter &e, Value ordinal);
void emitBlockNonzero(DeviceEmitter &e);
void emitBlockRecurrent(DeviceEmitter &e, Value ordinal);
void emitBlockState(DeviceEmitter &e, Value ordinal);
void emitBlockScan(DeviceEmitter &e, Value row);
void emitBlockTopk(DeviceEmitter &e, Value row);
void emitRankTopk(DeviceEmitter &e, Value ordinal);
void emitScatterFold(DeviceEmitter &e, Value ordinal);
void emitTurnedMap(DeviceEmitter &e, Value ordinal);
void emitVectorMap(DeviceEmitter &e, Value ordinal);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_MEMORYTILES_H
