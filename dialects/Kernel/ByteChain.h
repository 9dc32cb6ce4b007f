//===- ByteChain.h - What is computed of one byte -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops that make a number of 8 bits of nothing but one other of 8
// bits, such as an activation between two scales: there are 256 results, which
// a kernel can look up.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_BYTECHAIN_H
#define TENON_DIALECTS_KERNEL_BYTECHAIN_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

struct ByteChain {
  mlir::Value leaf;
  llvm::SmallVector<mlir::Operation *> ops; // In order; the quantize is last.
};

/// nullopt where several values lead to the numbers, or a few steps do, which
/// take no longer than to look them up.
std::optional<ByteChain> byteChainOf(graph::QuantizeOp end);

/// The number that all elements of a constant are, without axes; null for other
/// values.
mlir::DenseElementsAttr knownNumberOf(mlir::Value value);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_BYTECHAIN_H
