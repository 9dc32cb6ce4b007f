//===- LineConvView.h - Convolutions that read lines of an image ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution of pairs of bf16, or of quads of bytes (see ConvDepth.h), with
// spatial axes whose sizes are numbers, as the LineConv schedule computes it:
// of one axis, an image is a line; of three, it has lines at some depth. What a
// register of rows reads under a tap are pixels of a line, at one distance from
// each other, so windows need not be copied. A unit is such a register: some
// pixels side by side of a line of the result, or short lines, one below the
// other, with what is computed between them and not stored. All units are
// alike; the last one of a line or an image has some pixels that the one before
// it has, too. Lines of 17 pixels would leave half of two registers empty: of
// such, matrix registers have 16 pixels one behind the other, whatever their
// lines, with what is between those.
//
// A block is some lines of an image's result, or some whole images that share a
// filter too large for the cache. What it reads is copied to scratch memory,
// once, with zeros around it (the slab of DirectConvView.h) or the zero point
// of bytes, unless all windows lie inside of the image. Bytes that are i8 are
// copied always, as ui8 that count from 128 below. A row of the launch is a
// panel of a block, or a part of the units of one; panels are those of
// PackedConv, but the last two (see PanelCut.h).
//
// Of a convolution by groups, a block is those lines of one group, or of some
// that are convolved as one (see mergedGroups), and its slab has the channels
// of these alone. Of three axes, it is of one depth, and its slab has the lines
// under all taps of that axis.
//
// Levels that do not multiply pairs widen what a block reads to f32 first, to
// scratch memory behind the slab, and each panel of the filter behind that, or
// the taps of one line after the other; or make pairs of f16 of both, where
// they add up in f16 and the convolution allows that. Those that do not
// multiply quads widen both to words of 16 bits.
//
// In the WinogradPairs schedule, levels that widen to f32 multiply by tiles of
// 2x2 outputs (see WinogradView.h), which blocks do not cut.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_LINECONVVIEW_H
#define TENON_DIALECTS_KERNEL_LINECONVVIEW_H

#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/PanelCut.h"
#include "dialects/Kernel/WinogradView.h"

namespace tenon::kernel {

struct LineConvView {
  /// Elements of a run, pairs or quads, that matrix units take at once; and
  /// rows of one.
  static constexpr int64_t mostElements = 16, mostPixels = 16;

  ConvDepth depth;
  DirectConvView slab; // Its channels are pairs, or quads.
  int64_t step;        // Elements at once, all of a run or an equal part of it.
  int64_t unitPixels, unitLines, unitsOfLine;
  /// Whether the filter is fetched panel by panel, while the one before it is
  /// multiplied.
  bool fetchesFilter;
  /// Whether windows are pixels that follow each other: the axes are those of
  /// lines cut anew, so that units are full.
  bool isFlat;
  /// Whether a block is whole images of which two threads would share panels
  /// badly.
  bool isUneven = false;
  int64_t panelParts = 1; // Of a panel's units (see PanelParts.h).
  /// What levels that widen multiply by, if that is not tiles of sums.
  std::optional<WinogradView> winograd = std::nullopt;

  int64_t panels() const { return slab.panels; }
  PanelCut cut() const { return {slab.maps, /*isEven=*/true}; }
  /// Elements from one panel of the filter to the next: behind those of quads
  /// lie the sums of their maps.
  int64_t panelDepth() const {
    return depth.depth() + (depth.hasQuads ? 1 : 0);
  }
  int64_t blocksOfImage() const { return slab.blocksOfImage() * slab.groups; }
  int64_t slabBytes() const {
    return slab.isInput ? 0 : slab.blockImages * slab.slabBytes();
  }
  int64_t scratchBytes() const;
  /// Into how many parts of its depth a panel of the filter is cut, each of
  /// which stays in the cache when it is widened: one, or those of the taps of
  /// lines; 0 where these are too large.
  int64_t widenedParts() const;
  /// What a block reads at most.
  int64_t blockElements() const;
  /// Rows of a unit's register.
  int64_t unitRows() const {
    return (unitLines - 1) * linePlaces() + unitPixels;
  }
  /// Of pixels one behind the other, from a line to the next one: those of the
  /// result, and what is computed between them.
  int64_t linePlaces() const { return lineStride() / pixelStride(); }
  int64_t placesOf(int64_t lines) const {
    return (lines - 1) * linePlaces() + slab.pixels().count;
  }
  /// Whether registers are better filled by places whatever their lines.
  bool runsOn() const;

  // Distances in what is read, in pairs or quads.
  int64_t pixelStride() const {
    return strideOf(slab.pixels()) * slab.channels;
  }
  int64_t lineSize() const;
  int64_t lineStride() const { return strideOf(slab.lines()) * lineSize(); }
  /// Under one tap of the axes before lines, and under the next one.
  int64_t outerStride() const { return slab.slabLines() * lineSize(); }
  int64_t imageStride() const;
  /// From the first pixel that a line of outputs reads to behind the last one.
  int64_t lineReach() const;
  /// The same of a line that is read: from there on come pixels that are not,
  /// or nothing at all.
  int64_t pixelReach() const;
  /// Runs of a window under a tap of lines and of the axes before them.
  int64_t runsOfLine() const {
    return depth.lines / slab.lines().taps / slab.outerTaps();
  }
  /// Where the runs of a window begin, behind its first one.
  llvm::SmallVector<int64_t> runStarts() const;

private:
  int64_t strideOf(const DirectConvAxis &axis) const {
    return slab.isInput ? axis.stride : axis.slabStride();
  }
};

/// Whether LineConv would suit a convolution by groups if it were of pairs.
/// Groups of a channel or two are better off in f32.
bool canConvolveGroups(graph::ConvOp op);

/// nullopt with a reason for convolutions that it does not suit: by LineConv,
/// or by WinogradPairs.
std::optional<LineConvView> lineConvViewOf(graph::ConvOp op, std::string &why,
                                           bool byWinograd = false);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_LINECONVVIEW_H
