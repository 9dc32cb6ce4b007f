//===- WindowCopy.h - What a pixel's window reads, in a row ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H
#define TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/ConvDepth.h"

namespace tenon::cpu {

/// 0, 1, 2, .. in a vector of i32.
Value laneNumbers(Emitter &e, int64_t lanes);

/// Copies parts of windows over an image with channels last, of f32 or of pairs
/// of bf16 (see ConvDepth.h).
class WindowCopy {
public:
  WindowCopy(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth);

  /// Stores lines [line, line + lines) of the window of a pixel of the result,
  /// of each the `length` elements from `start` on, one after the other; zeros
  /// where they lie outside of the image. Writes up to 15 elements more.
  void copyRow(llvm::ArrayRef<Value> pixel, Value line, Value lines,
               Value start, Value length, Value to);

private:
  /// Elements [low, high) of `length` at `from` are inside.
  void copyLine(Value from, Value low, Value high, Value length, Value to);
  Value element(Value base, Value offset);
  Value lanesIn(Value first, Value low, Value high);
  void copyMasked(Value from, Value to, Value i, Value mask);

  Emitter &e;
  graph::ConvOp op;
  const kernel::ConvDepth &depth;
  mlir::VectorType vector;
  Value input;
  Indices inputDims;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H
