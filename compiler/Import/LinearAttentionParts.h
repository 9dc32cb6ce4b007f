//===- LinearAttentionParts.h - What operators with a state share ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B sequences of T tokens, H heads of keys of D and values of E elements.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_LINEARATTENTIONPARTS_H
#define TENON_COMPILER_IMPORT_LINEARATTENTIONPARTS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// `update_rule`: whether the state decays, and whether it is corrected by what
/// it says of a key.
struct UpdateRule {
  bool decays, corrects;
};

/// Nothing after a problem.
std::optional<UpdateRule> readUpdateRule(NodeConverter &node);

/// All in f32. The heads of queries are a multiple of the others.
struct LinearAttention {
  mlir::Value query, key, value; // [B, T, H, D], and [B, T, H, E]
  mlir::Value state;             // [B, H, D, E]; null for zeros
  mlir::Value decay; // A factor, [B, T, H, D or 1]; null where none decays.
  mlir::Value beta;  // [B, T, H or 1]; null where nothing is corrected.
};

/// The result [B, T, H, E] and the last state; nothing after a problem.
llvm::SmallVector<mlir::Value> linearAttention(NodeConverter &node,
                                               const LinearAttention &the);

/// x [B, T, H, D] with each head so often.
mlir::Value repeatedHeads(NodeConverter &node, mlir::Value x, int64_t times);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_LINEARATTENTIONPARTS_H
