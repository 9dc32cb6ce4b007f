//===- DepthwiseView.h - Convolutions of small groups, by tiles -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with channels last and a group for each channel whose spatial
// sizes are numbers, as the DepthwiseTiles schedule computes it: a tile is some
// pixels side by side, of a vector of channels, whose sums stay in registers
// while the taps of a line of the filter do too. Taps outside of the image are
// left out: which, is known for every tile of a line.
//
// A row of the launch is a line of the result in a block of channels. The lines
// of a block follow each other: what a filter reads again and again is then
// small enough for the first level of the cache. They do so in bands: a thread
// has some lines of an image, with all channels, as it has of what is computed
// before and behind.
//
// An image that is a cast to f32 of bytes less a zero point, as integers of 32
// bits between, is read as those bytes; one that is a cast of bf16 as that.
//
// GroupTiles is the same, but for bytes, for groups of a few channels with as
// many maps. The vector has the maps of whole groups, or some maps of one, and
// a column of the image is multiplied once for each channel of a group: every
// map's lane has that channel of its own group then.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_DEPTHWISEVIEW_H
#define TENON_DIALECTS_KERNEL_DEPTHWISEVIEW_H

#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/IntegerMatmulView.h"

namespace tenon::kernel {

/// Channels of a block: two lines of the cache, which are fetched in pairs.
inline constexpr int64_t depthwiseBlock = 32;

/// The most channels of a group.
inline constexpr int64_t mostMembers = 16;

struct DepthwiseView {
  int64_t channels; // As many as maps.
  int64_t members;  // Channels of a group: a power of two.
  /// That of lines and that of pixels.
  DirectConvAxis lines, pixels;
  bool hasLines; // Otherwise there is one line, which has no axis.

  /// Of an image, as high as each other.
  int64_t bands() const;
  int64_t bandLines() const { return lines.count / bands(); }
  int64_t blocks() const { return llvm::divideCeil(channels, depthwiseBlock); }
};

/// nullopt with a reason for convolutions that it does not suit.
std::optional<DepthwiseView> depthwiseViewOf(graph::ConvOp op,
                                             std::string &why);

/// Whether each channel is a group with one map.
bool isDepthwise(graph::ConvOp op);

/// The bytes that the image of such a convolution is of.
std::optional<IntegerFactor> depthwiseBytesOf(graph::ConvOp op);

/// Whether the image of such a convolution may be of bf16, as each channel is
/// by itself.
bool mayReadBf16(graph::ConvOp op);

/// The bf16 that its image is widened from; null for others.
mlir::Value depthwiseBf16Of(graph::ConvOp op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_DEPTHWISEVIEW_H
