//===- AttentionMask.h - What an addend of attention scores means ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ATTENTIONMASK_H
#define TENON_COMPILER_TRANSFORMS_ATTENTIONMASK_H

#include "compiler/Transforms/IndexExpression.h"

namespace tenon {

/// Emits that a size must not exceed another one that a mask has, unless that
/// is proven or an earlier layer has asked for it.
void requireCover(mlir::OpBuilder &builder, mlir::Location loc, graph::Expr lhs,
                  graph::Expr rhs);

/// Tensors that are added to scores [B, H, S, T], read element by element.
/// Where each is `allowed ? 0 : fill`, and what all of them allow is a
/// conjunction of what graph.attention can express, its parts are known here.
class AttentionMask {
public:
  AttentionMask(llvm::ArrayRef<mlir::Value> addends,
                llvm::ArrayRef<graph::Expr> scores);

  /// They add nothing anywhere, of whatever sizes.
  bool isZero() const { return zero && expressions.obligations().empty(); }
  /// All that is needed to say which keys take part is known.
  bool isPredicate() const { return predicate; }
  /// The largest fill.
  double fill() const { return filling; }

  /// Key j takes part only if j <= i + offset.
  std::optional<graph::Expr> offset() const { return causal; }
  /// ... and j > i + offset - window, when that is not 0.
  int64_t window() const { return windowSize; }
  bool hasKeyMask() const { return !keys.empty(); }
  /// No query is without a key.
  bool keepsAKey() const;

  /// Emits what all that is known here requires of the sizes.
  void emitRequirements(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// Emits the bools [B, T] and that what they are read from is as large.
  mlir::Value emitKeyMask(mlir::OpBuilder &builder, mlir::Location loc) const;

private:
  bool match(const Term *term);
  bool matchWindow();
  bool addConjuncts(const Term *condition);
  bool addPositions(graph::Expr nonNegative);
  bool isOfKeys(const Term *term, bool boolean) const;
  bool isOfKeys(graph::Expr at, std::optional<size_t> &index) const;
  mlir::Value emit(const Term *term, mlir::OpBuilder &builder,
                   mlir::Location loc) const;
  mlir::Value emitComputed(const Term *term, mlir::OpBuilder &builder,
                           mlir::Location loc) const;
  mlir::Value emitLoad(const Term *term, mlir::OpBuilder &builder,
                       mlir::Location loc) const;

  llvm::SmallVector<graph::Expr> extents;
  IndexExpressions expressions;
  bool zero = true, predicate = false;
  double filling = -std::numeric_limits<double>::infinity();
  std::optional<graph::Expr> causal;
  llvm::SmallVector<graph::Expr> lowest; // Each: j - i + this >= 0.
  int64_t windowSize = 0;
  llvm::SmallVector<const Term *> keys;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ATTENTIONMASK_H
