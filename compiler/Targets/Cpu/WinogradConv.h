//===- WinogradConv.h - 3x3 convolutions with fewer products --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINOGRADCONV_H
#define TENON_COMPILER_TARGETS_CPU_WINOGRADCONV_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/WinogradView.h"

namespace tenon::cpu {

/// The loop nest of the schedules of Winograd tiles of `outputs` a side.
mlir::LogicalResult emitWinogradConv(Emitter &e, int64_t outputs);

/// The same of pairs of bf16 (see LineConvView.h), widened to f32.
void emitWinogradTiles(Emitter &e, graph::ConvOp op,
                       const kernel::WinogradView &view);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINOGRADCONV_H
