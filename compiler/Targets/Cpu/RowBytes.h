//===- RowBytes.h - Rows that become bytes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of graph.quantize_rows, of numbers or of vectors of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_ROWBYTES_H
#define TENON_COMPILER_TARGETS_CPU_ROWBYTES_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// What is carried along a row, from zeros on.
struct RowEnds {
  Value low, high;
  Value none; // 0, or NaN behind a NaN or an infinity.

  static constexpr size_t count = 3;
  static RowEnds from(mlir::ValueRange values) {
    return {values[0], values[1], values[2]};
  }
  llvm::SmallVector<Value, 3> values() const { return {low, high, none}; }

  RowEnds with(Emitter &e, Value element) const;
  RowEnds joined(Emitter &e, const RowEnds &other) const;
  /// All lanes as one.
  RowEnds folded(Emitter &e) const;
};

/// How a row's elements become bytes.
class RowBytes {
public:
  RowBytes(Emitter &e, graph::QuantizeRowsOp op, const RowEnds &ends);

  /// The row's scale and zero point, by the index of any of its elements.
  void storeSides(Indices index);
  /// An element, or in lanes a vector of them.
  void store(llvm::ArrayRef<Value> index, Value element);

private:
  /// Stores a result wherever it is yielded.
  void storeResult(Value result, llvm::ArrayRef<Value> index, Value value);

  Emitter &e;
  graph::QuantizeRowsOp op;
  Value scale, inverse, zero; // The zero point is a whole number of f32.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ROWBYTES_H
