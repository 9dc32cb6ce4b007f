//===- MatmulView.h - Matrix products as their operands lie ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul of any rank as batches of [rows, depth] x [depth, columns]. The
// result is row-major: row r of batch b is its row b * rows + r.
//
// A gate and what it gates are one product whose two halves of columns meet:
// the kernel then has the columns of one half, and computes both in step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_MATMULVIEW_H
#define TENON_DIALECTS_KERNEL_MATMULVIEW_H

#include "dialects/Kernel/QuantizedRhs.h"

namespace tenon::kernel {

/// Whether the axes of lhs but the last lie one behind the other, as one with
/// the stride of its innermost.
bool rowsFold(llvm::ArrayRef<Expr> dims, llvm::ArrayRef<Expr> strides);

/// Whether neighbours along an axis lie together, and pairs of them can be read
/// as one element of twice their size.
bool liesInPairs(const StridedView &view, size_t axis);

/// Whether kernels can pack pairs of steps of k from a matrix on the right, of
/// 16 bits: its columns lie together, or such pairs do.
bool canPackPairs(const StridedView &rhs);

/// The two halves of the columns of a product that nothing else reads.
struct ColumnHalves {
  graph::SliceOp low, high;
};

/// nullopt when a product has other readers, or they are none such.
std::optional<ColumnHalves> columnHalvesOf(graph::MatmulOp op);

/// The transposition of the last two axes that a product of f32, and what is
/// computed of it element by element, goes through and nothing else reads: a
/// kernel stores its tiles turned. Null when there is none, when an axis has
/// size 1 or when not all of k is one block.
graph::TransposeOp turnBehind(graph::MatmulOp op);

/// Rows of a product's batches whose sums nothing needs: whatever is computed
/// of them is a choice between that and zero, by a condition per row.
struct SkippedRows {
  graph::SelectOp select;
  mlir::BlockArgument condition; // [batch, row, 1]
  bool whenTrue;                 // It chooses zero where it is true.
};

/// nullopt unless all users lead to one such choice.
std::optional<SkippedRows> skippedRowsOf(graph::MatmulOp op);

/// The bf16 or f16 tensor that an f32 operand is, element by element; null when
/// it is none.
mlir::Value behindWidening(mlir::Value operand);
bool isWidenedBf16(mlir::Value operand);

/// The f32 tensor that was rounded to 16 bits to make an f32 operand; null when
/// none was.
mlir::Value unroundedOf(mlir::Value operand);

/// Whether lhs is f32 that was rounded to bf16.
bool roundsLhsToBf16(graph::MatmulOp op);

/// On a product or a convolution: its kernel may add up in f16, to which it
/// rounds what is not, where the level gains by that. A weight has nothing in
/// it whose sums f16 could not hold.
inline constexpr llvm::StringLiteral addsF16Attribute = "graph.adds_f16";
/// What the kernel of such a product is to round to f16, an operand of f32
/// before that; null for other operands.
mlir::Value operandToRound(graph::MatmulOp op, mlir::Value operand);

/// What gives each batch of a product its matrix on the right, of those that a
/// tensor of three axes has, by an index of its own; null where nothing does.
graph::GatherOp pickedRhsOf(graph::MatmulOp op);
/// What a product's matrices on the right are: its rhs, or what they are picked
/// of.
mlir::Value matricesOf(graph::MatmulOp op);

/// Whether rhs is a matrix, or has one for each batch of a result of three
/// axes.
bool isMatrixOrOnePerBatch(graph::MatmulOp op);

/// Whether sums of a product of 16 bits or fewer wait in scratch memory for the
/// next block of k, as the result has no room for them.
bool sumsWait(graph::MatmulOp op);

/// What the loops of a kernel with such a root go over: the root's first
/// result, or one half of it.
mlir::Value loopedOver(mlir::Operation *root);

/// The operands are views of their own type or, through widening casts, of bf16
/// or f16 (of which form-regions lets in, for CPUs, weights alone). Of a
/// quantized rhs it is the numbers that are seen, of an operand that is rounded
/// to f16 in the kernel what is rounded.
struct MatmulView {
  StridedView lhs, rhs;
  /// The result's axes before the last two; none where lhs lies such that they
  /// can all be counted as rows and rhs has none.
  llvm::SmallVector<Expr> batchDims;
  Expr rows, columns, depth; // Columns of one half where there are halves.
  std::optional<ColumnHalves> halves;
  std::optional<SkippedRows> skipped;
  graph::TransposeOp turn; // See turnBehind; rows are those of a batch then.
  std::optional<QuantizedRhs> quantized;
  graph::GatherOp picks; // See pickedRhsOf; rhs is seen as its input lies.
  /// See addsF16Attribute.
  bool mayAddF16 = false;
  bool hasPairs() const { return graph::getElementType(rhs.base).isBF16(); }
  bool hasF16Rhs() const { return graph::getElementType(rhs.base).isF16(); }
  bool hasHalfLhs() const { return graph::getElementType(lhs.base).isBF16(); }
  /// Whether two steps of k of a row of lhs can be read as one element of 4
  /// bytes.
  bool lhsLiesInPairs() const;
  Expr lhsRowStride() const { return lhs.strides[lhs.strides.size() - 2]; }
  Expr lhsDepthStride() const { return lhs.strides.back(); }
  /// Rows of lhs that are long and lie a multiple of 4 KiB apart meet in the
  /// same few sets of the caches.
  bool rowsLiePagesApart() const;
  /// Whether a kernel may have to copy lhs before it multiplies, and the bytes
  /// of scratch memory for that at such a depth.
  bool mayCopyLhs() const;
  int64_t lhsScratchBytes(std::optional<int64_t> depth) const;
  /// Bytes for a block of a panel, which is packed there or, where it comes
  /// packed, widened or made pairs.
  int64_t panelScratchBytes(std::optional<int64_t> depth,
                            bool comesPacked) const;
  /// Whether rows are so few that a matrix on the right of f32 whose columns
  /// lie together is read where it lies, unless it comes packed: to pack it is
  /// as much work as to multiply.
  bool streamsRhs() const;
  /// Whether blocks of what is rounded to f16 have as many pairs of steps as
  /// others have steps: not those that are turned, picked or dequantized
  /// before.
  bool hasBlocksOfPairs() const {
    return mayAddF16 && !quantized && !skipped && depth.asConstant() &&
           lhsDepthStride().isConstant(1);
  }
};

/// Blocks of rows in a group of a kernel that packs rhs on the way: few where
/// sums of all k have no place in the result to wait in.
int64_t blocksOfGroup(graph::MatmulOp op, const MatmulView &view);

/// nullopt when an expression overflows, or an operand is no view of a block
/// argument.
std::optional<MatmulView> matmulViewOf(graph::MatmulOp op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_MATMULVIEW_H
