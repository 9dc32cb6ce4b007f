//===- LineSums.cpp - Sums of pixels that lie in lines --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/LineSums.h"
#include "compiler/Targets/Cpu/AmxLines.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/VectorStrip.h"
#include "dialects/Kernel/MatmulView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::DirectConvView;
using kernel::LineConvView;
using kernel::panelColumns;

namespace {

/// Steps between which a tile fetches (see ConvTile.h).
constexpr int64_t unroll = 4;
/// A filter that stays in the cache while blocks pass.
constexpr int64_t residentBytes = 512 << 10;
/// Steps of a tap that are worth leaving out for some of a tile's pixels.
constexpr int64_t fewestSteps = 16;
/// Pixels of a line that are enough for a tile.
constexpr int64_t fewestTileRows = 6;

bool addsUpInF16(const CpuLevel &level, graph::ConvOp op,
                 const LineConvView &view) {
  // Behind few steps, to widen sums takes longer than it spares.
  return level.f16Fma != F16Fma::None && view.depth.run >= 2 * fewestSteps &&
         op->hasAttr(kernel::addsF16Attribute);
}

StripKind kindOf(const CpuLevel &level, const LineConvView &view,
                 const LineMethod &method) {
  if (view.depth.hasQuads)
    return method.widens ? StripKind::Words : StripKind::Quads;
  if (level.pairDots != PairDots::None)
    return StripKind::Pairs;
  if (!method.widens)
    return StripKind::F16Pairs;
  return method.widensFilter ? StripKind::F32 : StripKind::Widened;
}

/// How long tiles of at most so many rows take for a unit, in rows: with fewer
/// than five, sums wait for multiply-adds.
double costOfTiles(int64_t pixels, int64_t rows) {
  constexpr int64_t fewest = 5;
  constexpr double call = 0.3;
  int64_t count = llvm::divideCeil(pixels, rows);
  double cost = count * call;
  for (int64_t i = 0; i < count; ++i)
    cost += std::max((i + 1) * pixels / count - i * pixels / count, fewest);
  return cost;
}

/// Lines of what tiles of few rows are cut from: short ones do not fill them.
/// Of single lines, taps beside the image are left out.
int64_t linesOfTiles(const LineConvView &view, int64_t rows) {
  constexpr int64_t mostPixels = 64;
  const kernel::DirectConvAxis &lines = view.slab.lines();
  int64_t block = view.slab.blockLines, pixels = view.unitPixels;
  if (view.unitsOfLine > 1)
    return 1;
  int64_t last = (lines.count - 1) % block + 1, best = 1;
  double least = block * costOfTiles(pixels, rows);
  if (!lines.isInside())
    least *= 1 - 2.0 / 3 / double(lines.count);
  for (int64_t high = 2; high <= last && high * pixels <= mostPixels; ++high) {
    double cost = double(llvm::divideCeil(block, high)) *
                  costOfTiles(high * pixels, rows);
    if (cost >= least)
      continue;
    least = cost;
    best = high;
  }
  return best;
}

int64_t unitLinesOf(const CpuLevel &level, const LineConvView &view,
                    const LineMethod &method) {
  if (!method.hasUnit && level.vectorBits < 512)
    return linesOfTiles(view, vectorStripRows(level, method.kind));
  return method.hasUnit || view.unitPixels < fewestTileRows ? view.unitLines
                                                            : 1;
}

} // namespace

LineMethod::LineMethod(const CpuLevel &level, graph::ConvOp op,
                       const LineConvView &view)
    : widens(view.depth.hasQuads ? !level.quadDots && view.widenedParts() > 0
                                 : level.pairDots == PairDots::None &&
                                       !addsUpInF16(level, op, view)),
      widensFilter(widens && view.widenedParts() > 0 &&
                   (view.depth.hasQuads || level.vectorBits < 512)),
      kind(kindOf(level, view, *this)), hasUnit(usesAmx(level, kind)),
      runsOn(hasUnit && view.runsOn()),
      unitLines(unitLinesOf(level, view, *this)),
      unitRows(runsOn ? LineConvView::mostPixels : view.unitRows()),
      depthParts(widensFilter ? view.widenedParts() : 1) {}

LineSums::LineSums(Emitter &e, graph::ConvOp op, const LineConvView &view,
                   const LineMethod &method)
    : e(e), op(op), view(view), depth(view.depth), method(method) {
  int64_t units = method.depthParts > 1 ? unitsOfBlock() : 1;
  sums = onStack(
      e, e.b.getF32Type(),
      std::max(2 * method.unitRows * panelColumns, units * unitElements()));
  if (method.hasUnit)
    starts = onStack(e, e.b.getI64Type(), depth.lines);
}

void LineSums::begin() {
  if (!method.hasUnit)
    return;
  for (auto [run, start] : llvm::enumerate(view.runStarts()))
    e.storeRaw(e.number(4 * start), starts, e.number(int64_t(run)));
  AmxUnit::shape(e.b, e.level, e.number(method.unitRows),
                 e.number(4 * view.step),
                 /*below=*/true);
}

void LineSums::end() {
  if (method.hasUnit)
    AmxUnit::release(e.b, e.level);
}

/// What a unit's first pixel reads under the first tap.
Value LineSums::startOf(const LineBlock &block, const LineUnit &unit) {
  Value image = e.mul(unit.image, e.number(view.imageStride()));
  Value line = e.mul(unit.line, e.number(view.lineStride()));
  Value pixel = e.mul(unit.pixel, e.number(view.pixelStride()));
  Value offset = e.add(image, e.add(line, pixel));
  return stepsBehind(block.read, offset);
}

/// So many elements of the image behind an address in what tiles read.
Value LineSums::stepsBehind(Value from, Value count) {
  return element(from, e.mul(count, e.number(method.imageParts())));
}

/// The row of the result of its first pixel.
Value LineSums::rowOf(const LineBlock &block, const LineUnit &unit) {
  const DirectConvView &slab = view.slab;
  Value row = e.add(block.firstImage, unit.image);
  for (auto [axis, index] : llvm::zip(slab.axes, block.outer))
    row = e.add(e.mul(row, e.number(axis.count)), index);
  row = e.mul(row, e.number(slab.lines().count));
  row = e.add(row, e.add(block.firstLine, unit.line));
  return e.add(e.mul(row, e.number(slab.pixels().count)), unit.pixel);
}

void LineSums::emitTwo(const LineBlock &block, ArrayRef<LineUnit> units,
                       const LinePanels &panels, int64_t columns) {
  Value first = starts, runs = e.number(depth.lines), b = panels.b;
  if (TapRange taps = outerTapsOf(block); taps.count) {
    int64_t ofTap = depth.lines / view.slab.outerTaps();
    runs = e.mul(taps.count, e.number(ofTap));
    Value before = e.mul(taps.first, e.number(ofTap));
    first = byte(starts, e.mul(before, e.number(8)));
    b = element(b, e.mul(before, e.number(depth.run * panelColumns)));
  }
  SmallVector<Value> operands = {startOf(block, units[0]),
                                 startOf(block, units[1]),
                                 e.number(4 * view.pixelStride()),
                                 first,
                                 runs,
                                 e.number(depth.run / view.step),
                                 b,
                                 sums,
                                 e.number(4 * panelColumns),
                                 e.number(method.unitRows)};
  if (view.fetchesFilter) {
    // Whole lines of the cache, by tiles of two units.
    Value tiles = e.ceilDiv(panels.units, e.number(2));
    Value each = e.min(e.ceilDiv(e.number(3 * view.step), tiles),
                       e.number(amxFetchedLines));
    int64_t steps = depth.depth() / view.step;
    Value before = e.mul(e.div(panels.number, e.number(2)),
                         e.mul(each, e.number(steps * 16)));
    operands.push_back(element(panels.next, before));
    operands.push_back(e.mul(each, e.number(64)));
  }
  LLVM::CallOp::create(e.b,
                       amxLinesFunction(e.module, e.level,
                                        {depth.hasQuads, view.step, columns,
                                         view.fetchesFilter}),
                       operands);
}

/// Rows of a tile whose sums, with a row of the panel and one element of the
/// image, fill the registers.
int64_t LineSums::mostTileRows(int64_t columns) const {
  constexpr int64_t all = 8, registers = 28;
  int64_t least = vectorStripRows(e.level, method.kind);
  int64_t vectors = llvm::divideCeil(columns, 16);
  // Both halves of a row take some.
  bool areHalves = method.kind == StripKind::Widened;
  int64_t sums = areHalves ? registers + 2 - 2 * vectors : registers;
  if (e.level.vectorBits < 512 || (least < all && !areHalves))
    return least;
  return std::min<int64_t>(sums / vectors, LineConvView::mostPixels);
}

int64_t LineSums::unitElements() const {
  return method.unitLines * view.unitPixels * panelColumns;
}

int64_t LineSums::unitsOfBlock() const {
  return view.slab.blockImages * view.unitsOfLine *
         llvm::divideCeil(view.slab.blockLines, method.unitLines);
}

/// The sums of a unit by tiles of vectors, of its pixels alone.
void LineSums::emitTiles(const LineBlock &block, const LineUnit &unit,
                         const LinePanels &panels, int64_t columns) {
  int64_t pixels = method.unitLines * view.unitPixels;
  int64_t count = llvm::divideCeil(pixels, mostTileRows(columns));
  const kernel::DirectConvAxis &lines = view.slab.lines();
  // Where both sides are widened, all distances of the tile are twice as far.
  int64_t each = method.filterParts();
  ConvTile tile;
  tile.kind = method.kind;
  tile.width = panelColumns;
  tile.pixelStride = each * view.pixelStride();
  tile.run = each * depth.run;
  tile.accumulates = panels.part > 0;
  tile.loops = {
      {view.slab.outerTaps(), each * view.outerStride()},
      {lines.taps / method.depthParts, each * lines.dilation * view.lineSize()},
      {view.runsOfLine(),
       each * view.slab.pixels().dilation * view.slab.channels}};
  llvm::erase_if(tile.loops,
                 [](const TapLoop &loop) { return loop.taps == 1; });
  int64_t tiles = unitsOfBlock() * count;
  int64_t groups = depth.lines / method.depthParts * (tile.run / unroll);
  bool fetchesInput =
      view.slab.isInput && !method.copies() && groups > 0 &&
      view.panels() * view.panelDepth() * panelColumns * 4 <= residentBytes;
  int64_t inputBytes = view.slab.blockLines * view.lineStride() * 4;
  // So that the tiles of a block fetch the next panel; or where the filter
  // stays in the cache, all of its panels' tiles what the next block reads.
  tile.fetch =
      fetchesInput
          ? llvm::divideCeil(inputBytes, tiles * view.panels() * groups)
          : llvm::divideCeil(unroll * panelColumns * 4 / each, tiles);
  Value a =
      stepsBehind(startOf(block, unit),
                  e.number(panels.part * lines.dilation * view.lineSize()));
  Value b = panels.b;
  auto [start, taps] = tapsOf(block, unit);
  if (taps) {
    bool isOuter = view.slab.outerAxis() != nullptr;
    int64_t apart =
        isOuter ? view.outerStride() : lines.dilation * view.lineSize();
    int64_t all = isOuter ? view.slab.outerTaps() : lines.taps;
    a = stepsBehind(a, e.mul(start, e.number(apart)));
    int64_t ofTap = each * (depth.depth() / all) * panelColumns;
    b = element(b, e.mul(start, e.number(ofTap)));
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = i * pixels / count;
    tile.pixels = (i + 1) * pixels / count - first;
    int64_t line = first / view.unitPixels, pixel = first % view.unitPixels;
    if (method.unitLines > 1)
      tile.lines = {view.unitPixels, pixel, each * view.lineStride()};
    Value from = stepsBehind(
        a, e.number(line * view.lineStride() + pixel * view.pixelStride()));
    Value before = e.add(e.mul(panels.number, e.number(count)),
                         e.number(i + panels.part * tiles));
    Value next = panels.next;
    if (fetchesInput) {
      before = e.add(before, e.mul(panels.panel, e.number(tiles)));
      next = byte(block.base, e.number(inputBytes));
    }
    next = byte(next, e.mul(before, e.number(groups * tile.fetch)));
    Value row =
        e.add(rowOf(block, unit), e.number(line * view.unitPixels + pixel));
    Value at =
        e.add(e.mul(row, e.number(view.slab.allMaps())), panels.firstMap);
    if (panels.part == 0)
      fetchOperands(e, op, at, tile.pixels, columns);
    Value out = e.number(first * panelColumns);
    if (method.depthParts > 1)
      out = e.add(out, e.mul(panels.number, e.number(unitElements())));
    callTile(unit, first, tile,
             {from, b, element(sums, out), next, taps, block.scale},
             panels.part, columns);
  }
}

/// Products by zeros beside the image are left out; those by zero points are
/// not, for which sums of a filter's maps make up.
bool LineSums::mayLeaveOut() const {
  return !depth.hasQuads && !view.slab.isInput;
}

/// The taps of the axis before lines that read the image for a block; null
/// where no taps are left out.
TapRange LineSums::outerTapsOf(const LineBlock &block) {
  return mayLeaveOut() ? reachedOuterTaps(e, view.slab, block.outer)
                       : TapRange();
}

/// The same of a unit, or where there is no such axis, taps of lines.
TapRange LineSums::tapsOf(const LineBlock &block, const LineUnit &unit) {
  const kernel::DirectConvAxis &axis = view.slab.lines();
  if (view.slab.outerTaps() > 1)
    return outerTapsOf(block);
  if (!mayLeaveOut() || axis.taps == 1 || method.unitLines > 1 ||
      method.depthParts > 1 || axis.isInside())
    return {};
  return reachedTaps(e, axis, e.add(block.firstLine, unit.line));
}

/// Whether a unit is all of an image, whose taps of lines are parts.
bool LineSums::knowsPixels() const {
  const kernel::DirectConvAxis &lines = view.slab.lines();
  return mayLeaveOut() && method.depthParts > 1 &&
         method.unitLines == lines.count && view.unitsOfLine == 1;
}

/// A tile of them leaves out all products beside the image, and parts that have
/// no others; the first part with one begins its sums.
void LineSums::callKnownTile(int64_t first, ConvTile tile,
                             const ConvTilePlaces &places, int64_t part,
                             int64_t columns) {
  // A run is that of several taps, each enough for a loop.
  bool isByTap =
      depth.run > view.slab.channels && view.slab.channels >= fewestSteps;
  auto reachedIn = [&](int64_t part) {
    return reachedUnder(view.slab, first, tile.pixels, part, isByTap);
  };
  auto isRead = [&](int64_t part) {
    SmallVector<uint32_t> reached = reachedIn(part);
    return reached.empty() ||
           llvm::any_of(reached, [](uint32_t pixels) { return pixels != 0; });
  };
  tile.accumulates = llvm::any_of(llvm::seq(part), isRead);
  bool isLast = part + 1 == method.depthParts;
  if (!isRead(part) && (tile.accumulates || !isLast))
    return;
  tile.reached = reachedIn(part);
  callConvTile(e, tile, places, columns);
}

/// A tile from a pixel of its unit on; one at an end of a line leaves out
/// products.
void LineSums::callTile(const LineUnit &unit, int64_t first, ConvTile tile,
                        const ConvTilePlaces &places, int64_t part,
                        int64_t columns) {
  if (knowsPixels())
    return callKnownTile(first, tile, places, part, columns);
  const kernel::DirectConvAxis &axis = view.slab.pixels();
  int64_t pixel = first % view.unitPixels;
  int64_t lastUnit = axis.count - view.unitPixels;
  Value isElsewhere = arith::ConstantIntOp::create(e.b, 1, 1);
  auto callAt = [&](int64_t unitPixel) {
    SmallVector<int64_t> pixels;
    for (int64_t i = 0; i < tile.pixels; ++i)
      pixels.push_back(unitPixel + (pixel + i) % view.unitPixels);
    ConvTile some = tile;
    some.reached = reachedPixels(axis, pixels);
    if (some.reached.empty())
      return;
    Value isHere = e.equal(unit.pixel, e.number(unitPixel));
    e.ifThen(isHere, [&] { callConvTile(e, some, places, columns); });
    Value no = constantLike(e.b, e.b.getI1Type(), 0);
    isElsewhere = e.both(isElsewhere, e.equal(isHere, no));
  };
  // A run is that of several taps, each enough for a loop.
  int64_t channels = view.slab.channels;
  if (mayLeaveOut() && depth.run > channels && channels >= fewestSteps) {
    callAt(0);
    if (lastUnit > 0)
      callAt(lastUnit);
  }
  e.ifThen(isElsewhere, [&] { callConvTile(e, tile, places, columns); });
}

/// Addresses around a buffer are made, but not read.
Value LineSums::byte(Value base, Value offset) {
  return LLVM::GEPOp::create(e.b, base.getType(), e.b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value LineSums::element(Value base, Value offset) {
  return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

} // namespace tenon::cpu
