//===- WeightBlock.h - Parts of matrices, whatever they are made of -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_WEIGHTS_WEIGHTBLOCK_H
#define TENON_COMPILER_WEIGHTS_WEIGHTBLOCK_H

#include "compiler/Weights/WeightStore.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon {

/// Part of a matrix, or of its transpose.
struct MatrixBlock {
  int64_t row, rows, column, columns;
  bool isTransposed;
};

/// Copies a block of a weight of f32, bf16, f16, i8 or ui8 to rows that are
/// `stride` elements apart; from the matrices that the weight is made of, so
/// that its own bytes are not made. Of one that is rounded it copies what it is
/// rounded from.
void readBlock(const Weight &weight, const MatrixBlock &block, float *out,
               int64_t stride);

/// Reads all of a weight that way, some megabytes at a time: whole rows of its
/// last axis, from row `first` on.
void readRows(
    const Weight &weight,
    llvm::function_ref<void(int64_t first, llvm::ArrayRef<float>)> body);

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_WEIGHTBLOCK_H
