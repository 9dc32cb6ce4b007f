//===- MatmulRows.h - Matrix products of few rows -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_MATMULROWS_H
#define TENON_COMPILER_TARGETS_CUDA_MATMULROWS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Part `ordinal` of a product by the schedule MatmulRows, by all threads of a
/// block.
mlir::LogicalResult emitMatmulRows(DeviceEmitter &e, Value ordinal);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_MATMULROWS_H
