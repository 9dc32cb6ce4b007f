//===- DirectConvView.cpp - Convolutions by tiles of pixels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/PanelParts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

constexpr int64_t maxSlabBytes = 512 << 10;
/// Of a slab for a line or few of them, which may take more.
constexpr int64_t maxLineSlabBytes = 2 << 20;
/// Of a slab that has the lines of several depths.
constexpr int64_t maxDeepSlabBytes = 256 << 10;
/// Blocks of an image that are enough where its filter stays in the cache.
constexpr int64_t enoughBlocks = 16;
/// Of a slab beside panels that stream through the second level.
constexpr int64_t maxStreamSlabBytes = 320 << 10;
/// Pixels of a block below which those panels, which it reads whole and mostly
/// from memory, cost more than a slab that lies in the third level.
constexpr int64_t enoughPixels = 128;
/// Of weights that stay in the second level of the cache while blocks pass.
constexpr int64_t maxResidentBytes = 640 << 10;
/// Pixels of a block of a long line; of a matrix whose filter stays in the
/// cache, and of one whose filter streams through.
constexpr int64_t linePixels = 96, flatPixels = 48, streamPixels = 224;
/// Blocks of an image that are enough for a few threads; and their parts that
/// are enough for many.
constexpr int64_t manyBlocks = 8, manyParts = 32;
/// Pixels that are worth a row of the launch: a tile or two.
constexpr int64_t leastPixels = 12;
/// Lines that are not worth tiles of their own.
constexpr int64_t shortLine = 10, shortFlat = 64;

/// Panels of 48 maps or of 32, whatever leaves fewer columns empty or narrow.
int64_t panelWidth(int64_t maps) {
  if (maps <= 16)
    return 16;
  int64_t rest = maps % 48;
  return maps <= 32 || (rest != 0 && rest <= 32) ? 32 : 48;
}

bool hasOneTap(const DirectConvAxis &axis) { return axis.taps == 1; }

/// Whether what outputs read is the axis as it is.
bool isMatrix(const DirectConvAxis &axis) {
  return axis.taps == 1 && axis.stride == 1 && axis.low == 0 &&
         axis.size == axis.count;
}

/// All axes as one.
void flatten(DirectConvView &view) {
  DirectConvAxis all{1, 1, 1, 1, 1, 0};
  for (const DirectConvAxis &axis : view.axes)
    all.count *= axis.count;
  all.size = all.count;
  view.axes = {DirectConvAxis{1, 1, 1, 1, 1, 0}, all};
}

/// Cuts lines whose filter streams through the cache: equal blocks, an even
/// number of them if that is possible, whose slabs leave room for two panels or
/// are of few pixels.
void cutStreaming(DirectConvView &view) {
  int64_t lines = view.lines().count, most = lines;
  for (int64_t blocks = lines > 1 ? 2 : 1; blocks <= most; ++blocks) {
    view.blockLines = llvm::divideCeil(lines, blocks);
    int64_t pixels = view.blockLines * view.pixels().count;
    int64_t room =
        pixels > enoughPixels ? maxStreamSlabBytes : maxLineSlabBytes;
    if (view.blockLines > 1 && view.slabBytes() > room)
      continue;
    if (lines % blocks == 0)
      return;
    most = std::min(most, 2 * blocks);
  }
}

/// Cuts the result into blocks: as small as the threads want them if the
/// filter stays in the cache meanwhile, else as large as the slab allows.
void cut(DirectConvView &view) {
  const DirectConvAxis &lines = view.lines(), &pixels = view.pixels();
  view.isResident = view.allPanels() * view.layout.width * view.depth() * 4 <=
                    maxResidentBytes;
  int64_t longest = linePixels, uncut = 128;
  if (view.isFlat && view.isResident)
    longest = uncut = flatPixels;
  else if (view.isInput)
    longest = uncut = streamPixels;
  view.blocksOfLine =
      pixels.count > uncut ? std::max<int64_t>(pixels.count / longest, 1) : 1;
  if (view.isResident || view.isInput) {
    // Of three axes, depths are blocks already, and each line of a block is
    // copied under all taps of theirs.
    int64_t depths = 1, mostBytes = maxSlabBytes;
    for (const DirectConvAxis &axis : ArrayRef(view.axes).drop_back(2))
      depths = std::min<int64_t>(depths * axis.count, enoughBlocks);
    if (view.outerTaps() > 1)
      mostBytes = maxDeepSlabBytes;
    int64_t wanted = view.isResident
                         ? llvm::divideCeil(lines.count * depths, enoughBlocks)
                         : lines.count;
    view.blockLines = std::max<int64_t>(wanted, 1);
    while (!view.isInput && view.blockLines > 1 &&
           view.slabBytes() > mostBytes) {
      int64_t more = llvm::divideCeil(lines.count, view.blockLines) + 1;
      view.blockLines = std::min<int64_t>(view.blockLines - 1,
                                          llvm::divideCeil(lines.count, more));
    }
  } else {
    cutStreaming(view);
  }
  int64_t blocks = view.blocksOfImage();
  int64_t most = view.blockLines > 1
                     ? view.blockLines
                     : pixels.count / view.blocksOfLine / leastPixels;
  view.hasManyBlocks = blocks >= manyBlocks;
  view.cutsPanels = !view.hasManyBlocks || blocks * most < manyParts;
  view.panelParts = panelPartsOf(blocks * view.panelsOfBlock(), most);
}

} // namespace

std::optional<DirectConvAxis> directConvAxisOf(graph::ConvOp op, size_t i) {
  size_t rank = op.getStrides().size();
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  auto size = graph::getDims(op.getInput())[1 + i].asConstant();
  auto count = graph::getDims(op.getResult())[1 + i].asConstant();
  auto low = op.getPads()[i].asConstant();
  auto high = op.getPads()[rank + i].asConstant();
  // Far beyond all images; products of two are numbers yet.
  constexpr int64_t most = 1 << 24;
  auto fits = [](std::optional<int64_t> value) {
    return value && *value >= -most && *value <= most;
  };
  DirectConvAxis axis{
      0, 0, filter.getDimSize(2 + i), op.getStrides()[i], op.getDilations()[i],
      0};
  if (!fits(size) || !fits(count) || !fits(low) || !fits(high) ||
      !fits(axis.taps) || !fits(axis.stride) || !fits(axis.dilation))
    return std::nullopt;
  axis.size = *size;
  axis.count = *count;
  axis.low = *low;
  return axis;
}

int64_t DirectConvView::depth() const {
  int64_t depth = channels;
  for (const DirectConvAxis &axis : axes)
    depth *= axis.taps;
  return depth;
}

int64_t DirectConvView::blocksOfLines() const {
  return llvm::divideCeil(lines().count, blockLines);
}

int64_t DirectConvView::blocksOfImage() const {
  int64_t blocks = blocksOfLines() * blocksOfLine;
  for (const DirectConvAxis &axis : ArrayRef(axes).drop_back(2))
    blocks *= axis.count;
  return blocks;
}

int64_t DirectConvView::slabPixels() const {
  int64_t most = pixels().count;
  // Blocks end where tiles do.
  if (blocksOfLine > 1)
    most = std::min(most, most / blocksOfLine + 2 * maxTilePixels);
  return pixels().slabSize(most);
}

int64_t DirectConvView::outerTaps() const {
  int64_t taps = 1;
  for (const DirectConvAxis &axis : ArrayRef(axes).drop_back(2))
    taps = std::min<int64_t>(taps * axis.taps, int64_t(1) << 32);
  return taps;
}

int64_t DirectConvView::slabBytes() const {
  if (isInput)
    return 0;
  uint64_t elements = 4;
  for (int64_t size : {outerTaps(), slabLines(), slabPixels(), pixelStride})
    elements = llvm::SaturatingMultiply(elements, uint64_t(size));
  constexpr uint64_t most = uint64_t(1) << 62;
  return int64_t(std::min(elements, most)) + 64;
}

namespace {

/// Before it is cut.
std::optional<DirectConvView> uncutViewOf(graph::ConvOp op, std::string &why) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  DirectConvView view;
  view.groups = op.getGroup();
  view.channels = filter.getDimSize(1);
  view.maps = filter.getDimSize(0) / view.groups;
  view.layout = {panelWidth(view.maps), view.groups};
  view.panels = llvm::divideCeil(view.maps, view.layout.width);
  for (size_t i = 0; i < op.getStrides().size(); ++i) {
    std::optional<DirectConvAxis> axis = directConvAxisOf(op, i);
    if (!axis) {
      why = "heights, widths or pads are not numbers";
      return std::nullopt;
    }
    view.axes.push_back(*axis);
  }
  if (llvm::any_of(view.axes, [](auto &axis) { return axis.count < 1; })) {
    why = "its result is empty";
    return std::nullopt;
  }
  int64_t all = 1;
  for (const DirectConvAxis &axis : view.axes)
    if (__builtin_mul_overflow(all, axis.count, &all)) {
      why = "its sizes overflow";
      return std::nullopt;
    }
  // Pixels that lie half a page apart or more meet in the same few sets of the
  // caches: in a slab, there is some room between them.
  int64_t channels = view.groups * view.channels;
  view.isInput = llvm::all_of(view.axes, isMatrix);
  bool liesApart = channels * view.axes.back().slabStride() % 512 == 0;
  view.pixelStride = channels + (liesApart && !view.isInput ? 16 : 0);
  view.imageAxes = view.axes;
  view.isFlat = llvm::all_of(view.axes, hasOneTap);
  if (view.isFlat)
    flatten(view);
  else if (view.axes.size() == 1)
    view.axes.insert(view.axes.begin(), DirectConvAxis{1, 1, 1, 1, 1, 0});
  return view;
}

} // namespace

std::optional<DirectConvView> directConvViewOf(graph::ConvOp op,
                                               std::string &why) {
  std::optional<DirectConvView> uncut = uncutViewOf(op, why);
  if (!uncut)
    return std::nullopt;
  DirectConvView view = *uncut;
  if (view.groups == 1 &&
      view.pixels().count < (view.isFlat ? shortFlat : shortLine)) {
    why = "its lines are short";
    return std::nullopt;
  }
  cut(view);
  if (view.slabBytes() > maxLineSlabBytes) {
    why = "what a line reads does not fit the cache";
    return std::nullopt;
  }
  if (view.groups == 1 && view.copiesLinesBetween()) {
    why = "its taps lie many lines apart";
    return std::nullopt;
  }
  return view;
}

std::optional<DirectConvView> smallConvViewOf(graph::ConvOp op,
                                              std::string &why) {
  constexpr int64_t minPixels = 16, maxPixels = 128, maxBytes = 512 << 10;
  std::optional<DirectConvView> uncut = uncutViewOf(op, why);
  if (!uncut)
    return std::nullopt;
  DirectConvView view = *uncut;
  if (view.groups != 1 || view.axes.size() != 2) {
    why = "it has groups or three spatial axes";
    return std::nullopt;
  }
  int64_t pixels = view.lines().count * view.pixels().count;
  if (pixels < minPixels || pixels > maxPixels) {
    why = "its images do not have 16 to 128 pixels";
    return std::nullopt;
  }
  if (view.isInput && view.pixelStride % 1024 == 0) {
    view.isInput = false;
    view.pixelStride += 16;
  }
  view.blockLines = view.lines().count;
  view.blocksOfLine = 1;
  view.isResident = false;
  view.cutsPanels = true;
  view.panelParts = panelPartsOf(view.panels, pixels / leastPixels);
  view.inputBytes =
      view.isInput ? pixels * view.channels * 4 : view.slabBytes();
  if (view.inputBytes > maxBytes) {
    why = "what an image reads does not fit the cache";
    return std::nullopt;
  }
  view.blockImages = std::clamp<int64_t>(
      maxBytes / std::max<int64_t>(view.inputBytes, 1), 1, 4);
  return view;
}

} // namespace tenon::kernel
