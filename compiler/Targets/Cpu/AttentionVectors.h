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

  AttentionVectors(Emitter &e, mlir::Type f32)
      : e(e), tileType(mlir::VectorType::get({tile}, f32)) {}

  Value load(mlir::VectorType type, Value at);
  void store(Value value, Value at);

  Value loadTile(Value at) { return load(tileType, at); }
  /// Its first `count` elements, 0 behind them; no others are read.
  Value loadTile(Value at, Value count);
  Value splatTile(Value at);
  /// Of `tile` vectors of `tile` elements.
  llvm::SmallVector<Value> transpose(llvm::ArrayRef<Value> rows);

  /// The larger one; y where either is NaN.
  Value larger(Value x, Value y);
  /// 2^y of y <= 0, to 1e-7; 0 below the normal numbers.
  Value powerOfTwo(Value y);

private:
  Emitter &e;
  mlir::VectorType tileType;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONVECTORS_H
