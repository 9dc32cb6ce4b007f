//===- IndexExpression.h - What an element of a tensor is -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An abstract interpreter of graphs. Masks and positions are built from iota,
// comparisons and data movement in a hundred ways; element by element they are
// a short term over the indices of the element, sizes, constants and elements
// of other tensors. That term is what recognisers match.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TRANSFORMS_INDEXEXPRESSION_H
#define TENON_COMPILER_TRANSFORMS_INDEXEXPRESSION_H

#include "dialects/Graph/Graph.h"
#include <memory>

namespace tenon {

/// The value of one element. Bools are `NonNegative` and what is built of it.
struct Term {
  enum class Kind {
    Integer,     // expr
    Number,      // number, of a float tensor
    NonNegative, // expr >= 0
    Load,        // tensor[at...]
    Computed,    // of operands, by the element by element op of tensor
    NonZero,     // operands[0] != 0
    And,         // of two
    Or,          // of two
    Not,
    Select, // operands[0] ? operands[1] : operands[2]
  };

  Kind kind;
  graph::Expr expr;
  double number = 0.0;
  mlir::Value tensor;
  llvm::SmallVector<graph::Expr> at;
  llvm::SmallVector<const Term *> operands;

  bool isTrue() const;
  bool isFalse() const;
  bool isNumber(double value) const;
  std::string str() const;
};

/// Reads elements of tensors at indices that run over a box. Owns the terms
/// that it gives.
class IndexExpressions {
public:
  /// Index i runs from 0 to below `extents[i]`.
  IndexExpressions(mlir::MLIRContext *context,
                   llvm::ArrayRef<graph::Expr> extents);

  /// The symbol of index i. It must not get into the graph.
  graph::Expr index(size_t i) const { return indices[i]; }
  size_t rank() const { return indices.size(); }

  /// The element of `tensor` at `at`, one expression per axis. What the
  /// interpreter does not understand is a `Load`, so there is always a term.
  const Term *read(mlir::Value tensor, llvm::ArrayRef<graph::Expr> at);

  /// The element at the indices of a tensor that is broadcast to the box; null
  /// when it is not proven that its sizes fit.
  const Term *readAligned(mlir::Value tensor);

  /// Whether it holds for all indices and sizes.
  bool isNonNegative(graph::Expr expr) const;
  bool dependsOnIndex(graph::Expr expr) const;
  bool dependsOn(graph::Expr expr, size_t i) const;

  /// Sizes (lhs, rhs) with lhs <= rhs on which the terms so far depend.
  llvm::ArrayRef<std::pair<graph::Expr, graph::Expr>> obligations() const {
    return owed;
  }

  /// Null when that takes too much.
  const Term *negate(const Term *term);

private:
  using Indices = llvm::ArrayRef<graph::Expr>;

  graph::Expr constant(int64_t value) const {
    return graph::Expr::constant(context, value);
  }
  const Term *make(Term term);
  const Term *integer(graph::Expr expr);
  const Term *boolean(bool value);
  const Term *nonNegative(graph::Expr expr);
  const Term *conjunction(const Term *lhs, const Term *rhs);
  const Term *disjunction(const Term *lhs, const Term *rhs);
  const Term *select(const Term *condition, const Term *lhs, const Term *rhs);
  const Term *load(mlir::Value tensor, Indices at);

  // Null where the op is not understood.
  const Term *readOp(mlir::Operation *op, Indices at);
  const Term *readConstant(graph::ConstantOp op, Indices at);
  const Term *readProgression(graph::ConstantOp op, Indices at);
  const Term *readSizes(graph::SizesOp op, Indices at);
  const Term *readMovement(mlir::Operation *op, Indices at);
  const Term *readReshape(graph::ReshapeOp op, Indices at);
  const Term *readConcat(graph::ConcatOp op, Indices at);
  const Term *readGather(graph::GatherOp op, Indices at);
  const Term *readGatherNd(graph::GatherNdOp op, Indices at);
  const Term *readScatterNd(graph::ScatterNdOp op, Indices at);
  const Term *readPointwise(mlir::Operation *op, Indices at);
  const Term *combine(mlir::Operation *op, llvm::ArrayRef<const Term *> of);
  const Term *computed(mlir::Operation *op, llvm::ArrayRef<const Term *> of);
  const Term *readCast(graph::CastOp op, const Term *input);
  const Term *readBinary(mlir::Operation *op, const Term *lhs, const Term *rhs);
  const Term *arithmetic(mlir::Operation *op, const Term *lhs, const Term *rhs);
  const Term *compare(mlir::Operation *op, const Term *lhs, const Term *rhs);
  const Term *readBroadcast(mlir::Value operand, Indices at);

  /// f = quotient * divisor + rest with 0 <= rest < divisor, which may become
  /// an obligation.
  bool split(graph::Expr f, graph::Expr divisor, graph::Expr &quotient,
             graph::Expr &rest);
  graph::Expr bound(graph::Expr expr, bool upper) const;

  mlir::MLIRContext *context;
  llvm::SmallVector<graph::Expr> indices, extents;
  std::vector<std::unique_ptr<Term>> terms;
  llvm::SmallVector<std::pair<graph::Expr, graph::Expr>> owed;
  unsigned reads = 0, depth = 0;
};

/// The number c of c * symbol + rest; nullopt when `expr` is not of that form.
std::optional<int64_t> coefficientOf(graph::Expr expr, graph::Expr symbol);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_INDEXEXPRESSION_H
