//===- OnlineSoftmax.h - Softmax in one pass before the last --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_ONLINESOFTMAX_H
#define TENON_COMPILER_TARGETS_CUDA_ONLINESOFTMAX_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cuda {

using mlir::Value;

/// The largest element so far and the sum of powers below it, which is
/// corrected wherever a larger one comes: of floats or of vectors of them. NaN
/// passes by the maximum, but not by the sum.
class OnlineSoftmax {
public:
  using Values = llvm::SmallVector<Value>;

  explicit OnlineSoftmax(cpu::Emitter &e) : e(e) {}

  /// exp(x - largest); nothing for -infinity, whatever the largest is so far.
  Value power(Value x, Value largest) const;
  /// A sum of powers below `before` as one of powers below `now`; the sum may
  /// be a vector where these are not.
  Value corrected(Value before, Value sum, Value now) const;
  /// One of two pairs of largest and sum.
  Values join(mlir::ValueRange x, mlir::ValueRange y) const;

private:
  cpu::Emitter &e;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_ONLINESOFTMAX_H
