//===- Polynomial.cpp - The terms of an expression ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Polynomial.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon::graph {

Expr makeExpr(MLIRContext *context, ExprKind kind, int64_t value,
              StringRef name, ArrayRef<Expr> operands) {
  SmallVector<Attribute> attrs;
  for (Expr operand : operands)
    attrs.push_back(operand.getAttr());
  return Expr(
      ExprAttr::get(context, static_cast<uint32_t>(kind), value, name, attrs));
}

/// How deep functions are nested: bounds every recursion over expressions.
static unsigned depth(Expr expr) {
  unsigned deepest = 0;
  for (size_t i = 0; i < expr.size(); ++i)
    deepest = std::max(deepest, depth(expr.operand(i)));
  bool isFunction = expr.kind() >= ExprKind::FloorDiv;
  return deepest + (isFunction ? 1 : 0);
}

/// Takes the nodes of the tree from `budget`: common parts count each time, as
/// they do for whoever walks the tree. False when there are more.
static bool takeNodes(Expr expr, size_t &budget) {
  if (budget == 0)
    return false;
  --budget;
  for (size_t i = 0; i < expr.size(); ++i)
    if (!takeNodes(expr.operand(i), budget))
      return false;
  return true;
}

static bool isSmall(ArrayRef<Expr> exprs) {
  size_t budget = Expr::maxNodes;
  return llvm::all_of(exprs,
                      [&](Expr expr) { return takeNodes(expr, budget); });
}

Expr makeBinary(ExprKind kind, Expr lhs, Expr rhs) {
  if (std::max(depth(lhs), depth(rhs)) >= Expr::maxDepth ||
      !isSmall({lhs, rhs}))
    return {};
  return makeExpr(lhs.getContext(), kind, 0, "", {lhs, rhs});
}

static int compareAtoms(ArrayRef<Expr> lhs, ArrayRef<Expr> rhs) {
  // Longer products first, so that the constant comes last.
  if (lhs.size() != rhs.size())
    return lhs.size() > rhs.size() ? -1 : 1;
  for (auto [a, b] : llvm::zip(lhs, rhs))
    if (int order = compare(a, b))
      return order;
  return 0;
}

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

static Expr fromTerm(MLIRContext *context, const Term &term) {
  if (term.atoms.empty())
    return Expr::constant(context, term.coefficient);
  if (term.atoms.size() == 1 && term.coefficient == 1)
    return term.atoms[0];
  return makeExpr(context, ExprKind::Product, term.coefficient, "", term.atoms);
}

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
  return makeExpr(context, ExprKind::Sum, 0, "", parts);
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

} // namespace tenon::graph
