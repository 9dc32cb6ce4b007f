//===- DeviceAttention.h - How devices cut an attention into tiles --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As on CPUs (AttentionView.h) the queries of all heads that share a key head
// are one list, in which query i of the g-th head is number i * group + g. A
// block computes a tile of some numbers of a list against all keys that any of
// them sees, or against a piece of those where that would leave most of a
// device idle; who comes last joins the pieces in their order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_DEVICEATTENTION_H
#define TENON_DIALECTS_KERNEL_DEVICEATTENTION_H

#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/DeviceTiles.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral attentionMmaSchedule = "AttentionMma";
constexpr llvm::StringLiteral attentionMmaTallSchedule = "AttentionMmaTall";
constexpr llvm::StringLiteral attentionRowsSchedule = "AttentionRows";
constexpr llvm::StringLiteral attentionSimtSchedule = "AttentionSimt";

/// On devices: of keys and values what lies in front of a widening from 16 bits
/// and of a rounding to those, and the bytes that were dequantized.
struct DeviceOperand : AttentionOperand {
  mlir::Type element; // What is multiplied.
};
DeviceOperand deviceOperandOf(graph::AttentionOp op, mlir::Value operand);

/// Query, key and value in memory, with their last axes contiguous, all of one
/// type or converted to the queries' on the way; how a block computes a tile of
/// `rows` queries by `keys` keys.
struct DeviceAttention {
  graph::AttentionOp op;
  bool isMma;                            // Else by FMAs of f32.
  int64_t heads, keyHeads, depth, width; // H, KV, D, E
  StridedView query, key, value;
  /// Of keys and values that are bytes: what each row is multiplied by, seen
  /// from their axes.
  std::optional<StridedView> keyScales, valueScales;
  /// Where a bias lies in memory, seen from [n, H, S, T]; nothing where it is
  /// computed in the kernel.
  llvm::SmallVector<std::optional<StridedView>> biases;
  int64_t rows, keys;

  static constexpr int64_t warps = 4;
  int64_t group() const { return heads / keyHeads; }
  mlir::Type element() const { return graph::getElementType(query.base); }
  /// Whether keys or values are a cache of another type than is multiplied: of
  /// f32, or bytes.
  bool isConverted(const StridedView &operand) const {
    return graph::getElementType(operand.base) != element();
  }
  // What is behind the head sizes in shared memory is zero.
  int64_t paddedDepth() const;
  int64_t paddedWidth() const;

  /// Bytes from a row of a tile to the next in shared memory: rows begin at
  /// multiples of 16, eight of them in different banks.
  int64_t depthBytes() const;
  int64_t widthBytes() const;
  /// The same of the sums of queries and of the weights that warps exchange, in
  /// elements of f32.
  int64_t sumStride() const;
  int64_t weightStride() const;
  // Byte offsets in shared memory; sums are there when all else is used up,
  // from 0 on. `stats` has two f32 for each row: its largest score and total.
  int64_t keyStart() const;
  int64_t valueStart() const;
  int64_t weightStart() const;
  int64_t statStart() const;
  /// Where what is to be converted waits, 16 bytes of each thread side by side,
  /// and the scales of bytes, one for each 16.
  int64_t stagedStart() const;
  int64_t stagedScaleStart() const { return stagedStart() + stagedBytes(); }
  int64_t stagedBytes() const;
  int64_t sharedBytes() const;

  /// Bytes of the widest copies that all rows of an operand can be made of.
  int64_t copyBytes(const StridedView &operand) const;

  /// 1 where there are so few queries that a tile of AttentionRows has all of a
  /// list, else 0.
  Expr hasFewRows() const;
  /// 1 where tiles of AttentionMmaTall are enough to keep a device busy, else
  /// 0.
  Expr hasManyTiles() const;
  Expr units() const;  // Tiles of queries.
  Expr pieces() const; // Of the keys of each, by the sizes alone.
  Geometry geometry() const;
  DeviceTile tile() const;

  /// Of what pieces share: i32 counts of units, which start as zeros, and then
  /// for each piece its sums (f32, rows of `width`), largest scores and totals.
  static constexpr int64_t piecesStart = 512, mostCounts = piecesStart / 4;
  int64_t pieceBytes() const { return (width + 2) * rows * 4; }
};

/// Nothing where the schedule cannot run the body; `why` says why.
std::optional<DeviceAttention> deviceAttentionOf(mlir::Block &body,
                                                 llvm::StringRef schedule,
                                                 std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_DEVICEATTENTION_H
