//===- RowThreads.h - Threads of a block that share a row -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_ROWTHREADS_H
#define TENON_COMPILER_TARGETS_CUDA_ROWTHREADS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Neighbouring threads, a power of two of them, that join what each of them
/// has: in a butterfly inside of warps, then through shared memory between
/// them. All threads of a block take part, in one order: results depend on
/// nothing else.
class RowThreads {
public:
  using Values = llvm::SmallVector<Value>;
  using Join =
      llvm::function_ref<Values(mlir::ValueRange x, mlir::ValueRange y)>;

  /// `count` is up to 32, or all threads of the block.
  RowThreads(DeviceEmitter &e, int64_t count) : e(e), count(count) {}

  /// One of all threads' values, which they all get.
  Values join(Values mine, Join join);
  Value join(Value mine, llvm::function_ref<Value(Value, Value)> join);

  /// After the last join of a row: the next row's may begin.
  void finish();

  /// The thread's number among those.
  Value number() const;

  DeviceEmitter &e;
  const int64_t count;

private:
  Values butterfly(Values mine, int64_t among, Join join);

  int64_t slots = 0; // That joins so far have taken for each warp,
  int64_t joins = 0; // and how many there were.
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_ROWTHREADS_H
