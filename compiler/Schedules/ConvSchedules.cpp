//===- ConvSchedules.cpp - Schedules of convolutions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/ConvSchedules.h"
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

/// Whether an op only renames what is yielded.
bool isTailReshape(Operation *op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<kernel::YieldOp, graph::ReshapeOp>(user);
         });
}

graph::ConvOp convOf(const KernelView &view) {
  return dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(view.body));
}

/// Why kernels cannot read the image in place, and the filter packed.
std::optional<std::string> refusalOfOperands(const KernelView &view,
                                             graph::ConvOp conv) {
  auto filter =
      dyn_cast<BlockArgument>(kernel::operandOf(conv, conv.getFilter()));
  if (!isa<BlockArgument>(kernel::operandOf(conv, conv.getInput())) || !filter)
    return "an operand of the convolution is computed in the kernel";
  if (!view.isWeight[filter.getArgNumber()])
    return "the filter is no weight";
  auto type = cast<RankedTensorType>(filter.getType());
  if (!type.hasStaticShape())
    return "the filter has not numbers as sizes";
  if (type.getNumElements() == 0)
    return "the filter is empty";
  if (!filter.hasOneUse())
    return "the filter has another user in the kernel";
  return std::nullopt;
}

/// What a schedule reads beside f32.
enum class Narrow { None, Pairs, DepthwiseBytes };

std::optional<std::string> refusalOfAll(const KernelView &view,
                                        Narrow taken = Narrow::None) {
  graph::ConvOp conv = convOf(view);
  if (!conv)
    return "its root is no convolution";
  if (!conv.getChannelsLast())
    return "channels are not the last axis";
  if (!graph::getElementType(conv.getInput()).isF32())
    return "its operands are not f32";
  if (graph::getRank(conv.getInput()) < 3)
    return "it has no spatial axis";
  if (kernel::convolvesPairs(conv) && taken != Narrow::Pairs)
    return "its operands are bf16";
  if (kernel::depthwiseBytesOf(conv) && taken != Narrow::DepthwiseBytes)
    return "its image is of bytes";
  return refusalOfOperands(view, conv);
}

/// Why the ops behind the convolution cannot run on sums that wait for them.
std::optional<std::string> refusalOfBehind(const KernelView &view) {
  if (view.body.getTerminator()->getNumOperands() != 1)
    return "it has several results";
  if (movesBehind(view, convOf(view)))
    return "it moves data behind the convolution";
  return std::nullopt;
}

bool isDepthwise(graph::ConvOp conv) {
  SmallVector<Expr> filter = graph::getDims(conv.getFilter());
  return filter[0].isConstant(conv.getGroup()) && filter[1].isConstant(1);
}

SmallVector<std::string> withFilter(const KernelView &view, StringRef layout) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  graph::ConvOp conv = convOf(view);
  auto filter = cast<BlockArgument>(kernel::operandOf(conv, conv.getFilter()));
  layouts[filter.getArgNumber()] = layout.str();
  return layouts;
}

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
  if (auto why = refusalOfAll(view))
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

bool movesBehind(const KernelView &view, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> behind = {root};
  for (Operation &op : view.body.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      continue;
    if (kernel::roleOf(&op) == kernel::Role::Movement && !isTailReshape(&op))
      return true;
    behind.insert(&op);
  }
  return false;
}

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
  if (auto why = refusalOfAll(view))
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
  if (auto why = refusalOfAll(view))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  if (isDepthwise(convOf(view)))
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

//===--- LineConv ---===//

std::optional<std::string> refusalLineConv(const KernelView &view) {
  if (auto why = refusalOfAll(view, Narrow::Pairs))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  std::string why;
  if (!kernel::lineConvViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

kernel::Geometry geometryLineConv(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::lineConvViewOf(conv, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  int64_t ofBlock = sizes->panels();
  Expr blocks = images.ceilDiv(number(sizes->slab.blockImages));
  Expr panels = blocks * number(sizes->blocksOfImage() * ofBlock);
  if (!panels)
    return {};
  // Panels of a piece share the slab: two at least, a fourth of those of
  // several images.
  int64_t least = sizes->slab.blockImages > 1 ? llvm::divideCeil(ofBlock, 4)
                  : sizes->slab.isInput || sizes->isUneven
                      ? 1
                      : std::min<int64_t>(ofBlock, 2);
  return {panels * number(sizes->panelParts),
          kernel::grainOfPanels(panels, sizes->panelParts, least, ofBlock),
          number(sizes->scratchBytes())};
}

/// Whether the panels of a convolution by lines are none of PackedConv's.
static bool hasEvenPanels(graph::ConvOp conv) {
  std::string why;
  return kernel::lineConvViewOf(conv, why)->cut().moved() > 0;
}

SmallVector<std::string> layoutsLineConv(const KernelView &view) {
  bool isEven = hasEvenPanels(convOf(view));
  return withFilter(
      view, kernel::FilterLayout{kernel::panelColumns, 1, /*steps=*/2, isEven}
                .name());
}

//===--- PackedConv ---===//

std::optional<std::string> refusalPackedConv(const KernelView &view) {
  if (auto why = refusalOfAll(view, Narrow::Pairs))
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

//===--- DepthwiseTiles ---===//

std::optional<std::string> refusalDepthwiseTiles(const KernelView &view) {
  if (auto why = refusalOfAll(view, Narrow::DepthwiseBytes))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  if (!isDepthwise(convOf(view)))
    return "a group has several channels";
  std::string why;
  if (!kernel::depthwiseViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

kernel::Geometry geometryDepthwiseTiles(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::depthwiseViewOf(conv, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  Expr rows = images * number(sizes->blocks() * sizes->lines.count);
  // Lines of a piece share what they read; those of a low band belong
  // together.
  constexpr int64_t few = 14;
  int64_t lines = sizes->bandLines();
  Expr grain = rows.floorDiv(number(16));
  grain = lines <= few
              ? grain.ceilDiv(number(lines)).max(number(1)) * number(lines)
              : grain.max(number(few / 2)).min(number(lines));
  return {rows, grain, number(0)};
}

SmallVector<std::string> layoutsDepthwiseTiles(const KernelView &view) {
  return withFilter(view, kernel::depthwiseLayout);
}

//===--- DepthwiseConv ---===//

std::optional<std::string> refusalDepthwiseConv(const KernelView &view) {
  if (auto why = refusalOfAll(view))
    return why;
  graph::ConvOp conv = convOf(view);
  if (!isDepthwise(conv))
    return "a group has several channels";
  return std::nullopt;
}

kernel::Geometry geometryDepthwiseConv(const KernelView &view) {
  kernel::Geometry geometry = kernel::geometryOf(view.body);
  if (!geometry)
    return {};
  geometry.scratch = geometry.scratch * kernel::tilePixels;
  // Pixels side by side share work: whole lines of them.
  SmallVector<Expr> dims = graph::getDims(convOf(view).getResult());
  geometry.grain = geometry.grain.max(dims[dims.size() - 2]);
  return geometry;
}

SmallVector<std::string> layoutsDepthwiseConv(const KernelView &view) {
  return withFilter(view, kernel::depthwiseLayout);
}

} // namespace tenon
