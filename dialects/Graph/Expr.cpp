//===- Expr.cpp - Canonical forms of size expressions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Expr.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Polynomial.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon::graph {

static ExprAttr asExpr(Attribute attr) { return cast<ExprAttr>(attr); }

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
  return makeExpr(context, ExprKind::Constant, value, "", {});
}

Expr Expr::symbol(MLIRContext *context, StringRef name, bool maybeNegative) {
  return makeExpr(context, ExprKind::Symbol, maybeNegative, name, {});
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

} // namespace tenon::graph
