//===- FewBitFloats.h - Numbers that bf16 has -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_FEWBITFLOATS_H
#define TENON_COMPILER_TRANSFORMS_FEWBITFLOATS_H

#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"

namespace tenon {

/// Whether a value, seen through casts, transposes and reshapes, was rounded to
/// floats of 8 or 4 bits, all of which bf16 has.
bool isInFewBits(mlir::Value value);

/// Whether all elements of a weight are numbers of bf16.
bool fitsBf16(const Weight &weight);

/// Whether a product multiplies nothing but numbers of bf16, of which one at
/// least was rounded to floats of 8 or 4 bits: in bf16 it is exact but for the
/// sums, which stay f32.
bool multipliesFewBits(mlir::Operation *product, const WeightStore *weights);

/// There on a product to say so until it is lowered: nothing of it may be
/// rounded further.
inline constexpr llvm::StringLiteral exactAttribute = "graph.exact";

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_FEWBITFLOATS_H
