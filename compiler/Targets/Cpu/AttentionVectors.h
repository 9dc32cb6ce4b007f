//===- AttentionVectors.h - Vectors of queries ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONVECTORS_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONVECTORS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Vectors in and out of memory at any address of a multiple of four bytes.
class AttentionVectors {
public:
  /// Rows and columns of what is transposed at once.
  static constexpr int64_t tile = 8;

  /// `inF16`: what is rounded becomes f16, else bf16.
  AttentionVectors(Emitter &e, bool inF16) : e(e), inF16(inF16) {}

  Value load(mlir::VectorType type, Value at);
  void store(Value value, Value at);
  /// The first `count` elements, 0 behind them; no others are read.
  Value loadSome(mlir::VectorType type, Value at, Value count);
  /// The same two of elements that lie in memory as `stored`, widened to f32.
  Value loadAs(mlir::VectorType type, mlir::Type stored, Value at);
  Value loadSomeAs(mlir::VectorType type, mlir::Type stored, Value at,
                   Value count);
  /// The same of elements that lie `stride` apart.
  Value gatherSome(mlir::VectorType type, Value at, Value stride, Value count);
  /// One element in all lanes.
  Value loadSplat(mlir::VectorType type, Value at);
  /// Which lanes are below `count`.
  Value isBelow(mlir::VectorType type, Value count);
  /// Of n vectors of one or more times n elements, each n columns apart:
  /// element g * n + i of `rows[r]` becomes element g * n + r of result i.
  llvm::SmallVector<Value> transpose(llvm::ArrayRef<Value> rows);
  /// Two vectors one behind the other.
  Value join(Value first, Value second);
  /// Part `at` of the parts of `lanes` lanes each.
  Value part(Value whole, int64_t at, int64_t lanes);

  /// Two vectors of 16 lanes, rounded, one behind the other in words.
  Value round(Value first, Value second);
  /// The same side by side: word i has element i of both.
  Value roundPairs(Value first, Value second);
  /// The same of numbers that bf16 holds.
  Value joinPairs(Value first, Value second);

  /// Lane i is the sum of the lanes of rows[i]; as many rows as lanes.
  Value sumEach(llvm::ArrayRef<Value> rows);

  /// The larger one; y where either is NaN.
  Value larger(Value x, Value y);
  /// 2^y of y <= 0, to 1e-7; 0 below the normal numbers.
  Value powerOfTwo(Value y);
  /// The same of 16 lanes to 1e-4, which is enough for what becomes bf16.
  Value roughPowerOfTwo(Value y);

private:
  /// Two rows change places of lanes: [half] of both, [the other half] of both.
  std::pair<Value, Value> exchange(Value upper, Value lower, int64_t half);

  Value narrowed(Value first, Value second, llvm::ArrayRef<int32_t> mask);

  Emitter &e;
  bool inF16;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONVECTORS_H
