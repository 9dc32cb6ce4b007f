//===- AttentionOperands.h - Layouts and repeats around attention ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ATTENTIONOPERANDS_H
#define TENON_COMPILER_TRANSFORMS_ATTENTIONOPERANDS_H

#include "dialects/Graph/Graph.h"

namespace tenon {
class WeightStore;

/// The type of a tensor whose last two axes are exchanged.
mlir::RankedTensorType swappedType(mlir::Value value);
/// The tensor with its last two axes exchanged. A transpose that `value` comes
/// from is looked through, so that what an exporter wrote as K^T becomes K.
mlir::Value withLastAxesSwapped(mlir::Value value, mlir::OpBuilder &builder);

/// Whether a reshape leaves the last two axes alone.
bool keepsLastAxes(graph::ReshapeOp op);

/// Whether `scores` have the sizes of `sum`, which is made of them, but that
/// the keys of something else are a symbol of its own: how many there are is
/// what the product behind the softmax says.
bool mayBeScoresOf(mlir::Value scores, mlir::Value sum);

/// Whether a batched product feeds `value` by way of what scores go through.
bool comesFromScores(mlir::Value value);

/// (K Q^T)^T -> Q K^T: `transpose` becomes the product of the exchanged
/// operands, where it is of nothing but a batched product. Whether it did.
bool turnTransposedProduct(graph::TransposeOp transpose);

/// Takes [B, KV, T, D] for key and value that repeat each of its heads, next to
/// each other, to [B, H, T, D]; only when both do so.
void dropHeadRepeats(mlir::Value &key, mlir::Value &value);

/// The [n, ...] of which `value` [B, ...] is B / n copies, one after another;
/// else `value` itself.
mlir::Value withoutBatchRepeat(mlir::Value value, mlir::OpBuilder &builder);

/// The same elements with leading axes of size 1.
mlir::Value withRank4(mlir::Value value, mlir::OpBuilder &builder);

/// Whether all elements are numbers far below any mask, by what they are
/// computed from. Weights count only where there is a store to look into.
bool isSmall(mlir::Value value, const WeightStore *weights);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ATTENTIONOPERANDS_H
