//===- Expr.cpp - Canonical forms of size expressions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Expr.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tenon::graph {
namespace {

ExprAttr asExpr(Attribute attr) { return cast<ExprAttr>(attr); }

Expr make(MLIRContext *context, ExprKind kind, int64_t value, StringRef name,
          ArrayRef<Expr> operands) {
  SmallVector<Attribute> attrs;
  for (Expr operand : operands)
    attrs.push_back(operand.getAttr());
  return Expr(
      ExprAttr::get(context, static_cast<uint32_t>(kind), value, name, attrs));
}

/// How deep functions are nested: bounds every recursion over expressions.
unsigned depth(Expr expr) {
  unsigned deepest = 0;
  for (size_t i = 0; i < expr.size(); ++i)
    deepest = std::max(deepest, depth(expr.operand(i)));
  bool isFunction = expr.kind() >= ExprKind::FloorDiv;
  return deepest + (isFunction ? 1 : 0);
}

/// Takes the nodes of the tree from `budget`: common parts count each time, as
/// they do for whoever walks the tree. False when there are more.
bool takeNodes(Expr expr, size_t &budget) {
  if (budget == 0)
    return false;
  --budget;
  for (size_t i = 0; i < expr.size(); ++i)
    if (!takeNodes(expr.operand(i), budget))
      return false;
  return true;
}

bool isSmall(ArrayRef<Expr> exprs) {
  size_t budget = Expr::maxNodes;
  return llvm::all_of(exprs,
                      [&](Expr expr) { return takeNodes(expr, budget); });
}

Expr makeBinary(ExprKind kind, Expr lhs, Expr rhs) {
  if (std::max(depth(lhs), depth(rhs)) >= Expr::maxDepth ||
      !isSmall({lhs, rhs}))
    return {};
  return make(lhs.getContext(), kind, 0, "", {lhs, rhs});
}

/// A monomial: coefficient times sorted atoms.
struct Term {
  SmallVector<Expr, 4> atoms;
  int64_t coefficient;
};

int compareAtoms(ArrayRef<Expr> lhs, ArrayRef<Expr> rhs) {
  // Longer products first, so that the constant comes last.
  if (lhs.size() != rhs.size())
    return lhs.size() > rhs.size() ? -1 : 1;
  for (auto [a, b] : llvm::zip(lhs, rhs))
    if (int order = compare(a, b))
      return order;
  return 0;
}

/// The terms of an expression taken as a polynomial over its atoms.
SmallVector<Term> termsOf(Expr expr) {
  switch (expr.kind()) {
  case ExprKind::Constant:
    if (expr.value() == 0)
      return {};
    return {Term{{}, expr.value()}};
  case ExprKind::Product: {
    Term term{{}, expr.value()};
    for (size_t i = 0; i < expr.size(); ++i)
      term.atoms.push_back(expr.operand(i));
    return {term};
  }
  case ExprKind::Sum: {
    SmallVector<Term> terms;
    for (size_t i = 0; i < expr.size(); ++i)
      llvm::append_range(terms, termsOf(expr.operand(i)));
    return terms;
  }
  default:
    return {Term{{expr}, 1}};
  }
}

Expr fromTerm(MLIRContext *context, const Term &term) {
  if (term.atoms.empty())
    return Expr::constant(context, term.coefficient);
  if (term.atoms.size() == 1 && term.coefficient == 1)
    return term.atoms[0];
  return make(context, ExprKind::Product, term.coefficient, "", term.atoms);
}

/// Sorts, merges and rebuilds; null when a coefficient overflows or the
/// polynomial is too long.
Expr fromTerms(MLIRContext *context, SmallVector<Term> terms) {
  llvm::sort(terms, [](const Term &a, const Term &b) {
    return compareAtoms(a.atoms, b.atoms) < 0;
  });
  SmallVector<Term> merged;
  for (Term &term : terms) {
    if (!merged.empty() && compareAtoms(merged.back().atoms, term.atoms) == 0) {
      if (__builtin_add_overflow(merged.back().coefficient, term.coefficient,
                                 &merged.back().coefficient))
        return {};
      continue;
    }
    merged.push_back(std::move(term));
  }
  llvm::erase_if(merged, [](const Term &t) { return t.coefficient == 0; });
  if (merged.size() > Expr::maxTerms)
    return {};
  SmallVector<Expr> parts;
  for (const Term &term : merged)
    parts.push_back(fromTerm(context, term));
  if (parts.empty())
    return Expr::constant(context, 0);
  if (!isSmall(parts))
    return {};
  if (parts.size() == 1)
    return parts[0];
  return make(context, ExprKind::Sum, 0, "", parts);
}

bool multiply(const Term &lhs, const Term &rhs, Term &out) {
  out.atoms = lhs.atoms;
  llvm::append_range(out.atoms, rhs.atoms);
  if (out.atoms.size() > 16)
    return false;
  llvm::sort(out.atoms, [](Expr a, Expr b) { return compare(a, b) < 0; });
  return !__builtin_mul_overflow(lhs.coefficient, rhs.coefficient,
                                 &out.coefficient);
}

/// numerator / divisor when the division leaves no rest.
bool divide(const Term &numerator, const Term &divisor, Term &out) {
  if (divisor.coefficient == 0 ||
      (numerator.coefficient == INT64_MIN && divisor.coefficient == -1) ||
      numerator.coefficient % divisor.coefficient != 0)
    return false;
  out.coefficient = numerator.coefficient / divisor.coefficient;
  out.atoms = numerator.atoms;
  for (Expr atom : divisor.atoms) {
    auto *found = llvm::find(out.atoms, atom);
    if (found == out.atoms.end())
      return false;
    out.atoms.erase(found);
  }
  return true;
}

} // namespace

std::optional<int64_t> floorDivide(int64_t lhs, int64_t rhs) {
  if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
    return std::nullopt;
  int64_t quotient = lhs / rhs;
  if (lhs % rhs != 0 && (lhs < 0) != (rhs < 0))
    --quotient;
  return quotient;
}

std::optional<int64_t> floorModulo(int64_t lhs, int64_t rhs) {
  if (rhs == 0)
    return std::nullopt;
  if (rhs == -1)
    return 0;
  int64_t rest = lhs % rhs;
  return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
}

int compare(Expr lhs, Expr rhs) {
  if (lhs == rhs)
    return 0;
  if (lhs.kind() != rhs.kind())
    return lhs.kind() < rhs.kind() ? -1 : 1;
  if (int order = lhs.name().compare(rhs.name()))
    return order;
  if (lhs.value() != rhs.value())
    return lhs.value() < rhs.value() ? -1 : 1;
  if (lhs.size() != rhs.size())
    return lhs.size() < rhs.size() ? -1 : 1;
  for (size_t i = 0; i < lhs.size(); ++i)
    if (int order = compare(lhs.operand(i), rhs.operand(i)))
      return order;
  return 0;
}

Expr product(MLIRContext *context, ArrayRef<Expr> exprs) {
  Expr result = Expr::constant(context, 1);
  for (Expr expr : exprs)
    result = result * expr;
  return result;
}

Expr Expr::constant(MLIRContext *context, int64_t value) {
  return make(context, ExprKind::Constant, value, "", {});
}

Expr Expr::symbol(MLIRContext *context, StringRef name, bool maybeNegative) {
  return make(context, ExprKind::Symbol, maybeNegative, name, {});
}

ExprKind Expr::kind() const {
  return static_cast<ExprKind>(asExpr(attr).getKind());
}
int64_t Expr::value() const { return asExpr(attr).getValue(); }
StringRef Expr::name() const { return asExpr(attr).getName(); }
size_t Expr::size() const { return asExpr(attr).getOperands().size(); }
Expr Expr::operand(size_t i) const {
  return Expr(asExpr(attr).getOperands()[i]);
}

std::optional<int64_t> Expr::asConstant() const {
  if (!attr || kind() != ExprKind::Constant)
    return std::nullopt;
  return value();
}

bool Expr::isNonNegative() const {
  if (!attr)
    return false;
  auto all = [&] {
    for (size_t i = 0; i < size(); ++i)
      if (!operand(i).isNonNegative())
        return false;
    return true;
  };
  switch (kind()) {
  case ExprKind::Constant:
    return value() >= 0;
  case ExprKind::Symbol:
    return value() == 0;
  case ExprKind::Product:
    return value() >= 0 && all();
  case ExprKind::Mod:
    return operand(1).isNonNegative();
  case ExprKind::Max:
    return operand(0).isNonNegative() || operand(1).isNonNegative();
  default:
    return all();
  }
}

bool Expr::isPositive() const {
  if (!attr)
    return false;
  switch (kind()) {
  case ExprKind::Constant:
    return value() > 0;
  case ExprKind::Sum:
    // Only the constant, which is last, is known to be positive.
    return isNonNegative() && operand(size() - 1).isPositive();
  case ExprKind::Max:
    return operand(0).isPositive() || operand(1).isPositive();
  case ExprKind::Min:
  case ExprKind::Broadcast:
    return operand(0).isPositive() && operand(1).isPositive();
  default:
    return false;
  }
}

Expr Expr::operator+(Expr rhs) const {
  if (!attr || !rhs)
    return {};
  SmallVector<Term> terms = termsOf(*this);
  llvm::append_range(terms, termsOf(rhs));
  return fromTerms(getContext(), std::move(terms));
}

Expr Expr::operator*(Expr rhs) const {
  if (!attr || !rhs)
    return {};
  SmallVector<Term> left = termsOf(*this), right = termsOf(rhs), terms;
  if (left.size() * right.size() > maxTerms * 4)
    return {};
  for (const Term &a : left)
    for (const Term &b : right) {
      Term term;
      if (!multiply(a, b, term))
        return {};
      terms.push_back(std::move(term));
    }
  return fromTerms(getContext(), std::move(terms));
}

Expr Expr::operator-(Expr rhs) const { return *this + rhs * -1; }
Expr Expr::operator+(int64_t rhs) const {
  return attr ? *this + constant(getContext(), rhs) : Expr();
}
Expr Expr::operator-(int64_t rhs) const {
  return attr ? *this - constant(getContext(), rhs) : Expr();
}
Expr Expr::operator*(int64_t rhs) const {
  return attr ? *this * constant(getContext(), rhs) : Expr();
}

/// Long division by a sum: each step takes away the divisor times what its
/// first term goes into some term that is left. Null when anything remains.
static Expr divideBySum(Expr dividend, Expr divisor) {
  Term first = termsOf(divisor)[0];
  Expr quotient = Expr::constant(dividend.getContext(), 0);
  for (size_t step = 0; step < Expr::maxTerms && dividend; ++step) {
    if (dividend.isConstant(0))
      return quotient;
    Expr part;
    for (const Term &term : termsOf(dividend)) {
      Term whole;
      if (!divide(term, first, whole))
        continue;
      part = fromTerms(dividend.getContext(), {std::move(whole)});
      break;
    }
    if (!part)
      return {};
    quotient = quotient + part;
    dividend = dividend - part * divisor;
  }
  return {};
}

Expr Expr::exactDiv(Expr rhs) const {
  if (!attr || !rhs || rhs.isConstant(0))
    return {};
  if (*this == rhs)
    return constant(getContext(), 1);
  SmallVector<Term> divisor = termsOf(rhs), terms;
  if (divisor.size() != 1)
    return divideBySum(*this, rhs);
  for (const Term &term : termsOf(*this)) {
    Term quotient;
    if (!divide(term, divisor[0], quotient))
      return {};
    terms.push_back(std::move(quotient));
  }
  return fromTerms(getContext(), std::move(terms));
}

/// Takes what all terms of both have in common, c*x/(c*y) -> x/y; false when
/// that is nothing.
static bool cancelCommonFactor(MutableArrayRef<Term> dividend,
                               MutableArrayRef<Term> divisor) {
  Term common = divisor.front();
  if (common.coefficient == INT64_MIN)
    return false;
  common.coefficient = std::abs(common.coefficient);
  auto share = [&](const Term &term) {
    if (term.coefficient == INT64_MIN)
      common.coefficient = 1;
    common.coefficient =
        std::gcd(common.coefficient, std::abs(term.coefficient));
    SmallVector<Expr, 4> left = term.atoms;
    llvm::erase_if(common.atoms, [&](Expr atom) {
      auto *found = llvm::find(left, atom);
      if (found == left.end())
        return true;
      left.erase(found);
      return false;
    });
  };
  llvm::for_each(dividend, share);
  llvm::for_each(divisor, share);
  if (common.coefficient == 1 && common.atoms.empty())
    return false;
  for (Term &term : dividend)
    (void)divide(term, common, term);
  for (Term &term : divisor)
    (void)divide(term, common, term);
  return true;
}

/// Adds to `whole` what the divisor goes into a term, and the others to `rest`:
/// of a number, what is left when it is divided.
static void splitTerm(const Term &term, const Term &divisor,
                      SmallVector<Term> &whole, SmallVector<Term> &rest) {
  Term quotient;
  if (divide(term, divisor, quotient)) {
    whole.push_back(std::move(quotient));
    return;
  }
  if (!term.atoms.empty() || !divisor.atoms.empty() ||
      divisor.coefficient <= 0) {
    rest.push_back(term);
    return;
  }
  int64_t number = *floorDivide(term.coefficient, divisor.coefficient);
  rest.push_back({{}, *floorModulo(term.coefficient, divisor.coefficient)});
  if (number != 0)
    whole.push_back({{}, number});
}

/// The division and the number of a dividend floor(x / y) + number; a null
/// Expr when it is none.
static std::pair<Expr, int64_t> dividedDividend(ArrayRef<Term> dividend) {
  bool hasNumber = dividend.size() == 2 && dividend[1].atoms.empty();
  if (dividend.size() != (hasNumber ? 2 : 1) || dividend[0].coefficient != 1 ||
      dividend[0].atoms.size() != 1 ||
      dividend[0].atoms[0].kind() != ExprKind::FloorDiv)
    return {};
  return {dividend[0].atoms[0], hasNumber ? dividend[1].coefficient : 0};
}

Expr Expr::floorDiv(Expr rhs) const {
  if (!attr || !rhs || rhs.isConstant(0))
    return {};
  if (auto a = asConstant(), b = rhs.asConstant(); a && b) {
    std::optional<int64_t> quotient = floorDivide(*a, *b);
    return quotient ? constant(getContext(), *quotient) : Expr();
  }
  if (Expr exact = exactDiv(rhs))
    return exact;
  SmallVector<Term> dividend = termsOf(*this), divisor = termsOf(rhs);
  if (cancelCommonFactor(dividend, divisor))
    return fromTerms(getContext(), std::move(dividend))
        .floorDiv(fromTerms(getContext(), std::move(divisor)));
  // floor((c*x + r) / c) = x + floor(r / c)
  SmallVector<Term> whole, rest;
  if (divisor.size() == 1)
    for (const Term &term : dividend)
      splitTerm(term, divisor[0], whole, rest);
  if (!whole.empty())
    return fromTerms(getContext(), std::move(whole)) +
           fromTerms(getContext(), std::move(rest)).floorDiv(rhs);
  if (auto [inner, number] = dividedDividend(dividend); inner)
    if (rhs.isPositive() && inner.operand(1).isPositive())
      return (inner.operand(0) + inner.operand(1) * number)
          .floorDiv(inner.operand(1) * rhs);
  return makeBinary(ExprKind::FloorDiv, *this, rhs);
}

Expr Expr::ceilDiv(Expr rhs) const { return (*this + rhs - 1).floorDiv(rhs); }

Expr Expr::mod(Expr rhs) const {
  if (!attr || !rhs || rhs.isConstant(0))
    return {};
  if (auto a = asConstant(), b = rhs.asConstant(); a && b) {
    std::optional<int64_t> rest = floorModulo(*a, *b);
    return rest ? constant(getContext(), *rest) : Expr();
  }
  if (exactDiv(rhs))
    return constant(getContext(), 0);
  return makeBinary(ExprKind::Mod, *this, rhs);
}

Expr Expr::min(Expr rhs) const {
  if (!attr || !rhs || *this == rhs)
    return attr && rhs ? *this : Expr();
  Expr difference = rhs - *this;
  if (difference.isNonNegative())
    return *this;
  if ((*this - rhs).isNonNegative())
    return rhs;
  return compare(*this, rhs) <= 0 ? makeBinary(ExprKind::Min, *this, rhs)
                                  : makeBinary(ExprKind::Min, rhs, *this);
}

Expr Expr::max(Expr rhs) const {
  if (!attr || !rhs || *this == rhs)
    return attr && rhs ? *this : Expr();
  if ((rhs - *this).isNonNegative())
    return rhs;
  if ((*this - rhs).isNonNegative())
    return *this;
  return compare(*this, rhs) <= 0 ? makeBinary(ExprKind::Max, *this, rhs)
                                  : makeBinary(ExprKind::Max, rhs, *this);
}

/// Whether `from` adds nothing to a broadcast with `to`, given that the two do
/// broadcast: it is max(to, 0), which is `to` as no size is negative, or
/// min(to, c) with c > 1, which is 1 only when `to` is and else must be equal
/// to it.
static bool broadcastsInto(Expr from, Expr to) {
  auto holds = [&](llvm::function_ref<bool(int64_t)> number) {
    for (size_t i : {0, 1})
      if (std::optional<int64_t> c = from.operand(1 - i).asConstant())
        return from.operand(i) == to && number(*c);
    return false;
  };
  if (from.kind() == ExprKind::Min)
    return holds([](int64_t c) { return c > 1; });
  return from.kind() == ExprKind::Max &&
         holds([](int64_t c) { return c <= 0; });
}

/// What is broadcast together, whatever the order: sizes that do broadcast are
/// all equal or 1.
static void broadcastParts(Expr expr, SmallVectorImpl<Expr> &parts) {
  if (expr.kind() != ExprKind::Broadcast) {
    parts.push_back(expr);
    return;
  }
  broadcastParts(expr.operand(0), parts);
  broadcastParts(expr.operand(1), parts);
}

Expr Expr::broadcast(Expr rhs) const {
  if (!attr || !rhs)
    return {};
  if (*this == rhs || rhs.isConstant(1))
    return *this;
  if (isConstant(1))
    return rhs;
  // A number other than one is the result, whatever the other side is.
  if (asConstant())
    return *this;
  if (rhs.asConstant())
    return rhs;
  SmallVector<Expr> parts;
  broadcastParts(*this, parts);
  broadcastParts(rhs, parts);
  llvm::sort(parts, [](Expr a, Expr b) { return compare(a, b) < 0; });
  parts.erase(llvm::unique(parts), parts.end());
  SmallVector<Expr> needed = llvm::filter_to_vector(parts, [&](Expr from) {
    return llvm::none_of(
        parts, [&](Expr to) { return to != from && broadcastsInto(from, to); });
  });
  Expr result = needed.front();
  for (Expr part : ArrayRef(needed).drop_front())
    result = result ? makeBinary(ExprKind::Broadcast, result, part) : Expr();
  return result;
}

void Expr::forEachSymbol(llvm::function_ref<void(Expr)> visit) const {
  if (!attr)
    return;
  if (kind() == ExprKind::Symbol)
    visit(*this);
  for (size_t i = 0; i < size(); ++i)
    operand(i).forEachSymbol(visit);
}

Expr Expr::substitute(llvm::function_ref<Expr(Expr)> map) const {
  if (!attr)
    return {};
  auto of = [&](size_t i) { return operand(i).substitute(map); };
  switch (kind()) {
  case ExprKind::Constant:
    return *this;
  case ExprKind::Symbol: {
    Expr replacement = map(*this);
    return replacement ? replacement : *this;
  }
  case ExprKind::Product: {
    Expr result = constant(getContext(), value());
    for (size_t i = 0; i < size(); ++i)
      result = result * of(i);
    return result;
  }
  case ExprKind::Sum: {
    Expr result = constant(getContext(), 0);
    for (size_t i = 0; i < size(); ++i)
      result = result + of(i);
    return result;
  }
  case ExprKind::FloorDiv:
    return of(0).floorDiv(of(1));
  case ExprKind::Mod:
    return of(0).mod(of(1));
  case ExprKind::Min:
    return of(0).min(of(1));
  case ExprKind::Max:
    return of(0).max(of(1));
  case ExprKind::Broadcast:
    return of(0).broadcast(of(1));
  }
  return {};
}

std::optional<int64_t> Expr::evaluate(
    llvm::function_ref<std::optional<int64_t>(StringRef)> map) const {
  bool known = true;
  Expr result = substitute([&](Expr symbol) {
    std::optional<int64_t> value = map(symbol.name());
    known &= value.has_value();
    return value ? constant(getContext(), *value) : Expr();
  });
  return known ? result.asConstant() : std::nullopt;
}

void Expr::print(llvm::raw_ostream &os) const {
  if (!attr) {
    os << "<overflow>";
    return;
  }
  auto call = [&](StringRef function) {
    os << function << "(";
    operand(0).print(os);
    os << ", ";
    operand(1).print(os);
    os << ")";
  };
  switch (kind()) {
  case ExprKind::Constant:
    os << value();
    return;
  case ExprKind::Symbol:
    if (value())
      os << "signed(" << name() << ")";
    else
      os << name();
    return;
  case ExprKind::Product:
    if (value() != 1)
      os << value() << " * ";
    for (size_t i = 0; i < size(); ++i) {
      if (i)
        os << " * ";
      operand(i).print(os);
    }
    return;
  case ExprKind::Sum:
    for (size_t i = 0; i < size(); ++i) {
      if (i)
        os << " + ";
      operand(i).print(os);
    }
    return;
  case ExprKind::FloorDiv:
    return call("floordiv");
  case ExprKind::Mod:
    return call("mod");
  case ExprKind::Min:
    return call("min");
  case ExprKind::Max:
    return call("max");
  case ExprKind::Broadcast:
    return call("broadcast");
  }
}

std::string Expr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace tenon::graph
