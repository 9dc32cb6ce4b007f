//===- LineConvView.cpp - Convolutions that read lines of an image --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/LineConvView.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/PanelParts.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Pixels of a block, and bytes of its slab, which the second level of the
/// cache holds beside a filter.
constexpr int64_t blockPixels = 256, maxSlabBytes = 512 << 10;
/// Runs of a window: where they begin is stored for each piece.
constexpr int64_t mostRuns = 128;
/// Elements of a pixel whose products are soon done: of smaller blocks, what is
/// read and written then stays in the first level from panel to panel.
constexpr int64_t shallow = 64;
/// A filter that does not stay there, and what images read that share it.
constexpr int64_t largeFilterBytes = 2 << 20, maxImagesBytes = 768 << 10;
/// A panel of f32 that tiles read again and again; parts of one, and pixels of
/// a block whose sums wait for the next part.
constexpr int64_t maxWidePanelBytes = 512 << 10;
constexpr int64_t mostWidenedParts = 5, mostWaitingPixels = 512;
/// Of fewer pixels in a unit, products wait for a panel to be loaded.
constexpr int64_t fewPixels = 9;
/// As many make a unit that is as good as a full one.
constexpr int64_t leastFullPixels = 12;
/// Threads that share work better are worth more copies.
constexpr double even = 1.04;

/// The largest equal parts of a run that matrix units take at once; 0 where
/// they would take a half of what they can.
int64_t stepOf(int64_t run) {
  if (run <= LineConvView::mostElements)
    return run;
  for (int64_t step = LineConvView::mostElements;
       2 * step > LineConvView::mostElements; --step)
    if (run % step == 0)
      return step;
  return 0;
}

/// Pixels of lines that an image without windows is cut into; 0 where they
/// would fill units badly.
int64_t flatLine(int64_t pixels) {
  for (int64_t line = LineConvView::mostPixels; line >= leastFullPixels; --line)
    if (pixels % line == 0)
      return line;
  return pixels <= blockPixels ? pixels : 0;
}

/// Whether equal units of a line have at most one pixel in twelve twice, and
/// enough of them.
bool fillsUnits(int64_t pixels) {
  int64_t units = llvm::divideCeil(pixels, LineConvView::mostPixels);
  int64_t each = llvm::divideCeil(pixels, units);
  return each >= leastFullPixels &&
         (units * each - pixels) * leastFullPixels <= pixels;
}

/// How much longer two threads take for an image that is cut into blocks of so
/// many lines than if they shared its work evenly: one has the first half of
/// all panels of blocks.
double unevenness(const DirectConvView &view, int64_t blockLines) {
  if (view.groups > 1 || view.axes.size() > 2)
    return 1; // They share groups, or depths.
  int64_t lines = view.lines().count, panels = view.panels;
  PanelCut columns = {view.maps, /*isEven=*/true};
  int64_t all = llvm::alignTo(view.maps, 16);
  int64_t half = llvm::divideCeil(lines, blockLines) * panels / 2;
  int64_t whole = half / panels * blockLines, rest = half % panels;
  int64_t first =
      whole * all + std::min(blockLines, lines - whole) * columns.first(rest);
  return double(std::max(first, lines * all - first)) / (lines * all / 2);
}

/// Equal blocks of lines, of some pixels: of few blocks some more, where two
/// threads share those more evenly. Units may take several short lines, of
/// whole images.
void cut(DirectConvView &view, int64_t wanted) {
  int64_t lines = view.lines().count;
  int64_t most = std::max<int64_t>(wanted / view.pixels().count, 1);
  auto linesOf = [&](int64_t blocks) {
    return int64_t(llvm::divideCeil(lines, blocks));
  };
  int64_t fewest = llvm::divideCeil(lines, most);
  view.blockLines = linesOf(fewest);
  double best = unevenness(view, view.blockLines);
  for (int64_t blocks = fewest + 1;
       best > even && view.pixels().count >= fewPixels && blocks <= 2 * fewest;
       ++blocks)
    if (double each = unevenness(view, linesOf(blocks)); each < best) {
      best = each;
      view.blockLines = linesOf(blocks);
    }
  while (view.blockLines > 1 && view.slabBytes() > maxSlabBytes)
    view.blockLines = linesOf(llvm::divideCeil(lines, view.blockLines - 1));
}

/// Blocks of an even number of lines, or of all: as many or fewer, of up to
/// twice the size, that two threads share best. Whether there are any.
bool cutEvenly(DirectConvView &view) {
  int64_t lines = view.lines().count;
  int64_t most = llvm::divideCeil(lines, view.blockLines);
  std::optional<int64_t> best;
  double least = 0;
  for (int64_t blocks = most; blocks > 0 && 2 * blocks >= most; --blocks) {
    view.blockLines = llvm::divideCeil(lines, blocks);
    if (blocks > 1)
      view.blockLines = llvm::alignTo(view.blockLines, 2);
    double each = unevenness(view, view.blockLines);
    if (view.slabBytes() > maxSlabBytes || (best && each >= least))
      continue;
    best = view.blockLines;
    least = each;
  }
  view.blockLines = best.value_or(view.blockLines);
  return best.has_value();
}

/// Cuts a block of lines into units.
void cutIntoUnits(LineConvView &view) {
  const DirectConvAxis &lines = view.slab.lines(), &pixels = view.slab.pixels();
  view.unitsOfLine = llvm::divideCeil(pixels.count, LineConvView::mostPixels);
  view.unitPixels = llvm::divideCeil(pixels.count, view.unitsOfLine);
  view.unitLines = 1;
  int64_t line = view.lineStride(), pixel = view.pixelStride();
  bool isWhole = view.slab.blockLines == lines.count;
  if (view.unitsOfLine == 1 && isWhole && line % pixel == 0)
    view.unitLines = std::clamp<int64_t>(
        (LineConvView::mostPixels - pixels.count) / (line / pixel) + 1, 1,
        lines.count);
}

} // namespace

int64_t LineConvView::lineSize() const {
  return (slab.isInput ? slab.pixels().size : slab.slabPitch()) * slab.channels;
}

bool LineConvView::runsOn() const {
  int64_t lines = slab.lines().count, block = slab.blockLines;
  int64_t last = (lines - 1) % block + 1;
  if (lineStride() % pixelStride() != 0 || placesOf(last) < mostPixels)
    return false;
  int64_t running = llvm::divideCeil(placesOf(block), mostPixels);
  return running < unitsOfLine * int64_t(llvm::divideCeil(block, unitLines));
}

int64_t LineConvView::imageStride() const {
  return slab.isInput ? slab.lines().size * lineSize() : slab.slabBytes() / 4;
}

int64_t LineConvView::pixelReach() const {
  const DirectConvAxis &pixels = slab.pixels();
  int64_t last = (pixels.count - 1) * strideOf(pixels) +
                 (pixels.taps - 1) * pixels.dilation;
  return (last + 1) * slab.channels;
}

int64_t LineConvView::lineReach() const {
  const DirectConvAxis &lines = slab.lines();
  return (lines.taps - 1) * lines.dilation * lineSize() + pixelReach();
}

int64_t LineConvView::scratchBytes() const {
  constexpr int64_t element = 4; // Of f16; else it is twice as much.
  int64_t image = blockElements(), panel = panelDepth() * panelColumns;
  int64_t parts = widenedParts();
  if (depth.hasQuads && parts == 0)
    return slabBytes();
  int64_t wide = 2 * (image + (parts > 0 ? panel / parts : 0));
  int64_t all = slabBytes() + element * std::max(wide, image + panel);
  return winograd ? std::max(all, winograd->scratchBytes()) : all;
}

int64_t LineConvView::widenedParts() const {
  int64_t bytes = 8 * panelDepth() * panelColumns, taps = slab.lines().taps;
  if (bytes <= maxWidePanelBytes)
    return 1;
  bool mayWait = depth.hasPairs && taps <= mostWidenedParts &&
                 slab.axes.size() == 2 &&
                 slab.blockImages * slab.blockLines * slab.pixels().count <=
                     mostWaitingPixels;
  return mayWait && bytes <= taps * maxWidePanelBytes ? taps : 0;
}

int64_t LineConvView::blockElements() const {
  return (slab.blockImages - 1) * imageStride() +
         (slab.outerTaps() - 1) * outerStride() +
         (slab.blockLines - 1) * lineStride() + lineReach();
}

SmallVector<int64_t> LineConvView::runStarts() const {
  SmallVector<int64_t> starts;
  const DirectConvAxis &lines = slab.lines(), &pixels = slab.pixels();
  // Where the last axis is dilated, each of its taps is a run.
  for (int64_t outer = 0; outer < slab.outerTaps(); ++outer)
    for (int64_t line = 0; line < lines.taps; ++line)
      for (int64_t run = 0; run < runsOfLine(); ++run)
        starts.push_back(outer * outerStride() +
                         line * lines.dilation * lineSize() +
                         run * pixels.dilation * slab.channels);
  return starts;
}

/// Of a convolution of such a depth.
static std::optional<LineConvView> viewOf(graph::ConvOp op,
                                          const ConvDepth &depth,
                                          std::string &why, bool byWinograd) {
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  LineConvView view{depth, {}, 0, 0, 0, 0, false, false};
  std::optional<IntegerConvView> bytes = integerConvViewOf(op);
  if (!view.depth.hasPairs && !bytes)
    return refuse("its operands are neither pairs of bf16 nor bytes");
  if (bytes && bytes->needsRowSums())
    return refuse("its filter is of ui8 or has zero points");
  if (bytes && view.depth.channels % quadSteps != 0)
    return refuse("channels are no multiple of four");
  size_t axes = op.getStrides().size();
  if (axes < 1)
    return refuse("it has no spatial axis");
  view.step = stepOf(view.depth.run);
  if (view.step == 0)
    return refuse("a line of its windows has no parts that fill matrix units");
  if (view.depth.lines > mostRuns)
    return refuse("its windows have many lines");
  DirectConvView &slab = view.slab;
  if (axes == 1)
    slab.axes.push_back({1, 1, 1, 1, 1, 0});
  for (size_t i = 0; i < axes; ++i) {
    std::optional<DirectConvAxis> axis = directConvAxisOf(op, i);
    if (!axis)
      return refuse("heights, widths or pads are not numbers");
    slab.axes.push_back(*axis);
  }
  int64_t all = 1;
  for (const DirectConvAxis &axis : slab.axes)
    if (axis.count < 1)
      return refuse("its result is empty");
    else if (__builtin_mul_overflow(all, axis.count, &all))
      return refuse("its sizes overflow");
  slab.groups = op.getGroup() / mergedGroups(op);
  slab.hasOneGroup = true;
  slab.channels = slab.pixelStride =
      view.depth.channels / (bytes ? quadSteps : 1);
  slab.maps = cast<RankedTensorType>(op.getFilter().getType()).getDimSize(0) /
              slab.groups;
  int64_t elements;
  if (__builtin_mul_overflow(all, slab.allMaps(), &elements))
    return refuse("its sizes overflow");
  slab.panels = llvm::divideCeil(slab.maps, panelColumns);
  int64_t filterBytes =
      slab.panels * panelColumns * view.depth.depth() * int64_t(4);
  view.fetchesFilter = filterBytes > largeFilterBytes;
  view.isFlat = view.depth.isMatrix;
  if (view.isFlat) {
    int64_t line = flatLine(all);
    // Such lines as there are may be good enough.
    view.isFlat = line > 0;
    bool fillsLines = axes < 3 && fillsUnits(slab.pixels().count);
    if ((line == 0 && !fillsLines) || view.fetchesFilter)
      return refuse("its windows are a matrix as they lie");
    if (view.isFlat)
      slab.axes = {{all / line, all / line, 1, 1, 1, 0},
                   {line, line, 1, 1, 1, 0}};
  }
  if (axes == 1 && !view.isFlat && slab.groups == 1 &&
      slab.pixels().count > blockPixels)
    return refuse("its line is long");
  bool isDeep = slab.axes.size() > 2;
  if (isDeep && view.fetchesFilter)
    return refuse("its filter is large, and it has three spatial axes");
  const DirectConvAxis &lines = slab.lines(), &pixels = slab.pixels();
  slab.isFlat = false;
  // Lines of single taps that have been copied follow each other.
  bool isShort = pixels.count < fewPixels;
  bool isAsRead = !bytes || !bytes->input.isSigned();
  slab.isInput = lines.isInside() && pixels.isInside() && !isShort &&
                 isAsRead && slab.groups == 1 && !isDeep;
  slab.blocksOfLine = 1;
  slab.sharesPads = !slab.isInput && pixels.stride == 1;
  bool isShallow = view.isFlat && view.depth.depth() <= shallow;
  cut(slab, isShallow ? blockPixels / 2 : blockPixels);
  if (byWinograd && (slab.groups > 1 || axes != 2))
    return refuse("it has several groups, or not two spatial axes");
  if (byWinograd && !cutEvenly(slab))
    return refuse("what two lines read does not fit the cache");
  if (slab.slabBytes() > maxSlabBytes)
    return refuse("what a line reads does not fit the cache");
  if (slab.copiesLinesBetween())
    return refuse("its taps lie many lines apart");
  cutIntoUnits(view);
  // Groups have no other kernel of pairs.
  if (slab.groups == 1 && view.unitLines * view.unitPixels < fewPixels)
    return refuse("its lines are short");
  if (view.fetchesFilter && slab.blockLines == lines.count)
    slab.blockImages =
        std::clamp<int64_t>(maxImagesBytes / (4 * view.imageStride()), 1, 8);
  view.isUneven = slab.blockLines == lines.count &&
                  lines.count >= 2 * view.unitLines &&
                  unevenness(slab, slab.blockLines) > even;
  // Matrix registers take two units at once.
  int64_t units =
      view.unitsOfLine * llvm::divideCeil(slab.blockLines, view.unitLines);
  view.panelParts =
      panelPartsOf(view.blocksOfImage() * view.panels(),
                   std::max<int64_t>(units / 2, view.isUneven + 1));
  if (!byWinograd)
    return view;
  if (!view.depth.hasPairs)
    return refuse("its operands are not pairs of bf16");
  if (slab.blockImages > 1)
    return refuse("several images share its filter");
  view.winograd =
      winogradViewOfPairs(op, slab.blockLines, view.panelParts, why);
  if (!view.winograd)
    return std::nullopt;
  return view;
}

std::optional<LineConvView> lineConvViewOf(graph::ConvOp op, std::string &why,
                                           bool byWinograd) {
  return viewOf(op, ConvDepth(op), why, byWinograd);
}

bool canConvolveGroups(graph::ConvOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!op.getChannelsLast() || !filter.hasStaticShape() ||
      filter.getNumElements() == 0 || mergedGroups(op) == 0)
    return false;
  // Groups of one or two channels and maps: others' channels would be most of
  // what is multiplied. In f32 they have tiles of their own.
  constexpr int64_t fewChannels = 2;
  int64_t channels = filter.getDimSize(1);
  if (channels <= fewChannels &&
      filter.getDimSize(0) == int64_t(op.getGroup()) * channels)
    return false;
  std::string why;
  return viewOf(op, ConvDepth(op, /*hasPairs=*/true), why, /*byWinograd=*/false)
      .has_value();
}

} // namespace tenon::kernel
