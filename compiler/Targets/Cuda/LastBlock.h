//===- LastBlock.h - The last of several blocks joins what all did --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_LASTBLOCK_H
#define TENON_COMPILER_TARGETS_CUDA_LASTBLOCK_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Counts this block, one of `blocks` (i64), at a word of global memory that is
/// 0 before the first one and behind the last one. The same for all threads,
/// all of which ask: whether all others have come, which the threads then see
/// all stores of. `flag` is 4 bytes of shared memory.
Value isLastBlock(DeviceEmitter &e, Value counter, Value blocks, Value thread,
                  Value flag);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_LASTBLOCK_H
