//===- BatchAxes.h - Where the items of a batch lie in values -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_BATCHAXES_H
#define TENON_COMPILER_TRANSFORMS_BATCHAXES_H

#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseMap.h"

namespace tenon {

/// Follows the items of a batch through ops, in their order. A value has one
/// axis of `outer` times as many elements as there are items times some more:
/// each item has those with its number in the middle, and nothing else in the
/// value depends on the batch. Or it is the same for all items.
///
/// Some inputs have an item for each of the batch and perhaps more, by a symbol
/// of their own: those are sliced off before anything is done that mixes both.
class BatchAxes {
public:
  explicit BatchAxes(graph::Expr items) : symbols({items}) {}

  /// Notes the symbol of inputs that an op requires to have as many items, or
  /// more, as where a mask is longer than what it masks.
  void addLonger(graph::RequireOp op);

  /// The items, then what has more.
  llvm::ArrayRef<graph::Expr> counted() const { return symbols; }

  /// Notes a value whose items, if it has any, lie one behind the other in
  /// memory; false when its dims say otherwise.
  bool addInput(mlir::Value value);

  /// Notes the results of an op. False when what they hold of an item depends
  /// on others, or when that is not known of such ops.
  bool add(mlir::Operation *op);

  /// Whether a value has all of an item before anything of the next one, and
  /// no more items than the batch.
  bool isInOrder(mlir::Value value) const;

private:
  static constexpr int64_t none = -1;

  struct Place {
    int64_t axis = none; // Of the items; none: all share the value.
    graph::Expr outer;
    bool operator==(const Place &) const = default;
  };
  using Found = std::optional<Place>; // Null: there is no rule.

  Place of(mlir::Value value) const {
    return value ? places.lookup(value) : Place();
  }
  bool isShared(mlir::Value value) const { return of(value).axis == none; }
  bool note(mlir::Value value, Found place);
  bool mentions(graph::Expr expr) const;
  bool mentions(mlir::Value value) const;
  graph::Expr longerBy(graph::RequireOp op) const;

  Found ofResult(mlir::Operation *op) const;
  Found ofMovement(mlir::Operation *op) const;
  Found ofRows(mlir::Operation *op) const;
  Found ofPicks(mlir::Operation *op) const;
  Found aligned(mlir::ValueRange operands, int64_t rank) const;
  Found joined(mlir::ValueRange operands, int64_t along) const;
  Found kept(mlir::Value input, llvm::ArrayRef<int64_t> without) const;
  Found before(mlir::ValueRange operands, int64_t end) const;
  Found ofReshape(graph::ReshapeOp op) const;
  Found ofBroadcast(graph::BroadcastOp op) const;
  Found ofSlice(graph::SliceOp op) const;
  Found whole(mlir::Value input, mlir::Value result) const;
  Found ofMatmul(graph::MatmulOp op) const;
  Found ofAttention(graph::AttentionOp op) const;
  Found ofImages(mlir::Value images, mlir::Value filter) const;
  Found moved(mlir::Value value, int64_t axis) const {
    return Place{axis, of(value).outer};
  }

  llvm::SmallVector<graph::Expr, 2> symbols;
  llvm::DenseMap<mlir::Value, Place> places;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_BATCHAXES_H
