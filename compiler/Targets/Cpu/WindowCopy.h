//===- WindowCopy.h - What a pixel's window reads, in a row ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H
#define TENON_COMPILER_TARGETS_CPU_WINDOWCOPY_H

#include "compiler/Targets/Cpu/RowVectors.h"
#include "dialects/Kernel/ConvDepth.h"

namespace tenon::cpu {

/// Copies parts of windows over an image with channels last, of f32, of pairs
/// of bf16 or of quads of bytes (see ConvDepth.h). Of bytes, numbers that are
/// i8 become ui8 that count from 128 below.
class WindowCopy {
public:
  WindowCopy(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth);

  /// Pixels [from, to) of the result, whose axes but the channels have `dims`.
  /// That of `from` has its copy at `out`, the next ones `stride` elements from
  /// it.
  struct Rows {
    Value from, to;
    Indices dims;
    Value out;
    int64_t stride;
  };
  /// Lines [line, line + lines) of a window, of each the `length` elements from
  /// `start` on.
  struct Part {
    Value line, lines, start, length;
  };

  /// Stores a part of each pixel's window, one line after the other; zeros, or
  /// the zero point of bytes, where it lies outside of the image. Writes up to
  /// 15 elements more behind each.
  void copyRows(const Rows &rows, const Part &part);

private:
  /// Pixels of a line of the result, of which pixel 0 would have its copy at
  /// `out`, the next ones `stride` elements from it.
  struct Pixels {
    const Line &line;
    Value out;
    int64_t stride;
  };

  void copyLines(const Pixels &pixels, const Part &part, Value i);
  /// Lanes as they are stored.
  Value stored(Value lanes);
  void copyInside(Value from, Value length, Value to);
  /// Units [low, high) of `length` at `from` are inside.
  void copyBorder(Value from, Value low, Value high, Value length, Value to);
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
