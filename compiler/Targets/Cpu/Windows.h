//===- Windows.h - What convolutions and pools share ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINDOWS_H
#define TENON_COMPILER_TARGETS_CPU_WINDOWS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// position = o * stride + tap * dilation - low, for o in [0, count) where it
/// lies in [0, size).
struct WindowAxis {
  int64_t stride, dilation;
  Value low, taps, size, count;
};

/// The spatial axes of windows over `image` that give `grid`; they start at
/// axis `first` of both.
llvm::SmallVector<WindowAxis>
windowAxes(Emitter &e, llvm::ArrayRef<int64_t> strides,
           llvm::ArrayRef<int64_t> dilations, graph::DimsAttr pads, Value image,
           Value grid, llvm::ArrayRef<Value> taps, size_t first);

/// The same of a pool.
template <typename PoolOp>
llvm::SmallVector<WindowAxis> poolAxes(Emitter &e, PoolOp op, size_t first) {
  llvm::SmallVector<Value> taps;
  for (int64_t size : op.getKernel())
    taps.push_back(e.number(size));
  return windowAxes(e, op.getStrides(), op.getDilations(), op.getPads(),
                    op.getInput(), op.getResult(), taps, first);
}

/// Stores `start` as the first `length` sums.
void clear(Emitter &e, Value sums, Value length, Value start);

/// How many taps of one axis lie in [-low, size + high) or in [0, size).
Value tapsInside(Emitter &e, const WindowAxis &axis, Value o, Value high,
                 bool countPads);

/// Convolutions and pools with channels last; false for any other root.
bool emitChannelsLast(Emitter &e, mlir::Operation *root);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINDOWS_H
