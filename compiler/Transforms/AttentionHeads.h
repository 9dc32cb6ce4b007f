//===- AttentionHeads.h - Attention whose heads are folded ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ATTENTIONHEADS_H
#define TENON_COMPILER_TRANSFORMS_ATTENTIONHEADS_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// What stands between the products of an attention may have batch and heads
/// in one axis ([B * H, S, T]), no heads, or more axes than four, and may go
/// from one to the other by reshapes on the way. This is a copy of it from one
/// product to the other in which every tensor is [B, H, .., ..].
struct UnfoldedHeads {
  graph::SoftmaxOp softmax;
  graph::MatmulOp folded; // The product that was there.
  mlir::Value result;     // What it gives, made by the copy.
};

/// Copies what lies around `softmax`; null where everything has rank 4 as it
/// is. Where that cannot be done `why` says why, and there is no copy.
std::optional<UnfoldedHeads> unfoldHeads(graph::SoftmaxOp softmax,
                                         std::string &why);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ATTENTIONHEADS_H
