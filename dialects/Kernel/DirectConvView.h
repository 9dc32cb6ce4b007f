//===- DirectConvView.h - Convolutions by tiles of pixels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with channels last whose spatial sizes are numbers, as the
// DirectConv schedule computes it: a tile is some pixels side by side times a
// panel of maps, and reads every tap of its window at a known distance from the
// first one. So that it sees no borders, the part of the image that a block of
// the result reads is first copied to scratch memory, with zeros around it: the
// slab. Where every window is one pixel, all spatial axes are one, and the
// image itself is read if its pixels follow each other.
//
// A block is some lines of the result, or a part of one. A row of the launch is
// a part of a block (see PanelParts.h), with all maps or one panel of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_DIRECTCONVVIEW_H
#define TENON_DIALECTS_KERNEL_DIRECTCONVVIEW_H

#include "dialects/Graph/Graph.h"
#include "dialects/Kernel/FilterLayout.h"

namespace tenon::kernel {

/// One spatial axis: output o reads positions o * stride + tap * dilation -
/// low of `size`. A slab has those from tap 0 of its first output on; where
/// there is one tap, only what it reads.
struct DirectConvAxis {
  int64_t size, count, taps, stride, dilation, low;

  /// Whether no window reads beside the image.
  bool isInside() const {
    int64_t last = (count - 1) * stride + (taps - 1) * dilation - low;
    return low <= 0 && last < size;
  }
  /// Positions around the image that windows read, before it and behind it.
  int64_t before() const { return std::max<int64_t>(low, 0); }
  int64_t behind() const {
    int64_t last = (count - 1) * stride + (taps - 1) * dilation - low;
    return std::max<int64_t>(last - (size - 1), 0);
  }
  int64_t step() const { return taps == 1 ? stride : 1; }
  int64_t slabStride() const { return taps == 1 ? 1 : stride; }
  /// What `outputs` of them read.
  int64_t slabSize(int64_t outputs) const {
    return (outputs - 1) * slabStride() + (taps - 1) * dilation + 1;
  }
};

/// Spatial axis i; nullopt where its sizes or pads are not numbers, or huge.
std::optional<DirectConvAxis> directConvAxisOf(graph::ConvOp op, size_t i);

struct DirectConvView {
  int64_t groups, channels, maps; // The latter two of one group.
  int64_t panels;                 // Of one group.
  FilterLayout layout;
  /// Two at least: the last is that of pixels, the one before that of lines.
  llvm::SmallVector<DirectConvAxis> axes;
  llvm::SmallVector<DirectConvAxis> imageAxes; // As they are.
  bool isFlat;  // All spatial axes are one, in the last place.
  bool isInput; // Tiles read the input, not a slab.
  int64_t pixelStride;
  /// A slab has the channels of one group alone.
  bool hasOneGroup = false;
  /// What lies behind a line is what lies before the next one, too.
  bool sharesPads = false;
  int64_t blockLines, blocksOfLine;
  bool isResident; // The filter stays in the cache while blocks pass.
  bool hasManyBlocks = false; // A thread has whole ones.
  bool cutsPanels;            // Rows of the launch have one panel of a block.
  int64_t panelParts = 1; // Of lines, or of pixels where a block has one line.
  // Of small images: those of a block, and what one of them has tiles read.
  int64_t blockImages = 1, inputBytes = 0;

  const DirectConvAxis &lines() const { return axes[axes.size() - 2]; }
  const DirectConvAxis &pixels() const { return axes.back(); }
  /// The axis before lines, if there is one alone, with several taps.
  const DirectConvAxis *outerAxis() const {
    return axes.size() == 3 && axes[0].taps > 1 ? &axes[0] : nullptr;
  }
  int64_t allPanels() const { return groups * panels; }
  int64_t allMaps() const { return groups * maps; }
  int64_t allChannels() const { return groups * channels; }
  int64_t slabChannels() const {
    return hasOneGroup ? channels : allChannels();
  }
  int64_t depth() const;
  int64_t panelsOfBlock() const { return cutsPanels ? allPanels() : 1; }
  int64_t blocksOfLines() const;
  int64_t blocksOfImage() const;

  // The slab: [outer taps][lines][pixels][pixelStride].
  int64_t slabLines() const { return lines().slabSize(blockLines); }
  /// Whether most of what is copied for a block is lines between those that it
  /// reads, as of filters whose taps lie far apart.
  bool copiesLinesBetween() const {
    return !isInput && slabLines() > 2 * blockLines * lines().taps;
  }
  int64_t slabPixels() const;
  /// From a line to the next one: a stride for each output at least.
  int64_t slabPitch() const {
    const DirectConvAxis &axis = pixels();
    int64_t shared = std::min(
        {axis.before(), axis.behind(), (axis.taps - 1) * axis.dilation});
    return slabPixels() - (sharesPads ? shared : 0);
  }
  int64_t outerTaps() const;
  /// With what vectors may write behind its end.
  int64_t slabBytes() const;
};

/// nullopt with a reason for convolutions that it does not suit.
std::optional<DirectConvView> directConvViewOf(graph::ConvOp op,
                                               std::string &why);

/// The same for images of a few pixels, as the SmallConv schedule computes it:
/// a block is some whole images, and a tile may have pixels of several lines. A
/// row of the launch is a panel of a block.
std::optional<DirectConvView> smallConvViewOf(graph::ConvOp op,
                                              std::string &why);

/// The most pixels of a tile, at any CPU level.
inline constexpr int64_t maxTilePixels = 14;

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_DIRECTCONVVIEW_H
