//===- SinkMoves.cpp - Compute first, then put rows elsewhere -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of all experts of a mixture, or of all heads, are cut apart and
// transposed before what follows them. Computed in front of that, it shares the
// product's kernel, and the product that reads it sees through the movement.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RowMoves.h"
#include "dialects/Kernel/StridedView.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKMOVESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// An op that moves rows and that every schedule of products reads through.
bool isMove(Operation *op) {
  return isa_and_present<graph::ReshapeOp, graph::TransposeOp>(op) &&
         movesRows(op);
}

/// Whether rows have another place or length: what follows sees other sizes
/// than what a product makes.
bool changesRows(Operation *op) {
  return isa<graph::TransposeOp>(op) ||
         graph::getDims(op->getOperand(0)).back() !=
             graph::getDims(op->getResult(0)).back();
}

bool areAlike(Operation *a, Operation *b) {
  return a->getName() == b->getName() && a->getAttrs() == b->getAttrs() &&
         a->getResultTypes() == b->getResultTypes() &&
         a->getOperandTypes() == b->getOperandTypes();
}

/// The moves that end in a value, the last one first.
SmallVector<Operation *> movesOf(Value value) {
  SmallVector<Operation *> moves;
  for (Operation *op = value.getDefiningOp(); isMove(op);
       op = op->getOperand(0).getDefiningOp())
    moves.push_back(op);
  return moves;
}

/// Whether only products and attentions read a value, where it lies.
bool isReadThroughViews(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return isa<graph::AttentionOp, graph::MatmulOp>(user) ||
                  (kernel::isViewOp(user) &&
                   isReadThroughViews(user->getResult(0)));
         });
}

/// Pointwise ops of equal sizes that nothing but `end` reads, and what they
/// read: values that were moved, and single numbers.
class Tree {
public:
  explicit Tree(Operation *end) : end(end), ops(pointwiseTree(end)) {
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!ops.contains(operand.getDefiningOp()))
          (graph::isOneNumber(operand) ? numbers : leaves).insert(operand);
  }

  /// Whether something that it reads was moved.
  bool isBehindMoves() const {
    return llvm::any_of(leaves, [](Value leaf) {
      return llvm::any_of(movesOf(leaf), changesRows);
    });
  }

  /// Why it stays behind them. Finds the moves that all leaves share.
  std::optional<StringRef> refusal() {
    for (Value leaf : leaves) {
      SmallVector<Operation *> chain = movesOf(leaf);
      if (leaf == leaves[0])
        moves = chain;
      size_t shared = 0;
      while (shared < std::min(moves.size(), chain.size()) &&
             areAlike(moves[shared], chain[shared]))
        ++shared;
      moves.truncate(shared);
      if (!llvm::all_of(leaf.getUsers(),
                        [&](Operation *user) { return ops.contains(user); }))
        return "something else reads what it moves";
    }
    if (!llvm::any_of(moves, changesRows))
      return "its operands are not all moved alike";
    return std::nullopt;
  }

  /// f(move(x), move(y)) -> move(f(x, y))
  void rewrite() {
    OpBuilder builder(end);
    IRMapping map;
    for (Value leaf : leaves)
      map.map(leaf, source(leaf));
    for (Value number : numbers)
      map.map(number, asOneRow(builder, number));
    SmallVector<graph::Expr> before = graph::getDims(source(leaves[0]));
    SmallVector<Operation *> sorted(ops.begin(), ops.end());
    llvm::sort(sorted, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *op : sorted) {
      Operation *copy = builder.clone(*op, map);
      Value result = copy->getResult(0);
      result.setType(graph::tensorOf(before, graph::getElementType(result)));
    }
    Value value = map.lookup(end->getResult(0));
    for (Operation *move : llvm::reverse(moves)) {
      Operation *copy = builder.clone(*move);
      copy->setOperand(0, value);
      copy->getResult(0).setType(graph::tensorOf(
          graph::getDims(move->getResult(0)), graph::getElementType(value)));
      value = copy->getResult(0);
    }
    end->getResult(0).replaceAllUsesWith(value);
    eraseUnused(end);
  }

private:
  /// What a leaf was before the moves.
  Value source(Value leaf) const {
    for (size_t i = 0; i < moves.size(); ++i)
      leaf = leaf.getDefiningOp()->getOperand(0);
    return leaf;
  }

  Operation *end;
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> leaves, numbers;
  SmallVector<Operation *> moves; // The last one first.
};

struct SinkMoves : impl::SinkMovesPassBase<SinkMoves> {
  using SinkMovesPassBase::SinkMovesPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ends;
    getOperation().walk([&](Operation *op) {
      if (graph::isPointwise(op) && op->getNumResults() == 1 &&
          isReadThroughViews(op->getResult(0)))
        ends.push_back(op);
    });
    for (Operation *end : ends) {
      Tree tree(end);
      if (!tree.isBehindMoves())
        continue;
      std::optional<StringRef> why = tree.refusal();
      if (!why)
        tree.rewrite();
      else if (explain)
        end->emitRemark("stays behind what moves its operands: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
