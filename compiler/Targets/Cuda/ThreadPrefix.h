//===- ThreadPrefix.h - What the threads before one have ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_THREADPREFIX_H
#define TENON_COMPILER_TARGETS_CUDA_THREADPREFIX_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Joins what the threads of a block have, in their order. Threads of a warp
/// exchange what is before theirs, in ever larger steps, and so do warps
/// through shared memory: 8 bytes for each, from its start.
class ThreadPrefix {
public:
  using Join = llvm::function_ref<Value(Value, Value)>;

  explicit ThreadPrefix(DeviceEmitter &e);

  /// What all threads before this one have, `neutral` for the first; and what
  /// all have. All threads of the block ask.
  Value before(Value mine, Value neutral, Join join, Value &all);

private:
  Value upTo(Value mine, Join join);

  DeviceEmitter &e;
  Value lane, warpNumber;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_THREADPREFIX_H
