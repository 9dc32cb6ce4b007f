//===- ResampledAxes.h - What elements of a resize are made of ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RESAMPLEDAXES_H
#define TENON_COMPILER_TARGETS_CPU_RESAMPLEDAXES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Coordinates and weights along the axes of a resize, all in f64.
class ResampledAxes {
public:
  ResampledAxes(Emitter &e, graph::ResizeOp op)
      : e(e), op(op), f64(e.b.getF64Type()), input(e.dimsOf(op.getInput())),
        result(e.dimsOf(op.getResult())) {}

  /// Where a position of the result lies on the input's axis, unless the
  /// resize crops.
  Value coordinate(size_t axis, Value position) const;
  /// The coordinate within reach of the input, and 0 for NaN.
  Value bounded(size_t axis, Value coordinate, Value reach) const;
  /// The input's element that is nearest to a coordinate.
  Value nearest(size_t axis, Value coordinate) const;
  /// The kernel at a distance from the coordinate.
  Value weight(Value distance) const;
  Value scale(size_t axis) const;
  Value clamped(size_t axis, Value position) const;

  /// An element that a position is made of. One that does not hold has
  /// neither an index nor a weight: it may lie on an infinity.
  struct Tap {
    Value index, weight, holds;
  };
  /// As many as kernel::tapsOf; weights, and whether they hold, are null where
  /// that is one.
  llvm::SmallVector<Tap> taps(size_t axis, Value position) const;

  Value real(double value) const;
  Value toReal(Value value) const;
  Value toInt(Value value) const;

private:
  Emitter &e;
  mutable graph::ResizeOp op; // Its getters are not const.
  mlir::Type f64;
  Indices input, result;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RESAMPLEDAXES_H
