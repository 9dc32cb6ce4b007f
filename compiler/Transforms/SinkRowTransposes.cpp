//===- SinkRowTransposes.cpp - Multiply rows first, then transpose them ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's attention puts tokens in front of sequences before it projects
// them. A product by a matrix does not care where rows lie; but of a batch for
// each token it has only the few rows of all sequences to multiply at once. In
// front of the transpose all rows lie together.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RowMoves.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKROWTRANSPOSESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// What of lhs is transposed such that other rows are next to each other; null
/// where it is not, or where rhs is no single matrix.
graph::TransposeOp movedRowsOf(graph::MatmulOp op) {
  auto moved = op.getLhs().getDefiningOp<graph::TransposeOp>();
  if (!moved || graph::getRank(op.getRhs()) != 2 ||
      graph::getRank(op.getLhs()) < 3)
    return {};
  ArrayRef<int64_t> permutation = moved.getPermutation();
  int64_t last = permutation.size() - 1;
  bool keepsRows = permutation[last] == last;
  return keepsRows && permutation[last - 1] != last - 1 ? moved
                                                        : graph::TransposeOp();
}

/// The one op that reads a result, if it works row by row.
Operation *rowwiseUser(Operation *op) {
  if (!op->hasOneUse())
    return nullptr;
  Operation *user = *op->user_begin();
  Value input = op->getResult(0);
  bool isRowwise =
      user->getBlock() == op->getBlock() && graph::isPointwise(user) &&
      user->getNumResults() == 1 &&
      graph::getDims(user->getResult(0)) == graph::getDims(input) &&
      llvm::all_of(user->getOperands(), [&](Value operand) {
        return operand == input || repeatsPerRow(operand);
      });
  return isRowwise ? user : nullptr;
}

/// f(move(x) * w) -> move(f(x * w))
void sink(graph::MatmulOp op, graph::TransposeOp moved) {
  OpBuilder b(op);
  SmallVector<graph::Expr> dims = graph::getDims(moved.getInput());
  dims.back() = graph::getDims(op.getResult()).back();
  auto typeLike = [&](Value value) {
    return graph::tensorOf(dims, graph::getElementType(value));
  };
  Value value = graph::MatmulOp::create(
      b, op.getLoc(), typeLike(op.getResult()), moved.getInput(), op.getRhs());
  Operation *last = op;
  while (Operation *next = rowwiseUser(last)) {
    IRMapping map;
    map.map(last->getResult(0), value);
    b.setInsertionPoint(next);
    value = b.clone(*next, map)->getResult(0);
    value.setType(typeLike(value));
    last = next;
  }
  b.setInsertionPointAfter(last);
  Value result = graph::TransposeOp::create(b, moved.getLoc(), value,
                                            moved.getPermutation());
  last->getResult(0).replaceAllUsesWith(result);
  eraseUnused(last);
}

struct SinkRowTransposes : impl::SinkRowTransposesPassBase<SinkRowTransposes> {
  using SinkRowTransposesPassBase::SinkRowTransposesPassBase;

  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    for (graph::MatmulOp op : products)
      if (graph::TransposeOp moved = movedRowsOf(op))
        sink(op, moved);
  }
};

} // namespace
} // namespace tenon
