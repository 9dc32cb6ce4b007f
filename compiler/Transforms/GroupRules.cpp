//===- GroupRules.cpp - What ops are to the kernels they are in -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/GroupRules.h"
#include "compiler/Transforms/RowMoves.h"
#include "dialects/Kernel/Kernel.h"

using namespace mlir;

namespace tenon {

using kernel::Role;
using kernel::roleOf;

bool onlyRenames(Operation *op) { return isa<graph::ReshapeOp>(op); }

bool formsKernel(Operation *op) {
  Role role = roleOf(op);
  return role != Role::Foreign && role != Role::Constant && !onlyRenames(op);
}

bool readsOnce(Operation *op) {
  return isa<graph::SoftmaxOp, graph::LogSoftmaxOp, graph::LayerNormOp,
             graph::RmsNormOp, graph::ReduceOp, graph::ArgReduceOp,
             graph::QuantizeRowsOp>(op);
}

bool writesThroughViews(Operation *op) { return isa<graph::AttentionOp>(op); }

bool keepsRows(Operation *transpose) {
  ArrayRef<int64_t> order =
      cast<graph::TransposeOp>(transpose).getPermutation();
  return !order.empty() && order.back() == int64_t(order.size()) - 1;
}

bool worksAlongRows(Operation *op) {
  int64_t last = graph::getRank(op->getResult(0)) - 1;
  if (auto softmax = dyn_cast<graph::SoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == last;
  if (auto softmax = dyn_cast<graph::LogSoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == last;
  return isa<graph::LayerNormOp, graph::QuantizeRowsOp, graph::RmsNormOp>(op);
}

bool isCheapMovement(Operation *op) {
  return isa<graph::BroadcastOp, graph::SliceOp, graph::TransposeOp,
             graph::WindowsOp>(op);
}

bool mayPickRows(Operation *op) {
  return graph::isPointwise(op) || movesRows(op) || picksRows(op);
}

bool isBehind(Operation *first, Operation *second) {
  do
    first = first->getNextNode();
  while (first &&
         (isa<graph::WeightOp>(first) || roleOf(first) == Role::Constant));
  return first == second;
}

SmallVector<graph::Expr> dimsReadBy(Operation *op) {
  return graph::getDims(readsOnce(op) ? op->getOperand(0) : op->getResult(0));
}

std::string quoted(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

} // namespace tenon
