//===- IntegerConvView.h - Convolutions of 8-bit numbers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution of i32 with channels last and one group, whose operands are
// casts of ui8 or i8 less a zero point if they have one, is a product of bytes
// as in IntegerMatmulView.h: rows are pixels of the result, and k runs over the
// taps and channels of their windows.
//
// Four numbers of a window's line are one element of 4 bytes. A line has the
// taps of the last axis and the channels of each, which lie in a row in the
// image, or one tap where that axis is dilated; what completes its last element
// counts as zero. A filter [M, C, taps..] is packed by panels of maps, the sums
// of a panel's maps behind them:
//
//   [ceil(M / panelColumns)][lines * ceil(run / 4) + 1][panelColumns][4]
//
// where the last line is of i32. The numbers are i8, those of a ui8 less 128;
// what is beyond M or a line is zero.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_INTEGERCONVVIEW_H
#define TENON_DIALECTS_KERNEL_INTEGERCONVVIEW_H

#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/PanelCut.h"

namespace tenon::kernel {

struct IntegerConvView {
  IntegerFactor input, filter;

  /// Whether sums of windows are needed beside the product.
  bool needsRowSums() const { return filter.zero || !filter.isSigned(); }
};

/// nullopt where the operands are no such numbers, the filter's sizes are none,
/// or a zero point is not one byte for the image, one number for each map.
std::optional<IntegerConvView> integerConvViewOf(graph::ConvOp op);

/// How a filter lies that is packed for these.
struct QuadFilter {
  bool isByTap = false; // A line is one tap.
  bool isEven = false;  // The last two panels are those of PanelCut.h.

  /// nullopt for any other layout.
  static std::optional<QuadFilter> parse(llvm::StringRef layout);
  static QuadFilter of(graph::ConvOp op, bool isEven = false);
  std::string name() const;
  PanelCut panelsOf(int64_t maps) const { return {maps, isEven}; }

  /// Of a filter [M, C, taps..]: taps and numbers of a line, and lines.
  int64_t tapsOfLine(llvm::ArrayRef<int64_t> shape) const;
  int64_t run(llvm::ArrayRef<int64_t> shape) const;
  int64_t lines(llvm::ArrayRef<int64_t> shape) const;
  /// Elements of a panel, for each map: without its sum.
  int64_t depth(llvm::ArrayRef<int64_t> shape) const;
  int64_t bytes(llvm::ArrayRef<int64_t> shape) const;
  /// Where a number lies behind its panel's begin.
  int64_t placeInPanel(llvm::ArrayRef<int64_t> shape, int64_t channel,
                       int64_t tap, int64_t map) const;
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_INTEGERCONVVIEW_H
