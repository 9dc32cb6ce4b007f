//===- Words.h - Vectors that a thread holds in registers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_WORDS_H
#define TENON_COMPILER_TARGETS_CUDA_WORDS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Values of one type as a vector of them.
Value together(DeviceEmitter &e, llvm::ArrayRef<Value> values);

Value elementOf(DeviceEmitter &e, Value vector, int64_t i);

/// Elements 2 * half and the one behind it, as a vector.
Value halfOf(DeviceEmitter &e, Value vector, int64_t half);

/// `count` words of 32 bits at an address that is a multiple of as many.
llvm::SmallVector<Value> loadWords(DeviceEmitter &e, Value address,
                                   int64_t count);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_WORDS_H
