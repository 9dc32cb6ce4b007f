//===- IndexExpression.cpp - Terms, and how data movement re-indexes them -===//
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

Expr number(MLIRContext *context, int64_t value) {
  return Expr::constant(context, value);
}

/// The number of elements along axes [begin, end).
Expr countOf(ArrayRef<Expr> dims, size_t begin, size_t end,
             MLIRContext *context) {
  return graph::product(context, dims.slice(begin, end - begin));
}

bool mentions(Expr expr, Expr symbol) {
  bool found = false;
  if (expr)
    expr.forEachSymbol([&](Expr each) { found |= each == symbol; });
  return found;
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
  static constexpr const char *names[] = {"",    "",   "",    "load",  "!=0",
                                          "and", "or", "not", "select"};
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
  return make({Term::Kind::NonNegative,
               number(context, value ? 0 : -1),
               0.0,
               {},
               {},
               {}});
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
    Expr value = (*coefficient > 0) == upper ? extent - 1 : number(context, 0);
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
  quotient = rest = number(context, 0);
  SmallVector<Expr> constant = addendsOf(f);
  // All that one index is multiplied with counts as one factor of it.
  for (Expr index : indices) {
    Expr factor = number(context, 0);
    for (Expr &addend : constant)
      if (addend && mentions(addend, index))
        if (Expr each = addend.exactDiv(index)) {
          factor = factor + each;
          addend = number(context, 0);
        }
    Expr exact = factor.exactDiv(divisor);
    (exact ? quotient : rest) =
        (exact ? quotient + exact * index : rest + factor * index);
  }
  for (Expr addend : constant) {
    Expr exact = addend.exactDiv(divisor);
    (exact ? quotient : rest) = (exact ? quotient + exact : rest + addend);
  }
  if (!isNonNegative(rest))
    return false;
  if (isNonNegative(divisor - 1 - rest))
    return true;
  Expr most = bound(rest, /*upper=*/true);
  if (!most || dependsOnIndex(divisor) ||
      (most.asConstant() && divisor.asConstant()))
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
    from.push_back(dim.isConstant(1) ? number(context, 0) : each);
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
      .Case<graph::BroadcastOp, graph::TransposeOp, graph::SliceOp>(
          [&](Operation *each) { return readMovement(each, at); })
      .Default([](Operation *) { return nullptr; });
}

const Term *IndexExpressions::readConstant(graph::ConstantOp op, Indices at) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || dense.getNumElements() == 0)
    return nullptr;
  int64_t flat = 0;
  if (!dense.isSplat())
    for (auto [size, each] : llvm::zip(dense.getType().getShape(), at)) {
      std::optional<int64_t> position = each.asConstant();
      if (!position || *position < 0 || *position >= size)
        return nullptr;
      flat = flat * size + *position;
    }
  Type element = dense.getElementType();
  if (isa<FloatType>(element)) {
    APFloat value = dense.getValues<APFloat>()[flat];
    bool inexact = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &inexact);
    return make({Term::Kind::Number, {}, value.convertToDouble(), {}, {}, {}});
  }
  APInt value = dense.getValues<APInt>()[flat];
  if (element.isInteger(1))
    return boolean(!value.isZero());
  if (element.isUnsignedInteger() && value.getActiveBits() > 62)
    return nullptr;
  return integer(number(context, element.isUnsignedInteger()
                                     ? int64_t(value.getZExtValue())
                                     : value.getSExtValue()));
}

const Term *IndexExpressions::readSizes(graph::SizesOp op, Indices at) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t flat = 0;
  for (auto [size, each] : llvm::zip(type.getShape(), at)) {
    Expr position = size == 1 ? number(context, 0) : each;
    if (!position.asConstant() || *position.asConstant() < 0 ||
        *position.asConstant() >= size)
      return nullptr;
    flat = flat * size + *position.asConstant();
  }
  return integer(op.getValue()[flat]);
}

const Term *IndexExpressions::readMovement(Operation *op, Indices at) {
  Value input = op->getOperand(0);
  if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    auto from = graph::getDims(input), to = graph::getDims(op->getResult(0));
    for (auto [a, b] : llvm::zip(from, ArrayRef(to).take_back(from.size())))
      if (a != b && !a.isConstant(1))
        return nullptr;
    return readBroadcast(input, at);
  }
  SmallVector<Expr> from(at.size());
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    for (auto [axis, each] : llvm::zip(transpose.getPermutation(), at))
      from[axis] = each;
  } else {
    auto slice = cast<graph::SliceOp>(op);
    for (size_t i = 0; i < at.size(); ++i)
      from[i] = slice.getStarts()[i] + at[i] * slice.getSteps()[i];
  }
  return read(input, from);
}

const Term *IndexExpressions::readReshape(graph::ReshapeOp op, Indices at) {
  auto in = graph::getDims(op.getInput()), out = graph::getDims(op.getResult());
  SmallVector<Expr> from(in.size(), number(context, 0));
  size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    // The shortest groups of axes with equally many elements.
    size_t iEnd = i, oEnd = o;
    bool found = false;
    for (size_t total = 1; !found && total <= in.size() + out.size(); ++total)
      for (size_t a = 0; !found && a <= total; ++a) {
        if (i + a > in.size() || o + total - a > out.size())
          continue;
        Expr left = countOf(in, i, i + a, context);
        found = left && left == countOf(out, o, o + total - a, context);
        iEnd = i + a;
        oEnd = o + total - a;
      }
    if (!found)
      return nullptr;
    Expr flat = number(context, 0);
    for (; o < oEnd; ++o)
      flat = flat * out[o] + (out[o].isConstant(1) ? flat * 0 : at[o]);
    for (size_t axis = iEnd; axis-- > i;) {
      if (in[axis].isConstant(1))
        continue;
      bool last = llvm::all_of(llvm::seq(i, axis), [&](size_t outer) {
        return in[outer].isConstant(1);
      });
      Expr quotient;
      if (last)
        from[axis] = flat;
      else if (!split(flat, in[axis], quotient, from[axis]))
        return nullptr;
      if (last)
        break;
      flat = quotient;
    }
    i = iEnd;
  }
  return read(op.getInput(), from);
}

const Term *IndexExpressions::readConcat(graph::ConcatOp op, Indices at) {
  Expr begin = number(context, 0), where = at[op.getAxis()];
  for (Value input : op.getInputs()) {
    Expr end = begin + graph::getDim(input, op.getAxis());
    if (!end)
      return nullptr;
    if (isNonNegative(where - begin) && isNonNegative(end - 1 - where)) {
      SmallVector<Expr> from(at);
      from[op.getAxis()] = where - begin;
      return read(input, from);
    }
    begin = end;
  }
  return nullptr;
}

const Term *IndexExpressions::readGather(graph::GatherOp op, Indices at) {
  size_t axis = op.getAxis(), rank = graph::getRank(op.getIndices());
  const Term *index = read(op.getIndices(), at.slice(axis, rank));
  // A negative one counts from the end.
  if (index->kind != Term::Kind::Integer || !isNonNegative(index->expr))
    return nullptr;
  SmallVector<Expr> from(at.take_front(axis));
  from.push_back(index->expr);
  llvm::append_range(from, at.drop_front(axis + rank));
  return read(op.getInput(), from);
}

const Term *IndexExpressions::readGatherNd(graph::GatherNdOp op, Indices at) {
  size_t batch = op.getBatchDims();
  auto dims = graph::getDims(op.getIndices());
  std::optional<int64_t> depth = dims.back().asConstant();
  if (!depth || *depth > 8)
    return nullptr;
  SmallVector<Expr> from(at.take_front(batch));
  for (int64_t i = 0; i < *depth; ++i) {
    SmallVector<Expr> where(at.take_front(dims.size() - 1));
    where.push_back(number(context, i));
    const Term *index = read(op.getIndices(), where);
    if (index->kind != Term::Kind::Integer || !isNonNegative(index->expr))
      return nullptr;
    from.push_back(index->expr);
  }
  llvm::append_range(from, at.drop_front(dims.size() - 1));
  return read(op.getInput(), from);
}

} // namespace tenon
