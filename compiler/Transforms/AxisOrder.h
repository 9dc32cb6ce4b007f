//===- AxisOrder.h - Ops on tensors whose axes are in another order -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_AXISORDER_H
#define TENON_COMPILER_TRANSFORMS_AXISORDER_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/PatternMatch.h"

namespace tenon {

/// Axis i of a tensor in the new order is axis order[i] in the old one, as in
/// `graph.transpose`.
using AxisOrder = llvm::SmallVector<int64_t>;

AxisOrder inverse(llvm::ArrayRef<int64_t> order);
/// `first`, then `second`.
AxisOrder compose(llvm::ArrayRef<int64_t> first,
                  llvm::ArrayRef<int64_t> second);
/// N C d.. -> N d.. C.
AxisOrder toChannelsLast(int64_t rank);

/// Whether no element changes its place: only axes of size one move. The dims
/// may have fewer axes than the order; leading ones are implied.
bool movesNothing(llvm::ArrayRef<graph::Expr> dims,
                  llvm::ArrayRef<int64_t> order);
bool movesNothing(graph::TransposeOp op);

mlir::RankedTensorType reordered(mlir::Type type,
                                 llvm::ArrayRef<int64_t> order);

/// Whether fold-constants knows the value: constants, and what ops on single
/// elements, reshapes and transposes make of them.
bool isStored(mlir::Value value);

/// How many operands, from the first on, have the axes of the result; those
/// behind them (indices, scalars) keep their own.
unsigned countOrdered(mlir::Operation *op);

/// Whether an equal op computes the result in the new order from operands in
/// the new order, at no greater cost.
bool canReorder(mlir::Operation *op, llvm::ArrayRef<int64_t> order);

/// That op; `operands` are in the new order where countOrdered says so.
mlir::Operation *reorder(mlir::OpBuilder &builder, mlir::Operation *op,
                         llvm::ArrayRef<int64_t> order,
                         mlir::ValueRange operands);

/// The value in the new order. Of a pointwise op's operand with fewer axes the
/// missing ones are implied, before and after.
mlir::Value inOrder(mlir::OpBuilder &builder, mlir::Value value,
                    llvm::ArrayRef<int64_t> order);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_AXISORDER_H
