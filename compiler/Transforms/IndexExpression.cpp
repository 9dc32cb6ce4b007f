//===- IndexExpression.cpp - Terms, signs, and which op reads what --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/IndexExpression.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon {

using graph::Expr;
using graph::ExprKind;

namespace {
/// A graph may share subterms without end: beyond these, all is a load.
constexpr unsigned maxReads = 4096;
constexpr unsigned maxDepth = 128;
constexpr size_t maxTerms = 1 << 16;

bool mentions(Expr expr, Expr symbol) {
  bool found = false;
  if (expr)
    expr.forEachSymbol([&](Expr each) { found |= each == symbol; });
  return found;
}

/// Equal conditions on indices, or the same elements; others are not compared.
bool isSame(const Term *a, const Term *b, unsigned depth = 0) {
  if (a == b)
    return true;
  if (a->kind != b->kind || depth > 8)
    return false;
  switch (a->kind) {
  case Term::Kind::NonNegative:
  case Term::Kind::Integer:
    return a->expr == b->expr;
  case Term::Kind::Number:
    return a->number == b->number;
  case Term::Kind::Load:
    return a->tensor == b->tensor && a->at == b->at;
  case Term::Kind::Computed:
  case Term::Kind::NonZero:
    return a->tensor == b->tensor &&
           llvm::equal(a->operands, b->operands,
                       [&](const Term *x, const Term *y) {
                         return isSame(x, y, depth + 1);
                       });
  default:
    return false;
  }
}

SmallVector<Expr> addendsOf(Expr expr) {
  SmallVector<Expr> addends;
  if (expr.kind() != ExprKind::Sum)
    return {expr};
  for (size_t i = 0; i < expr.size(); ++i)
    addends.push_back(expr.operand(i));
  return addends;
}
} // namespace

std::optional<int64_t> coefficientOf(Expr expr, Expr symbol) {
  if (!expr)
    return std::nullopt;
  int64_t coefficient = 0;
  for (Expr addend : addendsOf(expr)) {
    if (!mentions(addend, symbol))
      continue;
    if (addend == symbol)
      coefficient += 1;
    else if (addend.kind() == ExprKind::Product && addend.size() == 1 &&
             addend.operand(0) == symbol)
      coefficient += addend.value();
    else
      return std::nullopt;
  }
  return coefficient;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

bool Term::isTrue() const {
  return kind == Kind::NonNegative && expr.isNonNegative();
}

bool Term::isFalse() const {
  return kind == Kind::NonNegative && (expr * -1).isPositive();
}

bool Term::isNumber(double value) const {
  return kind == Kind::Number && number == value;
}

std::string Term::str() const {
  static constexpr const char *names[] = {
      "", "", "", "load", "computed", "!=0", "and", "or", "not", "select"};
  std::string text;
  llvm::raw_string_ostream os(text);
  if (kind == Kind::Integer)
    return expr.str();
  if (kind == Kind::NonNegative)
    return "0 <= " + expr.str();
  if (kind == Kind::Number) {
    os << number;
    return text;
  }
  os << names[static_cast<size_t>(kind)] << '(';
  bool first = true;
  for (Expr each : at) {
    os << (first ? "" : ", ") << each.str();
    first = false;
  }
  for (const Term *each : operands) {
    os << (first ? "" : ", ") << each->str();
    first = false;
  }
  os << ')';
  return text;
}

IndexExpressions::IndexExpressions(MLIRContext *context, ArrayRef<Expr> extents)
    : context(context), extents(extents) {
  // No name in a graph has a dollar.
  for (size_t i = 0; i < extents.size(); ++i)
    indices.push_back(Expr::symbol(context, "$" + std::to_string(i)));
}

const Term *IndexExpressions::make(Term term) {
  terms.push_back(std::make_unique<Term>(std::move(term)));
  return terms.back().get();
}

const Term *IndexExpressions::integer(Expr expr) {
  return expr ? make({Term::Kind::Integer, expr, 0.0, {}, {}, {}}) : nullptr;
}

const Term *IndexExpressions::boolean(bool value) {
  return make(
      {Term::Kind::NonNegative, constant(value ? 0 : -1), 0.0, {}, {}, {}});
}

const Term *IndexExpressions::nonNegative(Expr expr) {
  if (!expr)
    return nullptr;
  if (isNonNegative(expr))
    return boolean(true);
  if (isNonNegative(expr * -1 - 1))
    return boolean(false);
  return make({Term::Kind::NonNegative, expr, 0.0, {}, {}, {}});
}

const Term *IndexExpressions::load(Value tensor, Indices at) {
  return make({Term::Kind::Load,
               {},
               0.0,
               tensor,
               SmallVector<Expr>(at.begin(), at.end()),
               {}});
}

const Term *IndexExpressions::negate(const Term *term) {
  if (!term || terms.size() > maxTerms)
    return nullptr;
  if (term->kind == Term::Kind::NonNegative)
    return nonNegative(term->expr * -1 - 1);
  if (term->kind == Term::Kind::Not)
    return term->operands[0];
  if (term->kind == Term::Kind::And)
    return disjunction(negate(term->operands[0]), negate(term->operands[1]));
  if (term->kind == Term::Kind::Or)
    return conjunction(negate(term->operands[0]), negate(term->operands[1]));
  return make({Term::Kind::Not, {}, 0.0, {}, {}, {term}});
}

const Term *IndexExpressions::conjunction(const Term *lhs, const Term *rhs) {
  if (!lhs || !rhs)
    return nullptr;
  if (lhs->isTrue() || rhs->isFalse())
    return rhs;
  if (rhs->isTrue() || lhs->isFalse())
    return lhs;
  return make({Term::Kind::And, {}, 0.0, {}, {}, {lhs, rhs}});
}

const Term *IndexExpressions::disjunction(const Term *lhs, const Term *rhs) {
  if (!lhs || !rhs)
    return nullptr;
  if (lhs->isFalse() || rhs->isTrue())
    return rhs;
  if (rhs->isFalse() || lhs->isTrue())
    return lhs;
  return make({Term::Kind::Or, {}, 0.0, {}, {}, {lhs, rhs}});
}

const Term *IndexExpressions::select(const Term *condition, const Term *lhs,
                                     const Term *rhs) {
  if (!condition || !lhs || !rhs)
    return nullptr;
  if (condition->isTrue())
    return lhs;
  if (condition->isFalse())
    return rhs;
  if (condition->kind == Term::Kind::Not)
    return select(condition->operands[0], rhs, lhs);
  // Where x != 0 is false, x is 0.
  if (condition->kind == Term::Kind::NonZero &&
      isSame(condition->operands[0], rhs)) {
    bool isFloat = isa<FloatType>(graph::getElementType(rhs->tensor));
    rhs = isFloat ? make({Term::Kind::Number, {}, 0.0, {}, {}, {}})
                  : integer(constant(0));
  }
  // A choice that the outer one has made already.
  if (lhs->kind == Term::Kind::Select && isSame(condition, lhs->operands[0]))
    lhs = lhs->operands[1];
  if (rhs->kind == Term::Kind::Select && isSame(condition, rhs->operands[0]))
    rhs = rhs->operands[2];
  return make({Term::Kind::Select, {}, 0.0, {}, {}, {condition, lhs, rhs}});
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

Expr IndexExpressions::bound(Expr expr, bool upper) const {
  for (auto [symbol, extent] : llvm::zip(indices, extents)) {
    if (!mentions(expr, symbol))
      continue;
    std::optional<int64_t> coefficient = coefficientOf(expr, symbol);
    if (!coefficient)
      return {};
    Expr value = (*coefficient > 0) == upper ? extent - 1 : constant(0);
    Expr each = symbol;
    expr =
        expr.substitute([&](Expr at) { return at == each ? value : Expr(); });
  }
  return expr;
}

bool IndexExpressions::isNonNegative(Expr expr) const {
  return expr &&
         (expr.isNonNegative() || bound(expr, /*upper=*/false).isNonNegative());
}

bool IndexExpressions::dependsOn(Expr expr, size_t i) const {
  return mentions(expr, indices[i]);
}

bool IndexExpressions::dependsOnIndex(Expr expr) const {
  return llvm::any_of(indices, [&](Expr each) { return mentions(expr, each); });
}

bool IndexExpressions::split(Expr f, Expr divisor, Expr &quotient, Expr &rest) {
  if (!f || !divisor)
    return false;
  quotient = rest = constant(0);
  SmallVector<Expr> free = addendsOf(f);
  // All that one index is multiplied with counts as one factor of it.
  for (Expr index : indices) {
    Expr factor = constant(0);
    for (Expr &addend : free)
      if (addend && mentions(addend, index))
        if (Expr each = addend.exactDiv(index)) {
          factor = factor + each;
          addend = constant(0);
        }
    Expr exact = factor.exactDiv(divisor);
    (exact ? quotient : rest) =
        (exact ? quotient + exact * index : rest + factor * index);
  }
  for (Expr addend : free) {
    Expr exact = addend.exactDiv(divisor);
    (exact ? quotient : rest) = (exact ? quotient + exact : rest + addend);
  }
  if (!isNonNegative(rest))
    return false;
  if (isNonNegative(divisor - 1 - rest))
    return true;
  Expr most = bound(rest, /*upper=*/true);
  if (!most || dependsOnIndex(divisor) || divisor.asConstant())
    return false;
  owed.push_back({most + 1, divisor});
  return true;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

const Term *IndexExpressions::read(Value tensor, Indices at) {
  bool known = llvm::all_of(at, [](Expr each) { return bool(each); });
  Operation *op = tensor.getDefiningOp();
  const Term *term = nullptr;
  if (op && op->getNumResults() == 1 && known && depth < maxDepth &&
      ++reads < maxReads) {
    ++depth;
    size_t before = owed.size();
    term = readOp(op, at);
    // What was owed for a term that came to nothing is not.
    if (!term)
      owed.truncate(before);
    --depth;
  }
  return term ? term : load(tensor, at);
}

const Term *IndexExpressions::readAligned(Value tensor) {
  SmallVector<Expr> dims = graph::getDims(tensor);
  if (dims.size() > rank())
    return nullptr;
  for (auto [dim, extent] :
       llvm::zip(dims, ArrayRef(extents).take_back(dims.size())))
    if (dim != extent && !dim.isConstant(1))
      return nullptr;
  return readBroadcast(tensor, indices);
}

/// The operand's element where the result of a broadcast is read at `at`.
const Term *IndexExpressions::readBroadcast(Value operand, Indices at) {
  SmallVector<Expr> dims = graph::getDims(operand), from;
  if (dims.size() > at.size())
    return nullptr;
  for (auto [dim, each] : llvm::zip(dims, at.take_back(dims.size())))
    from.push_back(dim.isConstant(1) ? constant(0) : each);
  return read(operand, from);
}

const Term *IndexExpressions::readOp(Operation *op, Indices at) {
  if (graph::isPointwise(op))
    return readPointwise(op, at);
  return llvm::TypeSwitch<Operation *, const Term *>(op)
      .Case([&](graph::IotaOp) { return integer(at[0]); })
      .Case([&](graph::ConstantOp each) { return readConstant(each, at); })
      .Case([&](graph::SizesOp each) { return readSizes(each, at); })
      .Case([&](graph::ReshapeOp each) { return readReshape(each, at); })
      .Case([&](graph::ConcatOp each) { return readConcat(each, at); })
      .Case([&](graph::GatherOp each) { return readGather(each, at); })
      .Case([&](graph::GatherNdOp each) { return readGatherNd(each, at); })
      .Case([&](graph::ScatterNdOp each) { return readScatterNd(each, at); })
      .Case<graph::BroadcastOp, graph::TransposeOp, graph::SliceOp>(
          [&](Operation *each) { return readMovement(each, at); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace tenon
