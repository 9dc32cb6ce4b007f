//===- FoldingRules.h - What may be computed ahead ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_FOLDINGRULES_H
#define TENON_COMPILER_TRANSFORMS_FOLDINGRULES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Constants up to so many bytes stay in the IR, where kernels can take them
/// in.
inline constexpr int64_t inlineBytes = 256;

/// The bytes of a tensor; none where its shape is not static.
std::optional<int64_t> bytesOf(mlir::Value value);

/// The elements of a tensor whose shape is static.
int64_t countOf(mlir::Value value);

/// Whether an op is what makes a filter of 8-bit numbers, of one group or of
/// each channel, which may yet be convolved as they are.
bool dequantizesFilter(mlir::Operation *op);

/// Whether an op makes f32 of 16 bits.
bool widensHalves(mlir::Operation *op);

/// The same of a filter, for convolutions alone.
bool widensFilter(mlir::Operation *op);

/// Whether all that an op's result is for, element by element, are filters:
/// kernels of convolutions want them packed, however little they are computed
/// of. They take in those of narrow types themselves.
bool computesFilters(mlir::Operation *op);

/// Whether all that a value is for, seen through views and in wider types, are
/// kernels that have no weights of fewer bits: of convolutions by groups and
/// transposed ones, and of recurrent cells, but for those that read bytes or
/// pairs of bf16.
bool isForWideWeights(mlir::Value value);

/// Whether an op makes a vector of f32 of one of few bits: little beside the
/// matrix whose product it is added to, but a kernel of its own.
bool widensVector(mlir::Operation *op);

/// Whether an op computes the same at compile time as at run time.
bool mayFold(mlir::Operation *op);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_FOLDINGRULES_H
