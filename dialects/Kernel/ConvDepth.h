//===- ConvDepth.h - Convolutions as matrix products ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with channels last and one group is a product of two matrices:
// a row per pixel of the result, with the inputs under all taps of its window,
// and a column per channel of the result. The depth is cut into `lines` of
// `run` elements each: a line has the taps of the last axis and the channels,
// which lie in a row in the input; where that axis is dilated, a line is one
// tap. The filter packed for the PackedConv schedule is
//
//   [ceil(M / panelColumns)][tap][channel][panelColumns]
//
// with zeros past M: the panels of that matrix. Where both operands are bf16
// and channels even, two of them are one element of the input and of
//
//   [ceil(M / panelColumns)][tap][channel / 2][panelColumns][2]
//
// and all that is said below of channels holds for such pairs. Of bytes, four
// numbers of a line are one element (see IntegerConvView.h). The schedule goes
// through the depth in blocks of whole lines, or of a part of one line, and
// copies what a group of rows reads of a block to scratch memory, unless the
// rows lie in the input as they are. Levels that do not multiply pairs widen
// the rows of a block to f32, and with AVX2 each panel that many rows read.
// Rows of the launch are those of PackedMatmul (Packing.h).
//
// The DepthwiseConv schedule wants the filter as [tap][channel], FewMapsConv as
// [M][tap][channel].
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_CONVDEPTH_H
#define TENON_DIALECTS_KERNEL_CONVDEPTH_H

#include "dialects/Graph/Graph.h"
#include "dialects/Kernel/Packing.h"

namespace tenon::kernel {

inline constexpr llvm::StringLiteral packedConvLayout = "conv48";
inline constexpr llvm::StringLiteral packedPairsLayout = "conv48_pairs";
/// Panels whose sums may wait for the next block of the depth.
inline constexpr int64_t waitingPanels = 16;
inline constexpr llvm::StringLiteral depthwiseLayout = "taps_first";
/// Pixels whose sums DepthwiseConv has in scratch memory at a time.
inline constexpr int64_t tilePixels = 4;
/// Bytes of the sums that FewMapsConv has in scratch memory.
inline constexpr int64_t fewMapsScratch = 64;

/// Whether a convolution is of pairs of bf16: channels last, an even number of
/// them, both operands widened from bf16, and one group, or groups that
/// LineConv takes.
bool convolvesPairs(graph::ConvOp op);
/// Groups that are convolved as one, by a filter with zeros between them (see
/// FilterLayout.h): as many as have no more channels together than a matrix
/// unit has columns. 0 where none have channels that lie in pairs.
int64_t mergedGroups(graph::ConvOp op);
/// An operand of a convolution as its kernel reads it: that of bf16 where it
/// convolves pairs, and the numbers where it convolves bytes (see
/// IntegerConvView.h and DepthwiseView.h).
mlir::Value operandOf(graph::ConvOp op, mlir::Value operand);

/// Whether a filter has so few maps for its depth that vectors of maps would
/// take longer than vectors of the depth, as FewMapsConv has them.
bool hasFewMaps(graph::ConvOp op);

/// How the rows of a convolution's matrix are cut: into blocks, of which a
/// group shares the copy of what it reads. A result of one panel has no other
/// work for a second thread, so that it has two blocks as soon as each is a
/// tile.
struct ConvBlocks {
  graph::Expr count, ofGroup; // Null where there are too many.

  explicit ConvBlocks(graph::ConvOp op);
};

struct ConvDepth {
  /// Of a convolution with channels last whose filter has numbers as sizes. Of
  /// several groups, it is the depth of those that are convolved as one.
  explicit ConvDepth(graph::ConvOp op);
  /// As if it convolved pairs, or did not.
  ConvDepth(graph::ConvOp op, bool hasPairs);

  llvm::SmallVector<int64_t> lineTaps; // The taps of axes that are not in runs.
  int64_t channels, lines, run; // Channels may be pairs, or bytes by quads.
  int64_t blockLines, blockRun;
  /// Whether the matrix on the left is the input, and whether it is read in
  /// place.
  bool isMatrix, isInput;
  bool hasPairs, hasQuads;
  int64_t numbers; // Of a line, where it has quads.
  bool sumsWait;   // In scratch memory, as the result has no room for them.

  int64_t depth() const { return lines * run; }
  bool isOneBlock() const { return blockLines == lines && blockRun == run; }
  /// Elements from one row of the copy to the next: some more than a block has,
  /// since whole vectors are written.
  int64_t copyStride() const { return blockLines * blockRun + 16; }
  int64_t copyBytes() const;
  int64_t waitingBytes() const {
    return sumsWait ? waitingPanels * groupElements * 4 : 0;
  }
  /// Where levels widen pairs: from one row of a group to the next, and a
  /// block of all of them and of a panel behind that, in f32.
  int64_t wideStride() const { return 2 * blockLines * blockRun + 16; }
  int64_t wideRowsBytes() const;
  int64_t widePanelBytes() const {
    return 2 * blockLines * blockRun * panelColumns * 4;
  }
  int64_t scratchBytes() const {
    return copyBytes() + waitingBytes() +
           (hasPairs ? wideRowsBytes() + widePanelBytes() : 0);
  }
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_CONVDEPTH_H
