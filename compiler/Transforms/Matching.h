//===- Matching.h - What recognisers of patterns share --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_MATCHING_H
#define TENON_COMPILER_TRANSFORMS_MATCHING_H

#include "dialects/Graph/Constants.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/SetVector.h"

namespace tenon {

using graph::splatOf;

/// Whether a number is the expected one up to the rounding of exporters, which
/// write f16 constants or a few digits: one part in a thousand.
bool isNear(double value, double expected);

/// A constant of rank 0.
mlir::Value scalarOf(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::TypedAttr value);

/// A tensor's elements as another type.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type element);

/// The first elements of each axis, as many as a type has.
mlir::Value firstOf(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::Type type);

/// What makes a value, seen through ops of these kinds, which have one operand;
/// null for an argument.
template <typename... Ops> mlir::Operation *behind(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  while (llvm::isa_and_present<Ops...>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// A value as copies of `views` see it, of which the last one comes first: they
/// keep its element type, whichever they were made for.
mlir::Value throughViews(mlir::OpBuilder &builder,
                         llvm::ArrayRef<mlir::Operation *> views,
                         mlir::Value value);

/// The first ONNX node that an op is of; empty when there is none.
std::string nodeOf(mlir::Location loc);

/// The operand of an op with two that is not `value`.
mlir::Value otherOperand(mlir::Operation *op, mlir::Value value);

/// The operand of an op element by element of which all others are weights or
/// constants; null for other ops.
mlir::Value soleInputOf(mlir::Operation *op);

/// What makes a value, behind such ops, whose operands nobody else reads; null
/// where somebody does, or no op makes it.
mlir::Operation *makerOf(mlir::Value value);

/// `end`, and pointwise ops of its sizes and in its block that lead to it and
/// nowhere else; a few of them at most.
llvm::SetVector<mlir::Operation *> pointwiseTree(mlir::Operation *end);

/// Whether memory is filled by no kernel that could round what it computes: an
/// argument, or rows that are appended or joined.
bool isGiven(mlir::Value memory);

/// Whether the sizes of an image say that to convolve it with a filter of known
/// size takes CPUs no longer in f32 than in fewer bits.
bool hasFewProducts(graph::ConvOp op);

/// Erases `op` if nothing uses it, then what only it used.
void eraseUnused(mlir::Operation *op);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_MATCHING_H
