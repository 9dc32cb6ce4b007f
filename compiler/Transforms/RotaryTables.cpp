//===- RotaryTables.cpp - Tables of cosines whose columns repeat ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/RotaryTables.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

bool isLastAxis(Value value, int64_t axis) {
  return axis == graph::getRank(value) - 1;
}

Expr lastDim(Value value) {
  SmallVector<Expr> dims = graph::getDims(value);
  return dims.empty() ? Expr() : dims.back();
}

/// Whether the op treats all columns alike, so that the half of its result is
/// its result on halves.
bool keepsColumns(Operation *op) {
  Value result = op->getResult(0);
  if (graph::isPointwise(op))
    return true;
  if (isa<graph::ReshapeOp, graph::BroadcastOp>(op))
    return lastDim(op->getOperand(0)) == lastDim(result);
  if (auto transpose = dyn_cast<graph::TransposeOp>(op))
    return isLastAxis(result, transpose.getPermutation().back());
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return lastDim(slice.getInput()) == lastDim(result) &&
           slice.getStarts().exprs().back().isConstant(0) &&
           slice.getSteps().exprs().back().isConstant(1);
  return false;
}

/// Whether an operand reaches every column of the result with one element.
bool isOneColumn(Value value) {
  return graph::getRank(value) == 0 || lastDim(value).isConstant(1);
}

} // namespace

Value RotaryTables::repeated(Value table) const {
  if (!interleaved) {
    auto concat = table.getDefiningOp<graph::ConcatOp>();
    return concat && concat.getInputs().size() == 2 &&
                   isLastAxis(table, concat.getAxis()) &&
                   concat.getInputs()[0] == concat.getInputs()[1]
               ? concat.getInputs()[0]
               : Value();
  }
  // [.., n] -> [.., n, 1] -> [.., n, 2] -> [.., 2 * n]
  auto flat = table.getDefiningOp<graph::ReshapeOp>();
  if (!flat)
    return {};
  Value pairs = flat.getInput(), column;
  if (auto concat = pairs.getDefiningOp<graph::ConcatOp>()) {
    if (concat.getInputs().size() == 2 && isLastAxis(pairs, concat.getAxis()) &&
        concat.getInputs()[0] == concat.getInputs()[1])
      column = concat.getInputs()[0];
  } else if (auto broadcast = pairs.getDefiningOp<graph::BroadcastOp>()) {
    column = broadcast.getInput();
  }
  auto unsqueezed =
      column ? column.getDefiningOp<graph::ReshapeOp>() : graph::ReshapeOp();
  if (!unsqueezed || !lastDim(column).isConstant(1))
    return {};
  SmallVector<Expr> from = graph::getDims(unsqueezed.getInput());
  SmallVector<Expr> to = from;
  to.push_back(Expr::constant(flat.getContext(), 2));
  if (graph::getDims(pairs) != to)
    return {};
  to.pop_back();
  to.back() = to.back() * 2;
  return graph::getDims(table) == to ? unsqueezed.getInput() : Value();
}

bool RotaryTables::isDoubled(Value table, unsigned depth) {
  constexpr unsigned maxDepth = 16;
  Operation *op = table.getDefiningOp();
  if (!op || op->getNumResults() != 1 || depth == maxDepth)
    return false;
  if (repeated(table))
    return true;
  if (!keepsColumns(op))
    return false;
  bool isAny = false;
  for (Value operand : op->getOperands()) {
    if (isOneColumn(operand))
      continue;
    if (lastDim(operand) != lastDim(table) || !isDoubled(operand, depth + 1))
      return false;
    isAny = true;
  }
  return isAny;
}

Value RotaryTables::halve(Value table) {
  if (Value known = halves.lookup(table))
    return known;
  if (Value known = repeated(table))
    return halves[table] = known;
  Operation *op = table.getDefiningOp();
  IRMapping map;
  for (Value operand : op->getOperands())
    if (!isOneColumn(operand))
      map.map(operand, halve(operand));
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op, map);
  SmallVector<Expr> dims = graph::getDims(table);
  dims.back() = dims.back().exactDiv(Expr::constant(op->getContext(), 2));
  copy->getResult(0).setType(
      graph::tensorOf(dims, graph::getElementType(table)));
  return halves[table] = copy->getResult(0);
}

} // namespace tenon
