//===- WinogradView.cpp - 3x3 convolutions with fewer products ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/WinogradView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/PanelParts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Transformed patches of a block: they stay in the second level of the cache
/// while the filter streams through it.
constexpr int64_t maxPatchBytes = 480 << 10;
/// The same, where that is a whole image of few tiles.
constexpr int64_t maxImageBytes = 640 << 10;
/// Tiles of a block of many channels, whatever the cache holds: each block
/// reads the whole filter, mostly from memory, and its patches once a panel
/// from the third level, which is far less. And what a block may take there.
constexpr int64_t enoughTiles = 36, maxScratchBytes = 8 << 20;
/// Of pairs, whose filter is small as it lies.
constexpr int64_t maxPairsScratchBytes = 2560 << 10;
/// Below, transforms cost more than products save: those of tiles that know the
/// image, or of PackedConv, whose panels are of 48 maps.
constexpr int64_t leastChannels = 32, leastMaps = 24;
constexpr int64_t leastOfAnySize = 16;
/// Of a transformed filter: larger ones stream from memory for longer than the
/// products of F(4) are less than those of F(2).
constexpr int64_t maxFilterBytesF4 = 4 << 20;
/// Panels that a few threads share evenly, and tiles of a strip whose sums hide
/// how long multiply-adds take.
constexpr int64_t fewPanels = 8, leastStrip = 6;
/// Outputs of an image: with fewer, the filter is read for too few of them.
/// F(4) reads more of it.
constexpr int64_t leastOutputs = 10 * 10, leastOutputsF4 = 14 * 14;
/// Of a block of pairs, for whose products a panel is transformed.
constexpr int64_t leastBlockTiles = 16;

bool isOne(int64_t value) { return value == 1; }

/// Equal blocks, an even number of them if there are several. Of images of any
/// size, blocks as large as the cache holds.
void cut(WinogradView &view) {
  auto number = [&](int64_t value) {
    return graph::Expr::constant(view.tiles.getContext(), value);
  };
  int64_t tileBytes = view.positions() * view.patchStride() * 4;
  int64_t most = std::max(maxPatchBytes / tileBytes, enoughTiles);
  if (std::optional<int64_t> tiles = view.tiles.asConstant()) {
    int64_t blocks = 1;
    if (*tiles > enoughTiles && *tiles * tileBytes > maxImageBytes)
      blocks = llvm::alignTo(llvm::divideCeil(*tiles, most), 2);
    view.blockTiles = llvm::divideCeil(*tiles, blocks);
  } else {
    view.blockTiles = most / winogradStrip * winogradStrip;
  }
  view.blocks = view.tiles.ceilDiv(number(view.blockTiles));
  if (!view.blocks)
    return;
  // Few panels have shorter strips, so that there are some for each thread.
  int64_t panels = view.panels * view.blocks.asConstant().value_or(1);
  bool areFew = panels < fewPanels && !view.hasAnySize();
  view.panelParts = panelPartsOf(
      panels, areFew ? view.blockTiles / leastStrip
                     : llvm::divideCeil(view.blockTiles, winogradStrip));
}

/// Of an axis whose outputs of a tile are that far apart.
graph::Expr tilesAlong(graph::Expr size, int64_t dilation, int64_t outputs) {
  auto number = [&](int64_t value) {
    return graph::Expr::constant(size.getContext(), value);
  };
  if (dilation == 1)
    return size.ceilDiv(number(outputs));
  graph::Expr apart = size.ceilDiv(number(dilation));
  graph::Expr tiles = apart ? apart.ceilDiv(number(outputs)) : graph::Expr();
  return tiles ? tiles * number(dilation) : graph::Expr();
}

/// Whether tiles of an image have few outputs beside it: where its size is a
/// symbol, if taps lie hardly apart.
bool fillsTiles(const WinogradView &view) {
  constexpr int64_t mostOfAnySize = 4, farthest = 1 << 20;
  int64_t apart = std::max(view.dilationY, view.dilationX);
  if (view.hasAnySize() || apart > farthest)
    return apart <= mostOfAnySize;
  auto tiles = view.tiles.asConstant(), height = view.outHeight.asConstant(),
       width = view.outWidth.asConstant();
  return tiles && height && width &&
         *tiles * view.outputs * view.outputs * 4 <= *height * *width * 5;
}

/// A view whose panels and blocks are not cut yet.
std::optional<WinogradView> uncutViewOf(graph::ConvOp op, int64_t outputs,
                                        std::string &why) {
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!WinogradLayout{outputs}.elements(filter.getShape()))
    return refuse("its windows are not 3x3");
  if (op.getGroup() != 1)
    return refuse("it has several groups");
  if (!llvm::all_of(op.getStrides(), isOne))
    return refuse("its windows are not side by side");
  WinogradView view;
  view.outputs = outputs;
  view.channels = filter.getDimSize(1);
  view.maps = filter.getDimSize(0);
  if (view.channels % 16 != 0)
    return refuse("its channels do not fill whole vectors");
  if (outputs > 2 && *WinogradLayout{outputs}.elements(filter.getShape()) * 4 >
                         maxFilterBytesF4)
    return refuse("its transformed filter is large");
  SmallVector<graph::Expr> sizes = graph::getDims(op.getInput()),
                           result = graph::getDims(op.getResult()),
                           pads(op.getPads().exprs());
  constexpr int64_t most = 1 << 20;
  auto pad = [&](graph::Expr expr, int64_t &value) {
    std::optional<int64_t> known = expr.asConstant();
    value = known.value_or(0);
    return known && *known >= -most && *known <= most;
  };
  auto isHuge = [](graph::Expr size) {
    return size.asConstant().value_or(0) > most;
  };
  if (!pad(pads[0], view.lowY) || !pad(pads[1], view.lowX))
    return refuse("its pads are not numbers");
  if (llvm::any_of(sizes, isHuge) || llvm::any_of(result, isHuge))
    return refuse("its images are huge");
  view.dilationY = op.getDilations()[0];
  view.dilationX = op.getDilations()[1];
  view.outHeight = result[1];
  view.outWidth = result[2];
  graph::Expr image = view.outHeight * view.outWidth;
  int64_t least = outputs > 2 ? leastOutputsF4 : leastOutputs;
  if (image && image.asConstant().value_or(least) < least)
    return refuse("its images are small");
  view.tilesX = tilesAlong(view.outWidth, view.dilationX, outputs);
  graph::Expr lines = tilesAlong(view.outHeight, view.dilationY, outputs);
  view.tiles = view.tilesX && lines ? view.tilesX * lines : graph::Expr();
  if (!view.tiles)
    return refuse("its number of tiles is beyond what an expression holds");
  if (view.hasTapsApart() && !fillsTiles(view))
    return refuse("its taps lie apart, and outputs that do would not fill "
                  "tiles");
  if (view.channels < (view.hasAnySize() ? leastOfAnySize : leastChannels) ||
      view.maps < (view.hasAnySize() ? leastOfAnySize : leastMaps))
    return refuse("it has few channels");
  return view;
}

/// The view, if the cache holds what a block has in scratch memory.
std::optional<WinogradView> ifItFits(const WinogradView &view,
                                     std::string &why) {
  if (view.scratchBytes() <=
      (view.hasPairs ? maxPairsScratchBytes : maxScratchBytes))
    return view;
  why = "its transformed patches do not fit the cache";
  return std::nullopt;
}

} // namespace

WinogradMatrices WinogradMatrices::of(int64_t outputs) {
  if (outputs == 2)
    return {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
            {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  constexpr double sixth = 1.0 / 6, twelfth = 1.0 / 12, part = 1.0 / 24;
  return {{{0.25, 0, 0},
           {-sixth, -sixth, -sixth},
           {-sixth, sixth, -sixth},
           {part, twelfth, sixth},
           {part, -twelfth, sixth},
           {0, 0, 1}},
          {{4, 0, -5, 0, 1, 0},
           {0, -4, -4, 1, 1, 0},
           {0, 4, -4, -1, 1, 0},
           {0, -2, -1, 2, 1, 0},
           {0, 2, -1, -2, 1, 0},
           {0, 4, 0, -5, 0, 1}},
          {{1, 1, 1, 1, 1, 0},
           {0, 1, -1, 2, -2, 0},
           {0, 1, 1, 4, 4, 0},
           {0, 1, -1, 8, -8, 1}}};
}

std::optional<WinogradLayout> WinogradLayout::parse(llvm::StringRef name) {
  for (int64_t outputs : {2, 4})
    if (name == WinogradLayout{outputs}.name())
      return WinogradLayout{outputs};
  return std::nullopt;
}

std::optional<int64_t>
WinogradLayout::elements(llvm::ArrayRef<int64_t> shape) const {
  if (shape.size() != 4 || shape[2] != 3 || shape[3] != 3)
    return std::nullopt;
  return llvm::alignTo(shape[0], winogradColumns) * shape[1] * positions();
}

std::optional<WinogradView> winogradViewOf(graph::ConvOp op, int64_t outputs,
                                           std::string &why) {
  std::optional<WinogradView> view = uncutViewOf(op, outputs, why);
  if (!view)
    return std::nullopt;
  view->panels = llvm::divideCeil(view->maps, view->columns);
  cut(*view);
  if (!view->blocks) {
    why = "its number of blocks is beyond what an expression holds";
    return std::nullopt;
  }
  return ifItFits(*view, why);
}

std::optional<WinogradView> winogradViewOfPairs(graph::ConvOp op,
                                                int64_t blockLines,
                                                int64_t panelParts,
                                                std::string &why) {
  std::optional<WinogradView> view = uncutViewOf(op, /*outputs=*/2, why);
  if (!view)
    return std::nullopt;
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  std::optional<int64_t> ofLine = view->tilesX.asConstant(),
                         all = view->tiles.asConstant();
  if (!ofLine || !all)
    return refuse("heights or widths are not numbers");
  if (view->hasTapsApart())
    return refuse("its taps are not side by side");
  view->hasPairs = true;
  view->columns = panelColumns;
  view->panels = llvm::divideCeil(view->maps, view->columns);
  view->blockTiles = *ofLine * llvm::divideCeil(blockLines, view->outputs);
  view->blocks = graph::Expr::constant(
      op.getContext(), llvm::divideCeil(*all, view->blockTiles));
  view->panelParts = panelParts;
  if (view->blockTiles < leastBlockTiles)
    return refuse("its blocks are small");
  return ifItFits(*view, why);
}

} // namespace tenon::kernel
