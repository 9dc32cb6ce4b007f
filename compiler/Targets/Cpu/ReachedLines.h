//===- ReachedLines.h - Taps that lie inside of an image ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_REACHEDLINES_H
#define TENON_COMPILER_TARGETS_CPU_REACHEDLINES_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/ConvDepth.h"

namespace tenon::cpu {

/// Which lines of taps (see ConvDepth.h) read anything but zeros beside the
/// image, for some pixels. Where windows are as wide as the image, most do not.
class ReachedLines {
public:
  ReachedLines(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth);

  /// Whether it is worth asking: windows are dilated, and their depth is cut.
  static bool mayMiss(graph::ConvOp op, const kernel::ConvDepth &depth);

  /// Whether any line does that is before [line, line + lines), among those, or
  /// behind; where none does at all, the first one counts.
  struct Reach {
    Value before, here, after;
  };
  /// Of pixels [first, last), of which there are some.
  Reach of(Value first, Value last, Value line, Value lines) const;

  /// Whether tiles of a few pixels of a line miss much of what blocks reach:
  /// taps lie far apart along the last axis, too.
  bool tilesMiss() const;
  /// Whether one of some lines reads anything for pixels [first, last).
  Value any(Value first, Value last, Value line, Value lines) const;

private:
  /// The positions of such pixels along each axis.
  void rangesOf(Value first, Value last, Indices &from, Indices &to) const;
  /// Whether a line reads the image, for positions [from, to] of its axes.
  Value holds(Value line, llvm::ArrayRef<Value> from,
              llvm::ArrayRef<Value> to) const;

  Emitter &e;
  mutable graph::ConvOp op; // Its getters are not const.
  const kernel::ConvDepth &depth;
  Indices inputDims, leadDims;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_REACHEDLINES_H
