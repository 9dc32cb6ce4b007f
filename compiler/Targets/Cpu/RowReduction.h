//===- RowReduction.h - Reductions in vectors -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ROWREDUCTION_H
#define TENON_COMPILER_TARGETS_CPU_ROWREDUCTION_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// A running sum, mean, product, maximum or minimum of floats, lane by lane.
/// Sums and products are carried in f64; of extremes, the best number and,
/// apart, any NaN.
class RowReduction {
public:
  using Values = llvm::SmallVector<Value>;

  RowReduction(Emitter &e, graph::ReduceKind kind, int64_t width)
      : e(e), kind(kind), width(width) {}

  Values start() const;
  /// Takes in a vector of f32, of which `mask` (all when null) is there.
  Values add(mlir::ValueRange sofar, Value x, Value mask) const;
  Values join(mlir::ValueRange x, mlir::ValueRange y) const;
  /// All lanes as one.
  Values fold(mlir::ValueRange lanes) const;
  /// What was carried over `count` elements as a compute value of `element`.
  Value finish(mlir::ValueRange carried, Value count, mlir::Type element) const;

private:
  bool isExtremum() const {
    return kind == graph::ReduceKind::Max || kind == graph::ReduceKind::Min;
  }
  Value better(Value x, Value y) const;
  Value either(Value x, Value y) const;

  Emitter &e;
  graph::ReduceKind kind;
  int64_t width;
};

/// Where the best of a running set of floats is, lane by lane: NaN is better
/// than all numbers, and of equals the first one, or the last, is taken.
class ArgReduction {
public:
  using Values = llvm::SmallVector<Value>;

  ArgReduction(Emitter &e, graph::ArgReduceOp op, int64_t width)
      : e(e), isMax(op.getKind() == graph::ReduceKind::Max),
        takesLast(op.getLast()), width(width) {}

  Values start() const;
  /// Takes in a vector of f32 at the i32 places `place`.
  Values add(mlir::ValueRange sofar, Value x, Value place, Value mask) const;
  Values join(mlir::ValueRange x, mlir::ValueRange y) const;
  /// All lanes as one.
  Values fold(mlir::ValueRange lanes) const;
  /// Places as i64.
  Value finish(Value place) const;
  /// Consecutive places from an i64 on.
  Value placesFrom(Value first) const;

private:
  Value isBetter(Value x, Value y) const;
  mlir::VectorType placeType() const;

  Emitter &e;
  bool isMax, takesLast;
  int64_t width;
};

/// x where it is larger, else y.
Value largerOf(Emitter &e, Value x, Value y);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ROWREDUCTION_H
