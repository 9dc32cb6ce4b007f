//===- Reordering.h - Moves a set of ops to another order of axes ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_REORDERING_H
#define TENON_COMPILER_TRANSFORMS_REORDERING_H

#include "compiler/Transforms/AxisOrder.h"
#include "llvm/ADT/SetVector.h"

namespace tenon {

/// Ops of one block that may all compute in another order of their axes, so
/// that transposes are needed only where values enter and leave the set.
class Reordering {
public:
  /// Convolutions that `mayReorder` says so of are taken, too.
  using MayReorder = std::function<bool(mlir::Operation *)>;
  explicit Reordering(llvm::ArrayRef<int64_t> order, MayReorder mayReorder = {})
      : order(order.begin(), order.end()), mayReorder(std::move(mayReorder)) {}

  /// Adds the op if it can be reordered.
  bool add(mlir::Operation *op);

  enum class Direction { Both, Down };
  /// Adds users of results and (Both) producers of operands, and so on.
  void grow(Direction direction);

  bool empty() const { return ops.empty(); }

  /// How many transposes of elements go, less those that come. Transposes of
  /// weights cost nothing: they are done at compile time.
  int64_t gain() const;

  /// Whether transposes come at results only.
  bool onlySinks() const;

  /// Replaces the ops.
  void apply(mlir::RewriterBase &rewriter);

private:
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool moves(mlir::Value value) const;
  int64_t gainOfOperand(mlir::Value value) const;
  int64_t gainOfResult(mlir::Value value) const;
  /// Operands from outside that have to be put in order.
  llvm::SetVector<mlir::Value> operands() const;

  AxisOrder order;
  MayReorder mayReorder;
  llvm::SetVector<mlir::Operation *> ops;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_REORDERING_H
