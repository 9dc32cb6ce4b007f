//===- PartialSizes.cpp - Lists of which some sizes are known -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/PartialSizes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Numbers = SmallVector<int64_t>;

std::optional<Numbers> numbersOf(ArrayRef<Expr> exprs) {
  Numbers numbers;
  for (Expr expr : exprs) {
    if (!expr.asConstant())
      return std::nullopt;
    numbers.push_back(*expr.asConstant());
  }
  return numbers;
}

bool holdsSizes(Value value) {
  Type element = graph::getElementType(value);
  return element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

Expr combine(Operation *op, Expr lhs, Expr rhs) {
  if (!lhs || !rhs)
    return {};
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<graph::AddOp>([&](auto) { return lhs + rhs; })
      .Case<graph::SubOp>([&](auto) { return lhs - rhs; })
      .Case<graph::MulOp>([&](auto) { return lhs * rhs; })
      .Case<graph::MinOp>([&](auto) { return lhs.min(rhs); })
      .Case<graph::MaxOp>([&](auto) { return lhs.max(rhs); })
      .Default([](Operation *) { return Expr(); });
}

/// Where an op that moves elements takes the one at `index` from.
std::optional<Numbers> sourceOf(Operation *op, ArrayRef<int64_t> index) {
  Numbers from(index);
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      from[axis] = index[i];
    return from;
  }
  auto slice = cast<graph::SliceOp>(op);
  auto starts = numbersOf(slice.getStarts().exprs());
  auto steps = numbersOf(slice.getSteps().exprs());
  if (!starts || !steps)
    return std::nullopt;
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = (*starts)[i] + index[i] * (*steps)[i];
  return from;
}

} // namespace

PartialSizes::Exprs PartialSizes::of(Value value, unsigned depth) {
  Expr expr = graph::elementCount(value);
  std::optional<int64_t> count = expr ? expr.asConstant() : std::nullopt;
  if (!count || *count > int64_t(Expr::maxTerms) || !holdsSizes(value))
    return {};
  if (std::optional<Exprs> all = known(value))
    return *all;
  if (auto before = found.find(value); before != found.end())
    return before->second;
  Operation *op = value.getDefiningOp();
  Exprs some = op && depth > 0 ? through(op, depth - 1) : Exprs();
  if (int64_t(some.size()) != *count)
    some.assign(*count, Expr());
  return found[value] = some;
}

PartialSizes::Exprs PartialSizes::through(Operation *op, unsigned depth) {
  if (isa<graph::CastOp, graph::ReshapeOp>(op))
    return of(op->getOperand(0), depth);
  if (isa<graph::SliceOp, graph::TransposeOp>(op))
    return moved(op, depth);
  if (auto concat = dyn_cast<graph::ConcatOp>(op);
      concat && concat.getAxis() == 0) {
    Exprs all;
    for (Value part : concat.getInputs())
      llvm::append_range(all, of(part, depth));
    return all;
  }
  return op->getNumOperands() == 2 && graph::isPointwise(op)
             ? combined(op, depth)
             : Exprs();
}

PartialSizes::Exprs PartialSizes::combined(Operation *op, unsigned depth) {
  Exprs lhs = of(op->getOperand(0), depth), rhs = of(op->getOperand(1), depth);
  if (lhs.size() == 1)
    lhs.resize(rhs.size(), lhs[0]);
  if (rhs.size() == 1)
    rhs.resize(lhs.size(), rhs[0]);
  auto dims = graph::getDims(op->getResult(0));
  for (Value operand : op->getOperands())
    if (graph::getDims(operand) != dims &&
        !graph::elementCount(operand).isConstant(1))
      return {};
  Exprs result;
  for (auto [x, y] : llvm::zip(lhs, rhs))
    result.push_back(combine(op, x, y));
  return result;
}

PartialSizes::Exprs PartialSizes::moved(Operation *op, unsigned depth) {
  Exprs input = of(op->getOperand(0), depth), result;
  auto from = numbersOf(graph::getDims(op->getOperand(0)));
  auto to = numbersOf(graph::getDims(op->getResult(0)));
  if (!from || !to || input.empty())
    return {};
  int64_t count = 1;
  for (int64_t size : *to)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    Numbers index(to->size());
    int64_t rest = i;
    for (size_t axis = to->size(); axis-- > 0; rest /= (*to)[axis])
      index[axis] = rest % (*to)[axis];
    std::optional<Numbers> source = sourceOf(op, index);
    if (!source)
      return {};
    int64_t place = 0;
    for (auto [at, size] : llvm::zip(*source, *from)) {
      if (at < 0 || at >= size)
        return {};
      place = place * size + at;
    }
    result.push_back(input[place]);
  }
  return result;
}

} // namespace tenon
