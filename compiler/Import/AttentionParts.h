//===- AttentionParts.h - What all attention operators are made of --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B batch, S queries, T keys, H heads, KV heads of keys, D head size.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_ATTENTIONPARTS_H
#define TENON_COMPILER_IMPORT_ATTENTIONPARTS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// softmax(cap(q k^T * scale) + bias) v
struct AttentionCore {
  mlir::Value query; // [B, H, S, D]
  mlir::Value key;   // [B, KV, T, D]
  mlir::Value value; // [B, KV, T, Dv]
  mlir::Value bias;  // Broadcasts to [B, H, S, T]; null for none.
  double scale = 1;
  double softcap = 0;              // 0 for none.
  mlir::Type softmaxType;          // Null for the type of the scores.
  bool zeroWhereAllMasked = false; // A row of -inf in `bias` gives zeros.
  /// What becomes of scores and of weights, both in `softmaxType`; null for
  /// what they are.
  llvm::function_ref<mlir::Value(mlir::Value)> scoresOf, weightsOf;
};

struct AttentionResult {
  mlir::Value output;                          // [B, H, S, Dv]
  mlir::Value scores, capped, biased, weights; // [B, H, S, T]
};

AttentionResult attention(NodeConverter &node, const AttentionCore &core);

/// [B, S, heads * D] -> [B, heads, S, D]
mlir::Value splitHeads(NodeConverter &node, mlir::Value value, int64_t heads);
/// [B, heads, S, D] -> [B, S, heads * D]
mlir::Value mergeHeads(NodeConverter &node, mlir::Value value);

/// A positive number of heads; 0 after a problem.
int64_t headsAttr(NodeConverter &node, llvm::StringRef name);

/// 1 / sqrt of the head size, which must be a number.
double defaultScale(NodeConverter &node, graph::Expr headSize);

/// Which keys a query may see by position.
struct Window {
  bool causal = false;
  int64_t left = -1, right = -1; // How far, when not negative.
};

/// By how many positions key j comes after query i, at position i + offset:
/// i64 [.., S, T]; see visibleKeys.
mlir::Value keysAhead(NodeConverter &node, graph::Expr queries,
                      graph::Expr keys, mlir::Value offset = {});

/// Bools [.., S, T] of the keys that query i, at position i + offset, sees;
/// `offset` is i64 and broadcasts to [.., S, T], null for 0. Null without any
/// restriction.
mlir::Value visibleKeys(NodeConverter &node, const Window &window,
                        graph::Expr queries, graph::Expr keys,
                        mlir::Value offset);

/// Both, where a null stands for all.
mlir::Value bothVisible(NodeConverter &node, mlir::Value lhs, mlir::Value rhs);

/// 0 where `mask` holds, else `hidden`, in `element`.
mlir::Value biasOf(NodeConverter &node, mlir::Value mask, mlir::Type element,
                   double hidden);

/// Rotates the first 2 * R elements of each head of x [B, S, heads, D] by the
/// angles whose cosines and sines are [B or 1, S, R].
mlir::Value rotated(NodeConverter &node, mlir::Value x, mlir::Value cosines,
                    mlir::Value sines, bool interleaved);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_ATTENTIONPARTS_H
