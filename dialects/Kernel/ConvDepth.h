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
// with zeros past M: the panels of that matrix. The schedule goes through the
// depth in blocks of whole lines, or of a part of one line, and copies what a
// group of rows reads of a block to scratch memory, unless the rows lie in the
// input as they are. Rows of the launch are those of PackedMatmul (Packing.h).
//
// The DepthwiseConv schedule wants the filter as [tap][channel].
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_CONVDEPTH_H
#define TENON_DIALECTS_KERNEL_CONVDEPTH_H

#include "dialects/Graph/Graph.h"

namespace tenon::kernel {

inline constexpr llvm::StringLiteral packedConvLayout = "conv48";
inline constexpr llvm::StringLiteral depthwiseLayout = "taps_first";
/// Pixels whose sums DepthwiseConv has in scratch memory at a time.
inline constexpr int64_t tilePixels = 4;

struct ConvDepth {
  /// Of a convolution with channels last whose filter has numbers as sizes.
  explicit ConvDepth(graph::ConvOp op);

  llvm::SmallVector<int64_t> lineTaps; // The taps of axes that are not in runs.
  int64_t channels, lines, run;
  int64_t blockLines, blockRun;
  /// Whether the matrix on the left is the input, and whether it is read in
  /// place.
  bool isMatrix, isInput;

  int64_t depth() const { return lines * run; }
  /// Elements from one row of the copy to the next: some more than a block has,
  /// since whole vectors are written.
  int64_t copyStride() const { return blockLines * blockRun + 16; }
  int64_t copyBytes() const;
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_CONVDEPTH_H
