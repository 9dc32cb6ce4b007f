//===- RowMoves.h - Data movement that leaves rows whole ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rolls, windows of images and their inverses put rows (the last axis) at other
// places. What works row by row can do so before or after them, and reading
// through them costs a few numbers per row.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TRANSFORMS_ROWMOVES_H
#define TENON_COMPILER_TRANSFORMS_ROWMOVES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Whether each row of the result lies in a row of the input as it is.
bool movesRows(mlir::Operation *op);

/// Whether each row of the result is a row of the input that an index names,
/// and long enough for vectors.
bool picksRows(mlir::Operation *op);

/// Whether the rows of the result are those of the input, each once.
bool permutesRows(mlir::Operation *op);

/// Whether an operand of a pointwise op is the same for each row: all axes but
/// the last one have size 1.
bool repeatsPerRow(mlir::Value operand);

/// The value with other axes before its last one, which stays; itself where
/// those are `dims` already.
mlir::Value reshapeRows(mlir::OpBuilder &builder, mlir::Value value,
                        llvm::ArrayRef<graph::Expr> dims);

/// A value for which repeatsPerRow holds without axes before its last one.
mlir::Value asOneRow(mlir::OpBuilder &builder, mlir::Value value);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ROWMOVES_H
