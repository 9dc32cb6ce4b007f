//===- ConvSchedules.cpp - Schedules of convolutions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/ConvSchedules.h"
#include "compiler/Schedules/ConvKernels.h"
#include "dialects/Kernel/ChannelTail.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/LineConvView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/PanelParts.h"
#include "dialects/Kernel/WinogradView.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

kernel::Geometry geometryOfWinograd(const KernelView &view, int64_t outputs) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::winogradViewOf(conv, outputs, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  // Transformed patches are for all panels of a piece.
  int64_t grain = sizes->blocks.isConstant(1)
                      ? llvm::divideCeil(sizes->panels, 2)
                      : sizes->panels;
  Expr blocks = images * sizes->blocks;
  return {blocks ? blocks * number(sizes->panels * sizes->panelParts) : blocks,
          number(grain * sizes->panelParts), number(sizes->scratchBytes())};
}

std::optional<std::string> refusalOfWinograd(const KernelView &view,
                                             int64_t outputs) {
  if (auto why = refusalOfConv(view))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  std::string why;
  if (!kernel::winogradViewOf(convOf(view), outputs, why))
    return why;
  if (!geometryOfWinograd(view, outputs))
    return "the number of its rows is beyond what an expression holds";
  return std::nullopt;
}

} // namespace

//===--- WinogradF2, WinogradF4 ---===//

std::optional<std::string> refusalWinogradF2(const KernelView &view) {
  return refusalOfWinograd(view, 2);
}
kernel::Geometry geometryWinogradF2(const KernelView &view) {
  return geometryOfWinograd(view, 2);
}
SmallVector<std::string> layoutsWinogradF2(const KernelView &view) {
  return withFilter(view, kernel::WinogradLayout{2}.name());
}

std::optional<std::string> refusalWinogradF4(const KernelView &view) {
  return refusalOfWinograd(view, 4);
}
kernel::Geometry geometryWinogradF4(const KernelView &view) {
  return geometryOfWinograd(view, 4);
}
SmallVector<std::string> layoutsWinogradF4(const KernelView &view) {
  return withFilter(view, kernel::WinogradLayout{4}.name());
}

//===--- SmallConv ---===//

std::optional<std::string> refusalSmallConv(const KernelView &view) {
  if (auto why = refusalOfConv(view))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  std::string why;
  if (!kernel::smallConvViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

kernel::Geometry geometrySmallConv(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::smallConvViewOf(conv, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  Expr panels =
      images.ceilDiv(number(sizes->blockImages)) * number(sizes->panels);
  if (!panels)
    return {};
  // Panels of a piece share the slab: its copy, of some elements a cycle, shall
  // take 3 % of their multiply-adds, of 32 a cycle.
  int64_t least = 1;
  if (!sizes->isInput)
    least = sizes->inputBytes / 4 * 170 /
            (sizes->lines().count * sizes->pixels().count *
             sizes->layout.width * sizes->depth());
  return {panels * number(sizes->panelParts),
          kernel::grainOfPanels(panels, sizes->panelParts, least + 1,
                                sizes->panels),
          number(sizes->isInput ? 0 : sizes->blockImages * sizes->inputBytes)};
}

SmallVector<std::string> layoutsSmallConv(const KernelView &view) {
  std::string why;
  auto sizes = kernel::smallConvViewOf(convOf(view), why);
  return withFilter(view, sizes->layout.name());
}

//===--- DirectConv ---===//

std::optional<std::string> refusalDirectConv(const KernelView &view) {
  if (auto why = refusalOfConv(view))
    return why;
  auto tail = kernel::channelTailOf(convOf(view));
  bool isTurned = tail && tail->turn;
  if (auto why = isTurned ? std::nullopt : refusalOfBehind(view))
    return why;
  if (kernel::isDepthwise(convOf(view)))
    return "each channel is a group with one map";
  std::string why;
  if (!kernel::directConvViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

kernel::Geometry geometryDirectConv(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::directConvViewOf(conv, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  Expr panels =
      images * number(sizes->blocksOfImage() * sizes->panelsOfBlock());
  if (!panels)
    return {};
  // Panels of a piece share the slab, which costs up to a third of one.
  int64_t most = sizes->panelsOfBlock();
  int64_t least = sizes->hasManyBlocks
                      ? most
                      : std::max<int64_t>(most / (sizes->isInput ? 16 : 2), 1);
  return {panels * number(sizes->panelParts),
          kernel::grainOfPanels(panels, sizes->panelParts, least, most),
          number(sizes->slabBytes())};
}

SmallVector<std::string> layoutsDirectConv(const KernelView &view) {
  std::string why;
  auto sizes = kernel::directConvViewOf(convOf(view), why);
  return withFilter(view, sizes->layout.name());
}

//===--- LineConv, WinogradPairs ---===//

static std::optional<std::string> refusalOfLines(const KernelView &view,
                                                 bool byWinograd) {
  if (auto why = refusalOfConv(view, Narrow::Pairs))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  std::string why;
  if (!kernel::lineConvViewOf(convOf(view), why, byWinograd))
    return why;
  return std::nullopt;
}

static kernel::Geometry geometryOfLines(const KernelView &view,
                                        bool byWinograd) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::lineConvViewOf(conv, why, byWinograd);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  int64_t ofBlock = sizes->panels();
  int64_t most = ofBlock * sizes->slab.groups;
  Expr blocks = images.ceilDiv(number(sizes->slab.blockImages));
  Expr panels = blocks * number(sizes->blocksOfImage() * ofBlock);
  if (!panels)
    return {};
  // Panels of a piece share the slab, or what is widened of the image: two at
  // least where that has several blocks, a fifth of those of one, a fourth of
  // those of several images.
  int64_t least = sizes->slab.blockImages > 1 ? llvm::divideCeil(ofBlock, 4)
                  : sizes->isUneven
                      ? 1
                      : std::max(std::min<int64_t>(ofBlock, 2), ofBlock / 5);
  return {panels * number(sizes->panelParts),
          kernel::grainOfPanels(panels, sizes->panelParts, least, most),
          number(sizes->scratchBytes())};
}

std::optional<std::string> refusalLineConv(const KernelView &view) {
  return refusalOfLines(view, /*byWinograd=*/false);
}
std::optional<std::string> refusalWinogradPairs(const KernelView &view) {
  return refusalOfLines(view, /*byWinograd=*/true);
}

kernel::Geometry geometryLineConv(const KernelView &view) {
  return geometryOfLines(view, /*byWinograd=*/false);
}
kernel::Geometry geometryWinogradPairs(const KernelView &view) {
  return geometryOfLines(view, /*byWinograd=*/true);
}

/// Whether the panels of a convolution by lines are none of PackedConv's.
static bool hasEvenPanels(graph::ConvOp conv) {
  std::string why;
  return kernel::lineConvViewOf(conv, why)->cut().moved() > 0;
}

SmallVector<std::string> layoutsLineConv(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  kernel::FilterLayout layout{kernel::panelColumns, int64_t(conv.getGroup()),
                              /*steps=*/2, hasEvenPanels(conv),
                              kernel::mergedGroups(conv)};
  return withFilter(view, layout.name());
}

/// Those of LineConv.
SmallVector<std::string> layoutsWinogradPairs(const KernelView &view) {
  return layoutsLineConv(view);
}

//===--- PackedConv ---===//

std::optional<std::string> refusalPackedConv(const KernelView &view) {
  if (auto why = refusalOfConv(view, Narrow::Pairs))
    return why;
  graph::ConvOp conv = convOf(view);
  if (conv.getGroup() != 1)
    return "it has several groups";
  return refusalOfBehind(view);
}

kernel::Geometry geometryPackedConv(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  MLIRContext *context = conv.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  int64_t columns = *graph::getDims(conv.getResult()).back().asConstant();
  int64_t panels = llvm::divideCeil(columns, kernel::panelColumns);
  kernel::ConvBlocks blocks(conv);
  Expr units = blocks.count ? blocks.count * panels : Expr();
  if (!units || !blocks.ofGroup)
    return {};
  // The panels of a piece share the copy of what they read, which costs about a
  // tenth of a panel: two at least, more where that leaves some eight pieces.
  kernel::ConvDepth depth(conv);
  Expr least = blocks.count.min(blocks.ofGroup) * (depth.isInput ? 1 : 2);
  Expr all = blocks.ofGroup * std::min<int64_t>(panels, 16);
  Expr grain =
      units.floorDiv(number(depth.isInput ? 16 : 8)).max(least).min(all);
  return {units, grain, number(depth.scratchBytes())};
}

SmallVector<std::string> layoutsPackedConv(const KernelView &view) {
  return withFilter(view, kernel::convolvesPairs(convOf(view))
                              ? kernel::packedPairsLayout
                              : kernel::packedConvLayout);
}

//===--- PackedConvInt8 ---===//

std::optional<std::string> refusalPackedConvInt8(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  if (!conv)
    return "its root is no convolution";
  if (!conv.getChannelsLast())
    return "channels are not the last axis";
  if (conv.getGroup() != 1)
    return "it has several groups";
  if (!kernel::integerConvViewOf(conv))
    return "its operands are no images and filter of ui8 or i8 less zero "
           "points: a byte for all images, a number for each map";
  if (auto why = refusalOfOperands(view, conv))
    return why;
  return refusalOfBehind(view);
}

/// Units are those of PackedConv.
kernel::Geometry geometryPackedConvInt8(const KernelView &view) {
  return geometryPackedConv(view);
}

SmallVector<std::string> layoutsPackedConvInt8(const KernelView &view) {
  return withFilter(view, kernel::QuadFilter::of(convOf(view)).name());
}

//===--- LineConvInt8 ---===//

std::optional<std::string> refusalLineConvInt8(const KernelView &view) {
  if (auto why = refusalPackedConvInt8(view))
    return why;
  std::string why;
  if (!kernel::lineConvViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

/// Units are those of LineConv.
kernel::Geometry geometryLineConvInt8(const KernelView &view) {
  return geometryLineConv(view);
}

SmallVector<std::string> layoutsLineConvInt8(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  return withFilter(view,
                    kernel::QuadFilter::of(conv, hasEvenPanels(conv)).name());
}

} // namespace tenon
