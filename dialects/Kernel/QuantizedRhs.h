//===- QuantizedRhs.h - Right sides of products in few bits ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product by a quantized weight is one by a matrix [K, N] that is computed of
// three tensors: numbers [B * S, N], and for each block of S steps of k and
// each column a scale and a zero point, [B, N] both (or one zero point for
// all):
//
//     q = reshape numbers -> [B, S, N]
//     s = reshape scales -> [B, 1, N], z likewise
//     matrix = reshape (dequantize q, s, z) -> [B * S, N]
//
// and, where K is less than B * S, the first K rows of that. A matrix for each
// batch, [E, K, N], has the blocks of one behind those of another: numbers
// [E * B * S, N], scales [E * B, N], the matrix [E, B * S, N]. Kernels take all
// of it in, so that numbers are what they read. With the attribute `bits` = 4
// the dequantize says that its numbers are such as 4 bits can hold: a kernel
// may ask for a layout that has no more.
//
// With a decode in place of the dequantize, numbers of 4 bits stand for the
// values of a codebook, and there are no zero points.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_QUANTIZEDRHS_H
#define TENON_DIALECTS_KERNEL_QUANTIZEDRHS_H

#include "dialects/Kernel/StridedView.h"

namespace tenon::kernel {

struct QuantizedRhs {
  mlir::Value numbers, scales; // [blocks * block, N], [blocks, N]
  mlir::Value zeros;           // [blocks, N]; null: zeroPoint for all.
  int64_t zeroPoint = 0;
  int64_t block = 0, blocks = 0; // Steps of k; of a batch's matrix.
  int64_t batches = 0;           // That have a matrix each; 0: one for all.
  int64_t bits = 8;              // Of a number.
  /// What numbers stand for, sixteen; empty: themselves.
  llvm::ArrayRef<float> codebook;
  mlir::Operation *op = nullptr;

  /// The steps of k in a block of a kernel, of so many: it is cut where a block
  /// of the weight begins.
  int64_t blockDepth(std::optional<int64_t> steps) const;
  int64_t allBlocks() const { return std::max<int64_t>(batches, 1) * blocks; }
  bool isSigned() const {
    return !graph::getElementType(numbers).isUnsignedInteger();
  }
};

/// Whether an op makes f32 of numbers of few bits: a dequantize or a decode.
inline bool widensNumbers(mlir::Operation *op) {
  return llvm::isa_and_present<graph::DequantizeOp, graph::DecodeOp>(op);
}

/// The attribute of a dequantize.
inline constexpr llvm::StringLiteral bitsOfNumbers = "bits";

/// nullopt for operands of other forms.
std::optional<QuantizedRhs> quantizedRhsOf(mlir::Value operand);

/// The depth that scratch memory for a block has room for, of a product of so
/// many steps of k.
std::optional<int64_t> scratchDepth(const std::optional<QuantizedRhs> &rhs,
                                    std::optional<int64_t> steps);

/// The ops between the three tensors and the operand, in an order in which they
/// can be made.
llvm::SmallVector<mlir::Operation *> quantizedRhsOps(mlir::Value operand);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_QUANTIZEDRHS_H
