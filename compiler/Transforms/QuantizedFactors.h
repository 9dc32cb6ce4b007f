//===- QuantizedFactors.h - Operands of products of integers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_QUANTIZEDFACTORS_H
#define TENON_COMPILER_TRANSFORMS_QUANTIZEDFACTORS_H

#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"

namespace tenon {

/// Whether numbers have 8 bits.
bool isByte(mlir::Value value);

/// Whether they have in memory, too: of a weight's numbers of 4 bits products
/// of bytes know nothing.
bool areBytesInMemory(mlir::Value value, const WeightStore &weights);

/// Whether the model says that integers are zeros, in a constant or, of many,
/// in a weight.
bool isZero(mlir::Value value, const WeightStore &weights);

/// Ops that change where elements are, on the way to what they are made of:
/// the last one first.
llvm::SmallVector<mlir::Operation *> viewsBehind(mlir::Value &value);

/// One number without axes.
mlir::Value asScalar(mlir::OpBuilder &builder, mlir::Value value);

/// Numbers, what they count from unless that is 0, and what one of them is.
struct QuantizedFactor {
  mlir::Value numbers, zero, scale;

  static QuantizedFactor of(graph::DequantizeOp op, const WeightStore &weights);

  /// The numbers less their zero point, as i32.
  mlir::Value centered(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Brings views of an operand of a product of i32 in front of the cast.
void lowerViews(mlir::OpOperand &operand);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_QUANTIZEDFACTORS_H
