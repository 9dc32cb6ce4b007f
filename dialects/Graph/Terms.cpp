//===- Terms.cpp - How much ops multiply ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Terms.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::graph {

/// Elements of a filter that go into one element of the result (of the input,
/// when transposed): all axes but the first.
static Expr filterTerms(Value filter) {
  SmallVector<Expr> dims = getDims(filter);
  return product(filter.getContext(), ArrayRef(dims).drop_front());
}

Expr termsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([](MatmulOp op) {
        return elementCount(op.getResult()) * getDims(op.getLhs()).back();
      })
      .Case([](ConvOp op) {
        return elementCount(op.getResult()) * filterTerms(op.getFilter());
      })
      .Case([](ConvTransposeOp op) {
        return elementCount(op.getInput()) * filterTerms(op.getFilter());
      })
      .Case([](AttentionOp op) {
        Expr pairs = getDim(op.getQuery(), 0) * getDim(op.getQuery(), 1) *
                     getDim(op.getQuery(), 2) * getDim(op.getKey(), 2);
        return pairs * (getDim(op.getKey(), 3) + getDim(op.getValue(), 3));
      })
      .Case([](LinearAttentionOp op) {
        // The state is multiplied by keys, for each head by queries, and where
        // it corrects itself by keys once more.
        Expr perState = elementCount(op.getLast()) * getDim(op.getQuery(), 1);
        Expr perHead = elementCount(op.getAll()) * getDim(op.getQuery(), 3);
        return perState * (op.getBeta() ? 2 : 1) + perHead;
      })
      .Case([](RecurrentOp op) {
        Expr cells = getDim(op.getInput(), 0) * getDim(op.getInput(), 1);
        Expr weights = elementCount(op.getRecurrence());
        if (op.getWeights())
          weights = weights + elementCount(op.getWeights());
        return cells * weights;
      })
      .Default(
          [](Operation *op) { return Expr::constant(op->getContext(), 0); });
}

} // namespace tenon::graph
