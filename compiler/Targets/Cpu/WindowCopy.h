//===- WindowCopy.h - What a pixel's window reads, in a row ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H
#define TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/ConvDepth.h"

namespace tenon::cpu {

/// 0, 1, 2, .. in a vector of i32.
Value laneNumbers(Emitter &e, int64_t lanes);

/// Copies parts of windows over an image with channels last, of f32, of pairs
/// of bf16 or of quads of bytes (see ConvDepth.h). Of bytes, numbers that are
/// i8 become ui8 that count from 128 below.
class WindowCopy {
public:
  WindowCopy(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth);

  /// Stores lines [line, line + lines) of the window of a pixel of the result,
  /// of each the `length` elements from `start` on, one after the other; zeros,
  /// or the zero point of bytes, where they lie outside of the image. Writes up
  /// to 15 elements more.
  void copyRow(llvm::ArrayRef<Value> pixel, Value line, Value lines,
               Value start, Value length, Value to);

private:
  /// Lanes as they are stored.
  Value stored(Value lanes);
  /// Units [low, high) of `length` at `from` are inside.
  void copyLine(Value from, Value low, Value high, Value length, Value to);
  Value unitAt(Value base, Value offset);
  unsigned unitBytes() const { return unit.getIntOrFloatBitWidth() / 8; }
  Value lanesIn(Value first, Value low, Value high);
  void copyMasked(Value from, Value to, Value i, Value mask);

  Emitter &e;
  graph::ConvOp op;
  const kernel::ConvDepth &depth;
  /// What is moved: elements, or bytes where channels are no whole quads.
  mlir::Type unit;
  int64_t unitsOfElement = 1, channels; // The latter of these units.
  mlir::VectorType vector;
  int64_t lanes;
  bool flips = false; // To ui8.
  Value fill;         // For units that the image does not have.
  Value input;
  Indices inputDims;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H
