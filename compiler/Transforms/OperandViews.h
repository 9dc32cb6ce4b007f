//===- OperandViews.h - What roots read where it lies ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_OPERANDVIEWS_H
#define TENON_COMPILER_TRANSFORMS_OPERANDVIEWS_H

#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseSet.h"

namespace tenon {

/// Whether kernels read and write what was rounded to its type.
bool isStoredIn16Bits(mlir::Value narrow, bool isCuda);

/// Gives the roots of a block, and what moves rows, ops of their own between
/// them and the memory that they can read in place: views, casts from fewer
/// bits, zero points. These ops, and those in front of a quantized weight.
llvm::DenseSet<mlir::Operation *> copyOperandViews(mlir::Block &block,
                                                   bool isCuda);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_OPERANDVIEWS_H
