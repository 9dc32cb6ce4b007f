//===- QuantizedWeights.h - Right sides of products, made of few bits -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_QUANTIZEDWEIGHTS_H
#define TENON_COMPILER_TRANSFORMS_QUANTIZEDWEIGHTS_H

#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"

namespace tenon {

/// What a quantized weight [K, N], or [batches, K, N], consists of (see
/// dialects/Kernel/QuantizedRhs.h); of matrices for batches, one's rows behind
/// another's.
struct QuantizedWeight {
  const Weight *numbers = nullptr; // [blocks * block, N]
  const Weight *scales = nullptr;  // [blocks, N]
  const Weight *zeros = nullptr;   // [blocks, N]; null: zeroPoint for all.
  int64_t zeroPoint = 0;
  int64_t block = 0, blocks = 0; // Blocks: of one matrix.
  int64_t batches = 0;           // 0: one matrix for all.
  int64_t bits = 8;
  /// What numbers stand for, sixteen; empty: themselves.
  llvm::ArrayRef<float> codebook;
};

/// Why the weight of a product cannot have few bits; empty where it can.
std::string refusalOfFewBits(graph::MatmulOp op);

/// The stored matrix, or matrices, that the rhs of a product is, or, as devices
/// see some, is the transpose of; null for others.
graph::WeightOp storedMatrixOf(mlir::Value rhs);

/// The first `depth` rows of the weight as f32, in the form that kernels take
/// in.
mlir::Value quantizedRhs(mlir::OpBuilder &builder, mlir::Location loc,
                         const QuantizedWeight &weight, int64_t depth);

/// Why a table that is looked up cannot have few bits; empty where it can.
std::string refusalOfFewBits(graph::GatherOp op);

/// What a lookup gives, [..., width], of a table [N, width] whose transpose was
/// quantized: rows of numbers and of scales, dequantized.
mlir::Value quantizedLookup(mlir::OpBuilder &builder, graph::GatherOp op,
                            const QuantizedWeight &weight);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_QUANTIZEDWEIGHTS_H
