//===- IndexArithmetic.cpp - Element by element ops on terms --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/IndexExpression.h"

using namespace mlir;

namespace tenon {

using graph::Expr;
using Kind = Term::Kind;

namespace {
/// The double that the element type makes of it; nullopt for types in which
/// a computation in double and one rounding is not what the op does.
std::optional<double> rounded(double value, Type element) {
  if (element.isF64())
    return value;
  if (element.isF32())
    return double(float(value));
  return std::nullopt;
}
} // namespace

const Term *IndexExpressions::readPointwise(Operation *op, Indices at) {
  auto dims = graph::getDims(op->getResult(0));
  SmallVector<const Term *> operands;
  for (Value operand : op->getOperands()) {
    auto from = graph::getDims(operand);
    // A size that may turn out to be 1 has no known index.
    for (auto [a, b] : llvm::zip(from, ArrayRef(dims).take_back(from.size())))
      if (a != b && !a.isConstant(1))
        return nullptr;
    operands.push_back(readBroadcast(operand, at));
    if (!operands.back())
      return nullptr;
  }
  const Term *term = combine(op, operands);
  return term ? term : computed(op, operands);
}

/// What an op makes of loads and numbers is known by the op itself. Where they
/// are loads of its very operands, so is its result.
const Term *IndexExpressions::computed(Operation *op,
                                       ArrayRef<const Term *> of) {
  if (!isa<graph::AddOp, graph::CastOp, graph::EqualOp, graph::LessOp,
           graph::LessEqualOp, graph::MulOp, graph::SubOp>(op))
    return nullptr;
  bool isDeeper = false;
  for (auto [operand, term] : llvm::zip(op->getOperands(), of)) {
    bool isLoad = term->kind == Kind::Load || term->kind == Kind::Computed;
    bool isConstant = term->kind == Kind::Number ||
                      (term->kind == Kind::Integer && term->expr.asConstant());
    if (!isLoad && !isConstant)
      return nullptr;
    isDeeper |=
        term->kind == Kind::Computed || (isLoad && term->tensor != operand);
  }
  if (!isDeeper)
    return nullptr;
  return make({Kind::Computed,
               {},
               0.0,
               op->getResult(0),
               {},
               SmallVector<const Term *>(of)});
}

const Term *IndexExpressions::combine(Operation *op,
                                      ArrayRef<const Term *> operands) {
  if (isa<graph::SelectOp>(op))
    return select(operands[0], operands[1], operands[2]);
  if (isa<graph::NotOp>(op))
    return negate(operands[0]);
  if (auto cast = dyn_cast<graph::CastOp>(op))
    return readCast(cast, operands[0]);
  if (isa<graph::NegOp>(op) && operands[0]->kind == Kind::Integer)
    return integer(operands[0]->expr * -1);
  if (operands.size() == 2)
    return readBinary(op, operands[0], operands[1]);
  return nullptr;
}

const Term *IndexExpressions::readCast(graph::CastOp op, const Term *input) {
  Type from = graph::getElementType(op.getInput());
  Type to = graph::getElementType(op.getResult());
  auto numberOf = [&](int64_t value) -> const Term * {
    if (isa<FloatType>(to))
      return make({Kind::Number, {}, double(value), {}, {}, {}});
    return integer(Expr::constant(context, value));
  };
  if (from.isInteger(1))
    return to.isInteger(1) ? input : select(input, numberOf(1), numberOf(0));
  if (to.isInteger(1)) {
    if (input->kind == Kind::Number)
      return boolean(input->number != 0.0);
    if (input->kind == Kind::Integer && isNonNegative(input->expr))
      return nonNegative(input->expr - 1);
    if (input->kind == Kind::Load || input->kind == Kind::Computed)
      return make({Kind::NonZero, {}, 0.0, {}, {}, {input}});
    return nullptr;
  }
  // Indices and sizes are far from the ends of either type.
  bool wide = to.isInteger(32) || to.isInteger(64);
  if (input->kind == Kind::Integer && isa<IntegerType>(from) && wide)
    return input;
  std::optional<int64_t> value;
  if (input->kind == Kind::Integer)
    value = input->expr.asConstant();
  if (value && isa<FloatType>(to) && *value >= -2048 && *value <= 2048)
    return numberOf(*value);
  if (input->kind == Kind::Number && (to.isF64() || to.isF32()))
    if (std::optional<double> same = rounded(input->number, to))
      return make({Kind::Number, {}, *same, {}, {}, {}});
  return nullptr;
}

const Term *IndexExpressions::readBinary(Operation *op, const Term *lhs,
                                         const Term *rhs) {
  if (isa<graph::AndOp>(op))
    return conjunction(lhs, rhs);
  if (isa<graph::OrOp>(op))
    return disjunction(lhs, rhs);
  if (isa<graph::EqualOp, graph::LessOp, graph::LessEqualOp>(op))
    return compare(op, lhs, rhs);
  return arithmetic(op, lhs, rhs);
}

const Term *IndexExpressions::compare(Operation *op, const Term *lhs,
                                      const Term *rhs) {
  if (lhs->kind == Kind::Number && rhs->kind == Kind::Number) {
    if (isa<graph::LessOp>(op))
      return boolean(lhs->number < rhs->number);
    if (isa<graph::LessEqualOp>(op))
      return boolean(lhs->number <= rhs->number);
    return boolean(lhs->number == rhs->number);
  }
  // Comparisons of a choice are choices of comparisons.
  for (bool left : {true, false}) {
    const Term *choice = left ? lhs : rhs, *other = left ? rhs : lhs;
    if (choice->kind != Kind::Select || other->kind == Kind::Select)
      continue;
    const Term *yes = left ? compare(op, choice->operands[1], other)
                           : compare(op, other, choice->operands[1]);
    const Term *no = left ? compare(op, choice->operands[2], other)
                          : compare(op, other, choice->operands[2]);
    if (!yes || !no)
      return nullptr;
    return disjunction(conjunction(choice->operands[0], yes),
                       conjunction(negate(choice->operands[0]), no));
  }
  if (lhs->kind != Kind::Integer || rhs->kind != Kind::Integer)
    return nullptr;
  Expr difference = rhs->expr - lhs->expr;
  if (isa<graph::LessOp>(op))
    return nonNegative(difference - 1);
  if (isa<graph::LessEqualOp>(op))
    return nonNegative(difference);
  return conjunction(nonNegative(difference), nonNegative(difference * -1));
}

const Term *IndexExpressions::arithmetic(Operation *op, const Term *lhs,
                                         const Term *rhs) {
  for (bool left : {true, false}) {
    const Term *choice = left ? lhs : rhs, *other = left ? rhs : lhs;
    if (choice->kind != Kind::Select || other->kind == Kind::Load ||
        other->kind == Kind::Computed || ++reads > 4096)
      continue;
    const Term *yes = left ? arithmetic(op, choice->operands[1], other)
                           : arithmetic(op, other, choice->operands[1]);
    const Term *no = left ? arithmetic(op, choice->operands[2], other)
                          : arithmetic(op, other, choice->operands[2]);
    return select(choice->operands[0], yes, no);
  }
  if (lhs->kind == Kind::Number && rhs->kind == Kind::Number) {
    double a = lhs->number, b = rhs->number;
    double value = isa<graph::AddOp>(op)   ? a + b
                   : isa<graph::SubOp>(op) ? a - b
                   : isa<graph::MulOp>(op) ? a * b
                                           : 0.0;
    if (!isa<graph::AddOp, graph::SubOp, graph::MulOp>(op))
      return nullptr;
    std::optional<double> result =
        rounded(value, graph::getElementType(op->getResult(0)));
    return result ? make({Kind::Number, {}, *result, {}, {}, {}}) : nullptr;
  }
  if (lhs->kind != Kind::Integer || rhs->kind != Kind::Integer)
    return nullptr;
  Expr a = lhs->expr, b = rhs->expr;
  if (isa<graph::AddOp>(op))
    return integer(a + b);
  if (isa<graph::SubOp>(op))
    return integer(a - b);
  if (isa<graph::MulOp>(op))
    return integer(a * b);
  if (isa<graph::MinOp>(op))
    return isNonNegative(b - a) ? lhs : isNonNegative(a - b) ? rhs : nullptr;
  if (isa<graph::MaxOp>(op))
    return isNonNegative(b - a) ? rhs : isNonNegative(a - b) ? lhs : nullptr;
  return nullptr;
}

} // namespace tenon
