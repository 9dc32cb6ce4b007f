//===- LineConv.cpp - Convolutions that read lines of an image ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of lines or images: the slab, then per panel of maps all tiles of
// two units, whose sums go to the stack for what follows the convolution.
// Levels without AMX cut a unit into tiles of sums in vectors. Those that do
// not multiply pairs of bf16 read the image in f32: widened once for a block,
// that costs nothing where the tiles would do it for each panel again. Or pairs
// of f16 are made of the block, and of each panel of the filter before its
// tiles.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/LineConv.h"
#include "compiler/Targets/Cpu/AmxLines.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelParts.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/ReachedTaps.h"
#include "compiler/Targets/Cpu/VectorStrip.h"
#include "dialects/Kernel/LineConvView.h"
#include "dialects/Kernel/MatmulView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::DirectConvView;
using kernel::LineConvView;
using kernel::panelColumns;

/// Steps between which a tile fetches (see ConvTile.h).
constexpr int64_t unroll = 4;
/// A filter that stays in the cache while blocks pass.
constexpr int64_t residentBytes = 512 << 10;
/// Steps of a tap that are worth leaving out for some of a tile's pixels.
constexpr int64_t fewestSteps = 16;
/// Pixels of a line that are enough for a tile.
constexpr int64_t fewestTileRows = 6;

class LineConv {
public:
  LineConv(Emitter &e, graph::ConvOp op, const LineConvView &view)
      : e(e), op(op), view(view), depth(view.depth), rows(view.unitRows()),
        maps(view.slab.maps), kind(kindOf(e.level, op, view)),
        hasUnit(usesAmx(e.level, kind)),
        unitLines(hasUnit || view.unitPixels < fewestTileRows ? view.unitLines
                                                              : 1),
        parts(e, view.panels(), view.panelParts) {
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!view.slab.isInput || copies())
      slab = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    if (copies())
      block = e.atEntry([&] { return byte(slab, e.number(view.slabBytes())); });
    if (inF16()) {
      pairs = e.atEntry(
          [&] { return element(block, e.number(view.blockElements())); });
      factor = onStack(e.b.getF32Type(), 1);
    }
    sums = onStack(e.b.getF32Type(), 2 * rows * panelColumns);
    if (hasUnit)
      starts = onStack(e.b.getI64Type(), depth.lines);
    if (!depth.hasQuads)
      return;
    bytes = kernel::integerConvViewOf(op)->input;
    quads.emplace(e, op, depth, /*groupRows=*/0);
  }

  /// Rows [begin, end): block after block, of each some panels or parts of
  /// some.
  void emit() {
    if (hasUnit) {
      for (auto [run, start] : llvm::enumerate(view.runStarts()))
        e.storeRaw(e.number(4 * start), starts, e.number(int64_t(run)));
      AmxUnit::shape(e.b, e.level, e.number(rows), e.number(4 * view.step),
                     /*below=*/true);
    }
    parts.forEachBlock([&](Value number) {
      startBlock(number);
      lastPanel = e.sub(parts.endPanel(), e.number(1));
      e.loop(parts.beginPanel(), parts.endPanel(),
             [&](Value panel) { emitPanel(panel); });
    });
    if (hasUnit)
      AmxUnit::release(e.b, e.level);
  }

private:
  static StripKind kindOf(const CpuLevel &level, graph::ConvOp op,
                          const LineConvView &view) {
    if (view.depth.hasQuads)
      return StripKind::Quads;
    if (level.pairDots != PairDots::None)
      return StripKind::Pairs;
    // Behind few steps, to widen sums takes longer than it spares.
    bool isWorthIt = view.depth.run >= 2 * fewestSteps;
    return level.f16Fma != F16Fma::None && isWorthIt &&
                   op->hasAttr(kernel::addsF16Attribute)
               ? StripKind::F16Pairs
               : StripKind::Widened;
  }
  bool widens() const { return kind == StripKind::Widened; }
  bool inF16() const { return kind == StripKind::F16Pairs; }
  /// Whether tiles read what a block reads in another type.
  bool copies() const { return widens() || inF16(); }

  Value onStack(Type type, int64_t count) {
    return e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, LLVM::LLVMPointerType::get(e.b.getContext()), type,
          e.number(count), 64);
    });
  }

  /// The least number that makes no more blocks: behind one of 7 images, one of
  /// a single one would leave a thread without work. None is empty.
  Value imagesOfBlock(Value all) {
    if (view.slab.blockImages == 1)
      return e.number(1);
    return e.atEntry([&] {
      Value blocks = e.ceilDiv(all, e.number(view.slab.blockImages));
      return e.ceilDiv(all, e.max(blocks, e.number(1)));
    });
  }

  void startBlock(Value number) {
    locateBlock(number);
    if (copies())
      copyBlock();
  }

  /// What the block reads, as f32 or as f16.
  void copyBlock() {
    Value one = e.number(1), none = e.number(0);
    Value last = e.mul(e.sub(images, one), e.number(view.imageStride()));
    last = e.add(last, e.mul(e.sub(lines, one), e.number(view.lineStride())));
    Value count = e.add(last, e.number(view.lineReach()));
    Matrix whole = {base, none, one, /*isHalf=*/true};
    if (widens())
      return widenLhs(e, whole, block, none, one, e.mul(count, e.number(2)));
    // What lies between lines was not written.
    const kernel::DirectConvAxis &axis = view.slab.lines();
    Value read = e.add(
        e.mul(e.sub(lines, one), e.number(view.lineStride() / view.lineSize())),
        e.number((axis.taps - 1) * axis.dilation + 1));
    auto elements = [&](int64_t pairs) { return e.number(2 * pairs); };
    callRoundBlock(e, {base, elements(view.imageStride()), images,
                       elements(view.lineSize()), read,
                       elements(view.pixelReach()), block,
                       e.mul(count, e.number(2)), factor});
    scale = e.loadRaw(factor, e.b.getF32Type(), none);
  }

  void locateBlock(Value number) {
    const kernel::DirectConvAxis &axis = view.slab.lines();
    Value blocks = e.number(view.blocksOfImage());
    Value all = e.dimsOf(op.getResult())[0], most = imagesOfBlock(all);
    firstImage = e.mul(e.div(number, blocks), most);
    images = e.min(most, e.sub(all, firstImage));
    firstLine = e.mul(e.rem(number, blocks), e.number(view.slab.blockLines));
    lines = e.min(e.number(view.slab.blockLines),
                  e.sub(e.number(axis.count), firstLine));
    base = slab;
    if (!view.slab.isInput)
      return e.loop(e.number(0), images, [&](Value i) {
        Value to = element(slab, e.mul(i, e.number(view.imageStride())));
        ConvSlab(e, view.slab, input, to, bytes ? &*bytes : nullptr)
            .copy({{e.add(firstImage, i)},
                   firstLine,
                   lines,
                   e.number(0),
                   e.number(view.slab.pixels().count)});
      });
    Value line = e.add(
        e.mul(firstImage, e.number(axis.size)),
        e.sub(e.mul(firstLine, e.number(axis.stride)), e.number(axis.low)));
    Value left = e.number(view.slab.pixels().low * view.slab.channels);
    base = element(input, e.sub(e.mul(line, e.number(view.lineSize())), left));
  }

  void emitPanel(Value panel) {
    kernel::PanelCut cut = view.cut();
    int64_t last = cut.count() - 1;
    // The first one that differs from those before it.
    int64_t different = cut.moved() > 0 ? last - 1 : last;
    firstMap = e.mul(panel, e.number(panelColumns));
    if (cut.width(last) == panelColumns)
      return emitColumns(panel, panelColumns);
    if (different > 0)
      e.ifThen(e.less(panel, e.number(different)),
               [&] { emitColumns(panel, panelColumns); });
    for (int64_t i = different; i <= last; ++i)
      e.ifThen(e.equal(panel, e.number(i)), [&] {
        firstMap = e.number(cut.first(i));
        emitColumns(panel, cut.width(i));
      });
  }

  struct Unit {
    Value image, line, pixel; // The first ones, in the block.
    // Of its lines and pixels, those that are not the unit's before it.
    Value firstLine, firstPixel;
  };

  /// Where a unit of so many begins, of `size` of `count`; and how far before
  /// the end of the one before it.
  std::pair<Value, Value> placeOf(Value number, int64_t size, Value count) {
    Value from = e.mul(number, e.number(size));
    Value place = e.min(from, e.sub(count, e.number(size)));
    return {place, e.sub(from, place)};
  }

  Unit unitOf(Value number, Value ofImage) {
    Value inLine = e.number(view.unitsOfLine), image = e.number(0);
    if (view.slab.blockImages > 1) {
      image = e.div(number, ofImage);
      number = e.rem(number, ofImage);
    }
    auto [line, firstLine] = placeOf(e.div(number, inLine), unitLines, lines);
    auto [pixel, firstPixel] = placeOf(e.rem(number, inLine), view.unitPixels,
                                       e.number(view.slab.pixels().count));
    return {image, line, pixel, firstLine, firstPixel};
  }

  void emitColumns(Value panel, int64_t columns) {
    Value b = packed(panel);
    if (inF16()) {
      pairsToF16(e, b, pairs, e.number(view.panelDepth()));
      b = pairs;
    }
    Value high = e.number(unitLines);
    Value ofImage = e.mul(e.ceilDiv(lines, high), e.number(view.unitsOfLine));
    Value units = e.mul(images, ofImage);
    Value next = packed(e.min(e.add(panel, e.number(1)), lastPanel));
    auto [from, to] = parts.ofPanel(panel, units);
    if (!hasUnit)
      return e.loop(from, to, [&](Value number) {
        Unit unit = unitOf(number, ofImage);
        emitTiles(unit, {panel, b, next, number, units}, columns);
        emitBehind(unit, panel, columns, e.number(0));
      });
    e.loop(
        from, to,
        [&](Value number) {
          // Behind an odd number, the last one is computed twice.
          Value second = e.add(number, e.number(1));
          Value isThere = e.less(second, to);
          second = e.select(isThere, second, number);
          Unit both[] = {unitOf(number, ofImage), unitOf(second, ofImage)};
          emitSums(both, {panel, b, next, number, units}, columns);
          emitBehind(both[0], panel, columns, e.number(0));
          e.ifThen(isThere, [&] {
            emitBehind(both[1], panel, columns, e.number(rows * panelColumns));
          });
        },
        /*step=*/2);
  }

  Value packed(Value panel) {
    return element(filter,
                   e.mul(panel, e.number(view.panelDepth() * panelColumns)));
  }

  /// A panel and the next one, of which units from `number` on of so many fetch
  /// their share.
  struct Panels {
    Value panel, b, next, number, units;
  };

  /// What a unit's first pixel reads under the first tap.
  Value startOf(const Unit &unit) {
    Value image = e.mul(unit.image, e.number(view.imageStride()));
    Value line = e.mul(unit.line, e.number(view.lineStride()));
    Value pixel = e.mul(unit.pixel, e.number(view.pixelStride()));
    Value offset = e.add(image, e.add(line, pixel));
    return stepsBehind(copies() ? block : base, offset);
  }

  /// So many elements of the image behind an address in what tiles read.
  Value stepsBehind(Value from, Value count) {
    return element(from, widens() ? e.mul(count, e.number(2)) : count);
  }

  /// The row of the result of its first pixel.
  Value rowOf(const Unit &unit) {
    const DirectConvView &slab = view.slab;
    Value row =
        e.mul(e.add(firstImage, unit.image), e.number(slab.lines().count));
    row = e.add(row, e.add(firstLine, unit.line));
    return e.add(e.mul(row, e.number(slab.pixels().count)), unit.pixel);
  }

  void emitSums(ArrayRef<Unit> units, const Panels &panels, int64_t columns) {
    SmallVector<Value> operands = {startOf(units[0]),
                                   startOf(units[1]),
                                   e.number(4 * view.pixelStride()),
                                   starts,
                                   e.number(depth.lines),
                                   e.number(depth.run / view.step),
                                   panels.b,
                                   sums,
                                   e.number(4 * panelColumns),
                                   e.number(rows)};
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
  int64_t mostTileRows(int64_t columns) {
    constexpr int64_t all = 8, registers = 28;
    int64_t least = vectorStripRows(e.level, kind);
    int64_t vectors = llvm::divideCeil(columns, 16);
    // Both halves of a row take some.
    int64_t sums = widens() ? registers + 2 - 2 * vectors : registers;
    if (e.level.vectorBits < 512 || (least < all && !widens()))
      return least;
    return std::min<int64_t>(sums / vectors, LineConvView::mostPixels);
  }

  int64_t unitsOfBlock() const {
    return view.slab.blockImages * view.unitsOfLine *
           llvm::divideCeil(view.slab.blockLines, unitLines);
  }

  /// The sums of a unit by tiles of vectors, of its pixels alone.
  void emitTiles(const Unit &unit, const Panels &panels, int64_t columns) {
    int64_t pixels = unitLines * view.unitPixels;
    int64_t count = llvm::divideCeil(pixels, mostTileRows(columns));
    const kernel::DirectConvAxis &lines = view.slab.lines();
    ConvTile tile;
    tile.kind = kind;
    tile.width = panelColumns;
    tile.pixelStride = view.pixelStride();
    tile.run = depth.run;
    tile.loops = {{lines.taps, lines.dilation * view.lineSize()},
                  {depth.lines / lines.taps,
                   view.slab.pixels().dilation * view.slab.channels}};
    llvm::erase_if(tile.loops,
                   [](const TapLoop &loop) { return loop.taps == 1; });
    int64_t tiles = unitsOfBlock() * count;
    int64_t groups = depth.lines * (depth.run / unroll);
    bool fetchesInput =
        view.slab.isInput && !copies() && groups > 0 &&
        view.panels() * view.panelDepth() * panelColumns * 4 <= residentBytes;
    int64_t inputBytes = view.slab.blockLines * view.lineStride() * 4;
    // So that the tiles of a block fetch the next panel; or where the filter
    // stays in the cache, all of its panels' tiles what the next block reads.
    tile.fetch =
        fetchesInput
            ? llvm::divideCeil(inputBytes, tiles * view.panels() * groups)
            : llvm::divideCeil(unroll * panelColumns * 4, tiles);
    Value a = startOf(unit), b = panels.b;
    auto [start, taps] = tapsOf(unit);
    if (taps) {
      a = stepsBehind(a, e.mul(start, e.number(tile.loops[0].stride)));
      int64_t each = depth.depth() / lines.taps * panelColumns;
      b = element(b, e.mul(start, e.number(each)));
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t first = i * pixels / count;
      tile.pixels = (i + 1) * pixels / count - first;
      int64_t line = first / view.unitPixels, pixel = first % view.unitPixels;
      if (unitLines > 1)
        tile.lines = {view.unitPixels, pixel, view.lineStride()};
      Value from = stepsBehind(
          a, e.number(line * view.lineStride() + pixel * view.pixelStride()));
      Value before = e.add(e.mul(panels.number, e.number(count)), e.number(i));
      Value next = panels.next;
      if (fetchesInput) {
        before = e.add(before, e.mul(panels.panel, e.number(tiles)));
        next = byte(base, e.number(inputBytes));
      }
      next = byte(next, e.mul(before, e.number(groups * tile.fetch)));
      Value row = e.add(rowOf(unit), e.number(line * view.unitPixels + pixel));
      Value at = e.add(e.mul(row, e.number(maps)), firstMap);
      fetchOperands(e, op, at, tile.pixels, columns);
      Value out = element(sums, e.number(first * panelColumns));
      callTile(unit, pixel, tile, {from, b, out, next, taps, scale}, columns);
    }
  }

  /// Products by zeros beside the image are left out; those by zero points are
  /// not, for which sums of a filter's maps make up.
  bool mayLeaveOut() const {
    return kind != StripKind::Quads && !view.slab.isInput;
  }

  /// The taps of lines that read the image for a unit; null where no taps
  /// are left out.
  TapRange tapsOf(const Unit &unit) {
    const kernel::DirectConvAxis &axis = view.slab.lines();
    if (!mayLeaveOut() || axis.taps == 1 || unitLines > 1 || axis.isInside())
      return {};
    return reachedTaps(e, axis, e.add(firstLine, unit.line));
  }

  /// A tile whose first pixel is that of a number in its unit; one at an end of
  /// a line leaves out products.
  void callTile(const Unit &unit, int64_t pixel, ConvTile tile,
                const ConvTilePlaces &places, int64_t columns) {
    const kernel::DirectConvAxis &axis = view.slab.pixels();
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

  /// Everything behind the convolution, for a unit whose sums are in `waits`.
  void emitBehind(const Unit &unit, Value panel, int64_t columns, Value waits) {
    Value mapSums =
        element(packed(panel), e.number(depth.depth() * panelColumns));
    Value image = e.add(firstImage, unit.image);
    Indices dims = e.dimsOf(op.getResult());
    int64_t rowsOfLine =
        hasUnit ? view.lineStride() / view.pixelStride() : view.unitPixels;
    e.loop(unit.firstLine, e.number(unitLines), [&](Value i) {
      Value line = e.add(e.add(firstLine, unit.line), i);
      Value before = e.mul(i, e.number(rowsOfLine));
      e.loop(unit.firstPixel, e.number(view.unitPixels), [&](Value j) {
        Indices index = {image, line, e.add(unit.pixel, j)};
        if (view.isFlat) {
          Value width = e.number(view.slab.pixels().count);
          Value inImage = e.add(e.mul(line, width), index[2]);
          index[1] = e.div(inImage, dims[2]);
          index[2] = e.rem(inImage, dims[2]);
        }
        Indices first = index;
        first.push_back(firstMap);
        Value row = e.mul(e.add(before, j), e.number(panelColumns));
        PanelRow panelRow = {index,
                             firstMap,
                             e.number(columns),
                             e.linearise(first, dims),
                             sums,
                             e.add(waits, row)};
        if (quads)
          return quads->storeRow(panelRow, /*inGroup=*/{}, mapSums);
        storePanelRow(e, op.getResult(), panelRow);
      });
    });
  }

  /// Addresses around a buffer are made, but not read.
  Value byte(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  Emitter &e;
  graph::ConvOp op;
  const LineConvView &view;
  const kernel::ConvDepth &depth;
  int64_t rows, maps; // Of a unit; of the convolution.
  StripKind kind;
  bool hasUnit;
  int64_t unitLines; // Of a matrix unit, or of what tiles are cut from.
  PanelParts parts;
  Value input, filter, slab, sums, starts;
  Value block; // What a block reads, if that is copied.
  // Of f16: a panel of the filter, and what sums are multiplied by.
  Value pairs, factor, scale;
  std::optional<kernel::IntegerFactor> bytes; // What quads are of.
  std::optional<QuadSums> quads;
  // Of the current block; what it reads begins at `base`.
  Value firstImage, images, firstLine, lines, base, lastPanel;
  Value firstMap; // Of the current panel.
};

} // namespace

LogicalResult emitLineConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  std::optional<LineConvView> view = kernel::lineConvViewOf(*op, why);
  if (!view)
    return e.kernel.emitOpError("cannot read lines of an image: ") << why;
  LineConv(e, *op, *view).emit();
  return success();
}

} // namespace tenon::cpu
