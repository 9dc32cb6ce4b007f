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
  /// How much wider the kernel is than where an image is enlarged, inverted,
  /// and how far it reaches.
  Value squeeze(size_t axis) const;
  Value reach(Value squeeze) const;
  Value clamped(size_t axis, Value position) const;

  /// An element that a position is made of. One that does not hold counts for
  /// nothing: it may lie on an infinity.
  struct Tap {
    Value index, weight, holds;
  };
  /// As many as `count`, no less than kernel::tapsOf; weights, and whether
  /// they hold, are null where that is one.
  llvm::SmallVector<Tap> taps(size_t axis, Value position, int64_t count) const;

  Value real(double value) const;
  Value toReal(Value value) const;
  Value toInt(Value value) const;

private:
  Value scaleIn(mlir::Type type, size_t axis) const;
  Value coordinateIn(mlir::Type type, size_t axis, Value position) const;
  void putBorder(size_t axis, Value at, Value total,
                 llvm::MutableArrayRef<Tap> taps) const;

  Emitter &e;
  mutable graph::ResizeOp op; // Its getters are not const.
  mlir::Type f64;
  Indices input, result;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RESAMPLEDAXES_H
