//===- Expr.h - Integer expressions over symbolic sizes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of a tensor is a number or an expression over symbols such as
// `batch` or `past + S`. Expressions are kept in one canonical form, uniqued in
// the MLIR context, so that equality of values is equality of pointers wherever
// polynomial arithmetic proves it.
//
// An operation whose constant part overflows 64 bits, that divides by zero or
// that would outgrow `maxTerms`, `maxDepth` or `maxNodes` gives the null Expr;
// every operation on a null Expr gives null, so that callers test once, at the
// end.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_GRAPH_EXPR_H
#define TENON_DIALECTS_GRAPH_EXPR_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tenon::graph {

enum class ExprKind : uint32_t {
  Constant, // value
  Symbol,   // name; value is 1 when it may be negative
  Product,  // value * operands[0] * ...; operands are no sums, sorted
  Sum,      // operands[0] + ...; a constant, if any, is the last
  FloorDiv, // floor(operands[0] / operands[1])
  Mod,      // operands[0] - operands[1] * floor(operands[0] / operands[1])
  Min,
  Max,
  Broadcast, // operands[0] == 1 ? operands[1] : operands[0]
};

/// A value handle on a uniqued expression; null means "no such number".
class Expr {
public:
  static constexpr size_t maxTerms = 48;
  static constexpr unsigned maxDepth = 24;
  static constexpr size_t maxNodes = 4096; // As a tree.

  Expr() = default;
  explicit Expr(mlir::Attribute attr) : attr(attr) {}

  static Expr constant(mlir::MLIRContext *context, int64_t value);
  /// A symbol; sizes are non-negative, values read from data may not be.
  static Expr symbol(mlir::MLIRContext *context, llvm::StringRef name,
                     bool maybeNegative = false);

  explicit operator bool() const { return bool(attr); }
  bool operator==(Expr other) const { return attr == other.attr; }
  bool operator!=(Expr other) const { return attr != other.attr; }
  mlir::Attribute getAttr() const { return attr; }
  mlir::MLIRContext *getContext() const { return attr.getContext(); }

  ExprKind kind() const;
  int64_t value() const;        // Of a constant; a product's coefficient.
  llvm::StringRef name() const; // Of a symbol.
  size_t size() const;          // How many operands.
  Expr operand(size_t i) const;

  std::optional<int64_t> asConstant() const;
  bool isConstant(int64_t value) const { return asConstant() == value; }
  bool isSymbol() const { return attr && kind() == ExprKind::Symbol; }
  /// True when it is so for every value of the symbols (sizes are >= 0).
  bool isNonNegative() const;
  bool isPositive() const;

  Expr operator+(Expr rhs) const;
  Expr operator-(Expr rhs) const;
  Expr operator*(Expr rhs) const;
  Expr operator+(int64_t rhs) const;
  Expr operator-(int64_t rhs) const;
  Expr operator*(int64_t rhs) const;
  Expr floorDiv(Expr rhs) const;
  Expr ceilDiv(Expr rhs) const; // For a positive rhs.
  Expr mod(Expr rhs) const;
  Expr min(Expr rhs) const;
  Expr max(Expr rhs) const;
  /// The size of the broadcast of two dims: `this == 1 ? rhs : this`.
  Expr broadcast(Expr rhs) const;
  /// this / rhs where rhs is known to divide; null when that is not provable.
  Expr exactDiv(Expr rhs) const;

  /// Calls `visit` for each symbol, in order of appearance, with repeats.
  void forEachSymbol(llvm::function_ref<void(Expr)> visit) const;
  /// Replaces symbols; `map` returns null to keep one.
  Expr substitute(llvm::function_ref<Expr(Expr)> map) const;
  /// The value, when `map` knows every symbol and nothing overflows.
  std::optional<int64_t> evaluate(
      llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> map) const;

  std::string str() const;
  void print(llvm::raw_ostream &os) const;

private:
  mlir::Attribute attr;
};

/// A deterministic order (not by address), for canonical forms.
int compare(Expr lhs, Expr rhs);

/// Product of all; 1 for none.
Expr product(mlir::MLIRContext *context, llvm::ArrayRef<Expr> exprs);

/// floor division and modulus of numbers; nullopt for rhs == 0 or overflow.
std::optional<int64_t> floorDivide(int64_t lhs, int64_t rhs);
std::optional<int64_t> floorModulo(int64_t lhs, int64_t rhs);

} // namespace tenon::graph

#endif // TENON_DIALECTS_GRAPH_EXPR_H
