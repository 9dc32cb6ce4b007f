//===- Reduction.h - How elements combine to one --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_REDUCTION_H
#define TENON_COMPILER_TARGETS_CPU_REDUCTION_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// A running sum, mean, product, maximum or minimum of a tensor's elements.
class Reduction {
public:
  Reduction(graph::ReduceKind kind, Value input)
      : kind(kind), element(graph::getElementType(input)) {}

  /// The type that is carried: f64 and i64, for max and min the elements' own.
  mlir::Type type(Emitter &e) const;
  Value start(Emitter &e) const;
  /// Order among joins is free for sums and products of floats.
  Value join(Emitter &e, Value sum, Value value) const;
  /// The same of two that were carried.
  Value joinSums(Emitter &e, Value x, Value y) const;
  /// The reduced element (in its compute type) from what was carried over
  /// `count` elements; a mean of no integers is a fault of `op`.
  Value finish(Emitter &e, Value sum, Value count, mlir::Operation *op) const;

private:
  bool isExtremum() const {
    return kind == graph::ReduceKind::Max || kind == graph::ReduceKind::Min;
  }

  graph::ReduceKind kind;
  mlir::Type element;
};

/// The lowest (or highest) value of a type: an infinity for floats.
Value extreme(Emitter &e, mlir::Type element, bool lowest);

/// Whether `x` comes before `y` when the largest (or smallest) is sought; NaN
/// comes before all numbers.
Value isBetter(Emitter &e, Value x, Value y, mlir::Type element, bool largest);

inline Value zeroBit(Emitter &e) { return e.zero(e.b.getI1Type()); }
inline Value oneBit(Emitter &e) {
  return constantLike(e.b, e.b.getI1Type(), -1);
}

/// Sum of floats whose order is free, so that loops may vectorise it.
Value addInAnyOrder(Emitter &e, Value x, Value y);
/// The larger (or smaller), or NaN.
Value maximum(Emitter &e, Value x, Value y);

/// Of floats, or of vectors of them.
Value subtract(Emitter &e, Value x, Value y);
Value multiply(Emitter &e, Value x, Value y);
Value inverse(Emitter &e, Value x);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_REDUCTION_H
