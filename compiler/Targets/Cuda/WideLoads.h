//===- WideLoads.h - Neighbours that are loaded together ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_WIDELOADS_H
#define TENON_COMPILER_TARGETS_CUDA_WIDELOADS_H

#include "compiler/Targets/Cuda/Product.h"

namespace tenon::cuda {

/// Neighbours as they lie in memory: one value of some elements.
struct WideLoad {
  Value raw;
  mlir::Type element;
  int64_t count;
};

/// `count` elements of an operand from `offset` on, which is a multiple of
/// theirs.
WideLoad loadWide(DeviceEmitter &e, const MatrixOperand &matrix, Value offset,
                  int64_t count);

/// Its elements as f32, in order.
void appendFloats(DeviceEmitter &e, const WideLoad &loaded,
                  llvm::SmallVectorImpl<Value> &floats);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_WIDELOADS_H
