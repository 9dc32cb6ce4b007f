//===- LaunchCost.cpp - What a launch has to do ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/LaunchCost.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {
namespace {
using graph::elementCount;
using graph::Expr;
using graph::getDim;

Expr bytesOf(Value value) {
  return elementCount(value) *
         int64_t(graph::byteWidth(graph::getElementType(value)));
}

/// Elements of a filter that go into one element of the result (of the input,
/// when transposed): all axes but the first.
Expr filterTerms(Value filter) {
  SmallVector<Expr> dims = graph::getDims(filter);
  return graph::product(filter.getContext(), ArrayRef(dims).drop_front());
}

/// Terms of all sums that a root computes, and the type of their factors.
std::pair<Expr, Type> termsOf(Operation *root) {
  using Terms = std::pair<Expr, Type>;
  auto with = [](Expr terms, Value factor) -> Terms {
    return {terms, graph::getElementType(factor)};
  };
  return llvm::TypeSwitch<Operation *, Terms>(root)
      .Case([&](graph::MatmulOp op) {
        int64_t last = int64_t(graph::getDims(op.getLhs()).size()) - 1;
        // Factors of bf16 that are widened: how is the target's affair.
        Value lhs = kernel::behindWidening(op.getLhs());
        bool isNarrow = lhs && kernel::behindWidening(op.getRhs());
        return with(elementCount(op.getResult()) * getDim(op.getLhs(), last),
                    isNarrow ? lhs : op.getLhs());
      })
      .Case([&](graph::ConvOp op) {
        return with(elementCount(op.getResult()) * filterTerms(op.getFilter()),
                    op.getInput());
      })
      .Case([&](graph::ConvTransposeOp op) {
        return with(elementCount(op.getInput()) * filterTerms(op.getFilter()),
                    op.getInput());
      })
      .Case([&](graph::AttentionOp op) {
        Expr pairs = getDim(op.getQuery(), 0) * getDim(op.getQuery(), 1) *
                     getDim(op.getQuery(), 2) * getDim(op.getKey(), 2);
        return with(pairs * (getDim(op.getKey(), 3) + getDim(op.getValue(), 3)),
                    op.getQuery());
      })
      .Case([&](graph::RecurrentOp op) {
        Expr cells = getDim(op.getInput(), 0) * getDim(op.getInput(), 1);
        return with(cells * (elementCount(op.getWeights()) +
                             elementCount(op.getRecurrence())),
                    op.getInput());
      })
      .Default([&](Operation *op) {
        return Terms(Expr::constant(op->getContext(), 0), Type());
      });
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
    auto [terms, factors] = termsOf(root);
    cost.flops = terms * 2;
    cost.factors = factors;
  }
  for (BlockArgument argument : function.getBlock().getArguments())
    cost.reads.push_back(bytesRead(argument));
  for (Value yielded : function.getYielded())
    cost.writes = cost.writes + bytesWritten(yielded);
  return cost;
}

} // namespace tenon
