//===- Polynomial.h - The terms of an expression --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_POLYNOMIAL_H
#define TENON_DIALECTS_GRAPH_POLYNOMIAL_H

#include "dialects/Graph/Expr.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::graph {

/// A monomial: coefficient times sorted atoms.
struct Term {
  llvm::SmallVector<Expr, 4> atoms;
  int64_t coefficient;
};

/// The terms of an expression taken as a polynomial over its atoms.
llvm::SmallVector<Term> termsOf(Expr expr);
/// Sorts, merges and rebuilds; null when a coefficient overflows or the
/// polynomial is too long.
Expr fromTerms(mlir::MLIRContext *context, llvm::SmallVector<Term> terms);

/// False when the product is too long or its coefficient overflows.
bool multiply(const Term &lhs, const Term &rhs, Term &out);
/// numerator / divisor when the division leaves no rest.
bool divide(const Term &numerator, const Term &divisor, Term &out);

/// The uniqued expression of these parts as they are, nothing folded.
Expr makeExpr(mlir::MLIRContext *context, ExprKind kind, int64_t value,
              llvm::StringRef name, llvm::ArrayRef<Expr> operands);
/// A function of two; null when it would be nested too deep or too large.
Expr makeBinary(ExprKind kind, Expr lhs, Expr rhs);

} // namespace tenon::graph

#endif // TENON_DIALECTS_GRAPH_POLYNOMIAL_H
