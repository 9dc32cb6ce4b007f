//===- UnpackWeight.h - Weights as they were before packing ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_UNPACKWEIGHT_H
#define TENON_TOOLS_TENON_UNPACKWEIGHT_H

#include "tools/tenon/Tensor.h"

#include "dialects/Graph/Graph.h"

namespace tenon {

/// A weight of that shape, row-major, from the layout in which a kernel reads
/// it (see kernel.func): the same bytes, but for filters of Winograd's tiles,
/// which come back up to rounding. Nothing for operands that are not packed.
std::optional<TensorBytes> unpackWeight(llvm::StringRef layout,
                                        const char *data,
                                        llvm::ArrayRef<int64_t> shape,
                                        mlir::Type element);

} // namespace tenon

#endif // TENON_TOOLS_TENON_UNPACKWEIGHT_H
