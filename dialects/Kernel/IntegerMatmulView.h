//===- IntegerMatmulView.h - Products of 8-bit numbers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul of i32 multiplies quantized numbers where each operand is a cast of
// a tensor of ui8 or i8, less a zero point if it has one: what the op means is
// exact arithmetic modulo 2^32, and how it is computed is up to a schedule.
//
// A weight that such a product multiplies lies packed in panels, four steps of
// k together and the sums of its columns behind them: [ceil(N / panelColumns)]
// [ceil(K / 4) + 1][panelColumns][4], where the last line of a panel is of i32.
// The numbers are i8, those of a ui8 less 128; what is beyond K or N is zero.
//
// Of other operands on the right, panels are packed so on the way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_INTEGERMATMULVIEW_H
#define TENON_DIALECTS_KERNEL_INTEGERMATMULVIEW_H

#include "dialects/Kernel/StridedView.h"

namespace tenon::kernel {

inline constexpr llvm::StringLiteral quadsLayout = "packed48_quads";
/// Steps of k that lie together.
inline constexpr int64_t quadSteps = 4;

/// Bytes of a packed weight [depth, columns].
int64_t quadsBytes(int64_t depth, int64_t columns);

/// An operand of a product of i32.
struct IntegerFactor {
  StridedView view; // The numbers, of ui8 or i8.
  mlir::Value zero; // Of i32, broadcast to the operand; null: none.

  bool isSigned() const {
    return !graph::getElementType(view.base).isUnsignedInteger();
  }
};

/// nullopt where the operand is no such numbers.
std::optional<IntegerFactor> integerFactorOf(mlir::Value operand);

/// The same, seen through views as far as all axes but the last one can be
/// counted as one.
std::optional<IntegerFactor> integerRowsOf(mlir::Value operand);

/// The same of numbers that are read as they lie: the view is of those that
/// the cast is of, without strides.
std::optional<IntegerFactor> integerFactorInPlace(mlir::Value operand);

/// The ops between an operand and the memory of its numbers, its own first.
llvm::SmallVector<mlir::Operation *> factorOpsOf(mlir::Value operand,
                                                 const IntegerFactor &factor);

/// A product of bytes, as batches of [rows, depth] x [depth, columns]. The
/// result is row-major: row r of batch b is its row b * rows + r.
struct IntegerMatmulView {
  IntegerFactor lhs, rhs;
  /// The result's axes before the last two; none where rhs is a matrix and the
  /// axes of lhs but the last can all be counted as rows.
  llvm::SmallVector<Expr> batchDims;
  Expr rows, columns, depth;

  Expr lhsRowStride() const {
    return lhs.view.strides[lhs.view.strides.size() - 2];
  }
  /// Whether rhs is one matrix that is not empty, with numbers as sizes.
  bool isByKnownMatrix() const {
    return batchDims.empty() && columns.asConstant().value_or(0) > 0 &&
           depth.asConstant().value_or(0) > 0;
  }
  /// Whether the instructions cannot take rows of lhs as they lie.
  bool copiesLhs() const;
  /// Bytes from row to row of a copy, and of one that is widened to 16 bits.
  Expr copyStride() const;
  Expr wideStride() const;
  /// Whether four steps of k of each column of rhs lie where a word can.
  bool rhsLiesInQuads() const;
  /// Whether sums of rows of lhs are needed beside the product.
  bool needsRowSums() const { return rhs.zero || !rhs.isSigned(); }

  /// Blocks of rows in a group: many where they share a panel that is packed
  /// on the way, and no copy has to have room for them.
  int64_t blocksOfGroup(bool packsRhs) const;
  /// Bytes of scratch memory: for a copy of a group's rows of lhs, for their
  /// sums, and for a panel that is packed on the way; where rhs lies packed,
  /// for those rows and a panel widened to 16 bits, by levels that multiply no
  /// bytes. An expression that overflowed is null.
  struct Scratch {
    Expr copy, sums, panel, wideRows, widePanel;
    Expr all() const { return copy + sums + panel + wideRows + widePanel; }
  };
  Scratch scratch(bool packsRhs) const;
};

/// nullopt where the operands are no such numbers, or a zero point differs
/// along k; where there are batches, it is one number.
std::optional<IntegerMatmulView> integerMatmulViewOf(graph::MatmulOp op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_INTEGERMATMULVIEW_H
