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

/// One row of results along the last spatial axis; `rowIndex` is that of its
/// first element.
class WindowRow {
public:
  WindowRow(Emitter &e, llvm::ArrayRef<WindowAxis> axes,
            llvm::ArrayRef<Value> rowIndex)
      : e(e), axes(axes), rowIndex(rowIndex) {}

  /// For each tap and each o of the row with the tap inside: the position of
  /// all spatial axes. `before` sees the taps once, outside the loop over o.
  void
  forEachTap(llvm::function_ref<void(llvm::ArrayRef<Value>)> before,
             llvm::function_ref<void(Value o, llvm::ArrayRef<Value>)> body) {
    visit({}, {}, before, body);
  }

private:
  void visit(Indices taps, Indices position,
             llvm::function_ref<void(llvm::ArrayRef<Value>)> before,
             llvm::function_ref<void(Value, llvm::ArrayRef<Value>)> body);

  Emitter &e;
  llvm::ArrayRef<WindowAxis> axes;
  llvm::ArrayRef<Value> rowIndex;
};

/// Runs `body(row, lead, length)` for the rows of a root with spatial axes.
bool forEachRow(
    Emitter &e, mlir::Operation *op,
    llvm::function_ref<void(Value, llvm::ArrayRef<Value>, Value)> body);

/// Pools whose channels are not last; false for any other root.
bool emitPools(Emitter &e, mlir::Operation *root);

/// Convolutions and pools with channels last; false for any other root.
bool emitChannelsLast(Emitter &e, mlir::Operation *root);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINDOWS_H
