//===- ExprDivision.cpp - Quotients of size expressions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Polynomial.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;

namespace tenon::graph {

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

} // namespace tenon::graph
