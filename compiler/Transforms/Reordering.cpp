//===- Reordering.cpp - Moves a set of ops to another order of axes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Reordering.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
namespace {

/// The user as a transpose that moves elements.
graph::TransposeOp asTranspose(Operation *op) {
  auto transpose = dyn_cast_if_present<graph::TransposeOp>(op);
  return transpose && !movesNothing(transpose) ? transpose
                                               : graph::TransposeOp();
}

} // namespace

bool Reordering::add(Operation *op) {
  if (!ops.empty() && op->getBlock() != ops.front()->getBlock())
    return false;
  bool can = canReorder(op, order) || (mayReorder && mayReorder(op));
  return can && ops.insert(op);
}

void Reordering::grow(Direction direction) {
  for (size_t i = 0; i < ops.size(); ++i) { // `ops` grows.
    Operation *op = ops[i];
    for (Operation *user : op->getUsers())
      add(user);
    if (direction == Direction::Both)
      for (Value operand : op->getOperands().take_front(countOrdered(op)))
        if (Operation *producer = operand.getDefiningOp())
          add(producer);
  }
}

bool Reordering::moves(Value value) const {
  return !isStored(value) && !movesNothing(graph::getDims(value), order);
}

llvm::SetVector<Value> Reordering::operands() const {
  llvm::SetVector<Value> result;
  for (Operation *op : ops)
    for (Value operand : op->getOperands().take_front(countOrdered(op)))
      if (Operation *producer = operand.getDefiningOp();
          !producer || !contains(producer))
        result.insert(operand);
  return result;
}

bool Reordering::onlySinks() const {
  return llvm::none_of(operands(), [&](Value value) {
    auto transpose = asTranspose(value.getDefiningOp());
    return moves(value) &&
           (!transpose ||
            !movesNothing(graph::getDims(transpose.getInput()),
                          compose(transpose.getPermutation(), order)));
  });
}

int64_t Reordering::gainOfOperand(Value value) const {
  if (!moves(value))
    return 0;
  auto transpose = asTranspose(value.getDefiningOp());
  if (!transpose) {
    bool exists = llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto other = asTranspose(user);
      return other && other.getPermutation() == ArrayRef(order);
    });
    return exists ? 0 : -1;
  }
  // It stays for users that are left where they are.
  bool goes = llvm::all_of(value.getUsers(), [&](Operation *user) {
    return contains(user) || asTranspose(user);
  });
  bool comes = !movesNothing(graph::getDims(transpose.getInput()),
                             compose(transpose.getPermutation(), order));
  return static_cast<int64_t>(goes) - static_cast<int64_t>(comes);
}

int64_t Reordering::gainOfResult(Value value) const {
  SmallVector<AxisOrder> before, after;
  auto need = [](SmallVector<AxisOrder> &orders, AxisOrder one) {
    if (!llvm::is_contained(orders, one))
      orders.push_back(std::move(one));
  };
  AxisOrder back = inverse(order);
  SmallVector<graph::Expr> dims;
  for (int64_t axis : order)
    dims.push_back(graph::getDim(value, axis));
  for (Operation *user : value.getUsers()) {
    if (contains(user))
      continue;
    AxisOrder wanted = back;
    if (auto transpose = asTranspose(user)) {
      need(before, AxisOrder(transpose.getPermutation()));
      wanted = compose(back, transpose.getPermutation());
    }
    if (!movesNothing(dims, wanted))
      need(after, wanted);
  }
  return static_cast<int64_t>(before.size()) -
         static_cast<int64_t>(after.size());
}

int64_t Reordering::gain() const {
  int64_t result = 0;
  for (Value operand : operands())
    result += gainOfOperand(operand);
  for (Operation *op : ops)
    result += gainOfResult(op->getResult(0));
  return result;
}

void Reordering::apply(RewriterBase &rewriter) {
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  IRMapping map;
  for (Operation *op : sorted) {
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    unsigned ordered = countOrdered(op);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (i < ordered && !map.contains(operand))
        map.map(operand, inOrder(rewriter, operand, order));
      operands.push_back(i < ordered ? map.lookup(operand) : operand);
    }
    Operation *moved = reorder(rewriter, op, order, operands);
    map.map(op->getResult(0), moved->getResult(0));
  }
  AxisOrder back = inverse(order);
  for (Operation *op : llvm::reverse(sorted)) {
    Value moved = map.lookup(op->getResult(0));
    rewriter.setInsertionPointAfterValue(moved);
    if (!op->use_empty())
      rewriter.replaceAllUsesWith(op->getResult(0),
                                  Value(graph::TransposeOp::create(
                                      rewriter, op->getLoc(), moved, back)));
    rewriter.eraseOp(op);
  }
}

} // namespace tenon
