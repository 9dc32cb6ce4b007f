//===- HoistRowMoves.cpp - Norms read rows from where they lie ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of an image are cut behind a norm, which works row by row. In front
// of it they are an index map that its kernel reads through, and no copy.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RowMoves.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTROWMOVESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;

bool isNormOfRows(Operation *op) {
  auto isLast = [&](int64_t axis) {
    return axis + 1 == graph::getRank(op->getResult(0));
  };
  if (auto norm = dyn_cast<graph::LayerNormOp>(op))
    return isLast(norm.getAxis());
  if (auto norm = dyn_cast<graph::RmsNormOp>(op))
    return isLast(norm.getAxis());
  return false;
}

/// A norm with its scale and bias, then ops that put rows elsewhere: each is
/// the only user of the one before.
struct Chain {
  SmallVector<Operation *> rowwise, moves;
};

Operation *onlyUser(Operation *op) {
  if (!op->hasOneUse())
    return nullptr;
  Operation *user = *op->user_begin();
  return user->getBlock() == op->getBlock() ? user : nullptr;
}

/// Whether an op computes each row of its result from that row of `input` and
/// from operands that are the same for all.
bool isRowwise(Operation *op, Value input) {
  return graph::isPointwise(op) && op->getNumResults() == 1 &&
         op->getResult(0).getType() == input.getType() &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand == input || repeatsPerRow(operand);
         });
}

Chain chainFrom(Operation *norm) {
  Chain chain{{norm}, {}};
  Operation *next = onlyUser(norm);
  for (; next && isRowwise(next, chain.rowwise.back()->getResult(0));
       next = onlyUser(next))
    chain.rowwise.push_back(next);
  for (; next && permutesRows(next); next = onlyUser(next))
    chain.moves.push_back(next);
  return chain;
}

/// Adds an op like `op` with other operands and a result of these dims.
Value rebuild(OpBuilder &builder, Operation *op, ArrayRef<Value> operands,
              ArrayRef<Expr> dims) {
  Value result = op->getResult(0);
  OperationState state(op->getLoc(), op->getName(), operands,
                       {graph::tensorOf(dims, graph::getElementType(result))},
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// moves(scale(norm(x))) -> scale(norm(moves(x)))
void rewrite(const Chain &chain) {
  Operation *last = chain.moves.back();
  OpBuilder builder(last);
  Value value = chain.rowwise.front()->getOperand(0);
  for (Operation *op : chain.moves) {
    SmallVector<Value> operands(op->getOperands());
    operands[0] = value;
    value = rebuild(builder, op, operands, graph::getDims(op->getResult(0)));
  }
  SmallVector<Expr> dims = graph::getDims(value);
  Value before = chain.rowwise.front()->getOperand(0);
  for (Operation *op : chain.rowwise) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(operand == before ? value
                                           : asOneRow(builder, operand));
    value = rebuild(builder, op, operands, dims);
    if (op == chain.rowwise.front())
      value.getDefiningOp()->setAttr(
          "axis", builder.getI64IntegerAttr(dims.size() - 1));
    before = op->getResult(0);
  }
  last->getResult(0).replaceAllUsesWith(value);
  eraseUnused(last);
}

struct HoistRowMoves : impl::HoistRowMovesPassBase<HoistRowMoves> {
  using HoistRowMovesPassBase::HoistRowMovesPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> norms;
    getOperation().walk([&](Operation *op) {
      if (isNormOfRows(op))
        norms.push_back(op);
    });
    for (Operation *norm : norms) {
      Chain chain = chainFrom(norm);
      bool moves = llvm::any_of(chain.moves, [](Operation *op) {
        return !isa<graph::ReshapeOp>(op);
      });
      if (moves)
        rewrite(chain);
      else if (explain)
        remark(chain);
    }
  }

private:
  /// Says why the movement behind a norm, if there is some, stays there.
  static void remark(const Chain &chain) {
    Operation *end =
        chain.moves.empty() ? chain.rowwise.back() : chain.moves.back();
    for (Operation *user : end->getUsers())
      if (movesRows(user) && !isa<graph::ReshapeOp>(user)) {
        user->emitRemark("stays behind a norm, whose rows it moves: ")
            << (end->hasOneUse() ? "it does not keep each row"
                                 : "the norm has several users");
        return;
      }
  }
};

} // namespace
} // namespace tenon
