//===- LaunchCost.cpp - What a launch has to do ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/LaunchCost.h"
#include "dialects/Graph/Terms.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "dialects/Kernel/RecurrentView.h"

using namespace mlir;

namespace tenon {
namespace {
using graph::elementCount;
using graph::Expr;

Expr bytesOf(Value value) {
  return elementCount(value) *
         int64_t(graph::byteWidth(graph::getElementType(value)));
}

/// The type of factors: one of 16 bits where all are widened from such. How
/// they are multiplied is the target's affair.
Type narrowest(ArrayRef<Value> factors) {
  bool areNarrow = llvm::all_of(factors, kernel::behindWidening);
  Value first = areNarrow ? kernel::behindWidening(factors[0]) : factors[0];
  return graph::getElementType(first);
}

/// The type of the factors that a root multiplies; null where it has none.
Type factorsOf(Operation *root) {
  if (auto op = dyn_cast<graph::MatmulOp>(root)) {
    if (auto bytes = kernel::integerMatmulViewOf(op))
      return graph::getElementType(bytes->lhs.view.base);
    // Numbers of few bits are multiplied as what they meet.
    if (kernel::quantizedRhsOf(kernel::matricesOf(op)))
      return narrowest({op.getLhs()});
    return narrowest({op.getLhs(), op.getRhs()});
  }
  if (auto op = dyn_cast<graph::AttentionOp>(root))
    return narrowest({op.getQuery(), op.getKey(), op.getValue()});
  if (auto op = dyn_cast<graph::ConvOp>(root))
    return narrowest({op.getInput(), op.getFilter()});
  if (auto op = dyn_cast<graph::RecurrentOp>(root))
    return graph::getElementType(kernel::storedRecurrenceOf(op));
  if (isa<graph::ConvTransposeOp, graph::LinearAttentionOp>(root))
    return graph::getElementType(root->getOperand(0));
  return Type();
}

/// The argument of which a product's batches choose their matrices.
std::optional<unsigned> pickedOf(Operation *root) {
  auto matmul = dyn_cast<graph::MatmulOp>(root);
  graph::GatherOp picks = matmul ? kernel::pickedRhsOf(matmul) : nullptr;
  auto argument =
      picks ? dyn_cast<BlockArgument>(picks.getInput()) : BlockArgument();
  return argument ? std::optional(argument.getArgNumber()) : std::nullopt;
}

/// Bytes that are read of a value: of slices and picked rows only as many as
/// they have.
Expr bytesRead(Value value) {
  Expr all = bytesOf(value);
  Expr parts = Expr::constant(value.getContext(), 0);
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<graph::ReshapeOp>(user))
      parts = parts + bytesRead(user->getResult(0));
    else if (isa<graph::SliceOp>(user) ||
             (isa<graph::GatherOp>(user) && use.getOperandNumber() == 0))
      parts = parts + bytesOf(user->getResult(0));
    else if (isa<graph::AppendOp>(user) && use.getOperandNumber() == 0)
      continue; // The rows that are there stay.
    else
      return all;
  }
  return parts == all ? all : parts.min(all);
}

Expr bytesWritten(Value yielded) {
  if (auto append = yielded.getDefiningOp<graph::AppendOp>())
    return bytesOf(append.getRows());
  return bytesOf(yielded);
}

} // namespace

LaunchCost costOf(kernel::FuncOp function) {
  LaunchCost cost;
  Expr zero = Expr::constant(function.getContext(), 0);
  cost.flops = cost.writes = zero;
  if (Operation *root = kernel::findRoot(function.getBlock())) {
    cost.flops = graph::termsOf(root) * 2;
    cost.factors = factorsOf(root);
    cost.picked = pickedOf(root);
  }
  for (BlockArgument argument : function.getBlock().getArguments())
    cost.reads.push_back(bytesRead(argument));
  for (Value yielded : function.getYielded())
    cost.writes = cost.writes + bytesWritten(yielded);
  return cost;
}

} // namespace tenon
