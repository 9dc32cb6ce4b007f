//===- AttentionAddends.h - What is done to scores besides scaling --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ATTENTIONADDENDS_H
#define TENON_COMPILER_TRANSFORMS_ATTENTIONADDENDS_H

#include "compiler/Transforms/AttentionMask.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tenon {
class WeightStore;

/// The masks and biases of an attention, from the softmax to the product.
class AttentionAddends {
public:
  explicit AttentionAddends(const WeightStore *weights) : weights(weights) {}

  using Reason = std::optional<std::string>;

  bool empty() const { return addends.empty(); }
  /// A sum counts as its operands; `guard` is not taken apart.
  void add(mlir::Value addend, mlir::Value guard);
  /// p ? s : fill, which is s + (p ? 0 : fill) where the fill absorbs s.
  bool addReplaced(mlir::Operation *op, mlir::Value &next);
  /// Whether keys whose scores are replaced by `fill` have no part.
  static bool hides(double fill, mlir::Type element);
  /// Refuses more than one addend from now on.
  void requireAlone() { alone = true; }
  /// The larger of s and a number that absorbs scores.
  bool addFloor(mlir::Operation *op, mlir::Value &next);

  /// Sets what follows, or says why it cannot be told. Keys are those of the
  /// product, whatever the sums with it say. A row of nothing but
  /// -infinity in `guard`, or in all where that is null, is made 0 if
  /// `guarded`.
  Reason settle(graph::SoftmaxOp softmax, graph::MatmulOp scores,
                mlir::Value guard, bool guarded);
  std::optional<AttentionMask> mask;
  graph::DeadRows deadRows = graph::DeadRows::Zero;
  llvm::SmallVector<mlir::Value> biases; // Those that stay.

  /// Emits what all that is known here requires of the sizes.
  void emitRequirements(mlir::OpBuilder &builder, mlir::Location loc) const;

  /// Erases what was made on the way and is not used.
  void discard();

private:
  bool masks(mlir::Value addend);
  bool areAsOne(llvm::ArrayRef<mlir::Value> masking);
  bool areSmall(llvm::ArrayRef<mlir::Value> values) const;
  void joinReplaced();
  mlir::Value withKeys(mlir::Value value);
  Reason addBias(mlir::Value addend);

  const WeightStore *weights;
  graph::SoftmaxOp softmax;
  llvm::SmallVector<graph::Expr> sizes;              // Of the scores.
  llvm::SmallVector<mlir::Value> addends;            // The last one first.
  llvm::SmallPtrSet<mlir::Operation *, 2> replacing; // They stand for selects.
  llvm::SmallVector<mlir::Operation *> made;
  llvm::DenseMap<mlir::Value, mlir::Value> aligned; // By withKeys.
  llvm::SmallVector<graph::Expr> covering; // Sizes that may not be 1 instead.
  std::optional<double> floor;             // Below which no score falls.
  bool alone = false;                      // Others would change what it hides.
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ATTENTIONADDENDS_H
