//===- ReduceProducts.cpp - Products by a vector, row by row --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product by a single column sums up each row of its matrix times the same
// vector; so does one of a single row by a matrix whose rows are the columns
// of what lies in memory. Kernels of products would pack the matrix first, and
// have most of their lanes empty; those that sum up rows read it once, in
// whole vectors, and take in what makes it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AttentionOperands.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_REDUCEPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Whether a matrix is transposed such that its columns lie together in memory,
/// and not its rows.
bool isTurned(Value matrix) {
  auto turn = matrix.getDefiningOp<graph::TransposeOp>();
  if (!turn)
    return false;
  ArrayRef<int64_t> order = turn.getPermutation();
  int64_t last = order.size() - 1;
  return order[last - 1] == last;
}

/// The last two axes exchanged, one of which has size 1.
Value exchanged(OpBuilder &b, Location loc, Value value) {
  return graph::ReshapeOp::create(b, loc, swappedType(value), value);
}

/// Whether each batch of a product has a matrix of its own.
bool hasOnePerBatch(graph::MatmulOp op, Value matrix) {
  SmallVector<Expr> dims = graph::getDims(matrix),
                    batch = graph::getDims(op.getResult());
  return ArrayRef(dims).drop_back(2) == ArrayRef(batch).drop_back(2);
}

/// What takes the place of a product; null where it stays.
Value replacement(OpBuilder &b, graph::MatmulOp op) {
  Location loc = op.getLoc();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  int64_t last = dims.size() - 1;
  if (graph::getDims(lhs).back().isConstant(1))
    return graph::MulOp::create(b, loc, lhs, rhs);
  auto sums = [&](Value matrix, Value vector) -> Value {
    Value products = graph::MulOp::create(b, loc, matrix, vector);
    return graph::ReduceOp::create(b, loc, products, ArrayRef<int64_t>{last},
                                   graph::ReduceKind::Sum);
  };
  bool isRow = dims[last - 1].isConstant(1);
  if (dims[last].isConstant(1) && hasOnePerBatch(op, lhs)) {
    Value vector = exchanged(b, loc, rhs);
    if (!isTurned(lhs) || isRow)
      return sums(lhs, vector);
    return exchanged(
        b, loc,
        graph::MatmulOp::create(b, loc, vector, withLastAxesSwapped(lhs, b)));
  }
  if (isRow && isTurned(rhs) && hasOnePerBatch(op, rhs))
    return exchanged(b, loc, sums(withLastAxesSwapped(rhs, b), lhs));
  return {};
}

struct ReduceProducts : impl::ReduceProductsPassBase<ReduceProducts> {
  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    for (graph::MatmulOp op : products) {
      // What is rounded is multiplied as such.
      if (!graph::getElementType(op.getResult()).isF32() ||
          kernel::behindWidening(op.getLhs()) ||
          kernel::behindWidening(op.getRhs()))
        continue;
      OpBuilder b(op);
      Value value = replacement(b, op);
      if (!value)
        continue;
      op.getResult().replaceAllUsesWith(value);
      eraseUnused(op);
    }
  }
};

} // namespace
} // namespace tenon
