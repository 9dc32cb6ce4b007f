//===- DirectConv.cpp - Convolutions by tiles of pixels -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of the result: its slab, then per panel of maps the tiles of its
// lines. The sums of a tile wait on the stack, in the first level of the cache,
// for what follows the convolution; nothing of the result is read or written
// before.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/EvenTiles.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelParts.h"
#include "compiler/Targets/Cpu/ReachedTaps.h"
#include "compiler/Targets/Cpu/TurnedTile.h"
#include "dialects/Kernel/Kernel.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::DirectConvAxis;
using kernel::DirectConvView;

class DirectConv {
public:
  DirectConv(Emitter &e, graph::ConvOp op, const DirectConvView &view)
      : e(e), op(op), view(view), tail(kernel::channelTailOf(op)),
        isTurned(tail && tail->turn), width(view.layout.width),
        isRunOverTaps(view.groups == 1 && view.pixels().dilation == 1 &&
                      view.pixelStride == view.channels),
        tiles(tilesOf(e.level, view)) {
    auto bufferOf = [&](Value operand) {
      return e.argumentBuffer(cast<BlockArgument>(operand).getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!view.isInput)
      slab = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    int64_t waiting = kernel::maxTilePixels;
    if (isTurned)
      waiting = std::max(tilesOfRun() * mostPixels(), turnedSide);
    sums = onStack(e, e.b.getF32Type(), waiting * width);
  }

  /// Rows [begin, end): block after block, of each all panels or some.
  void emit() {
    PanelParts parts(e, view.panelsOfBlock(), view.panelParts);
    parts.forEachBlock([&](Value number) { emitBlock(number, parts); });
  }

private:
  static EvenTiles tilesOf(const CpuLevel &level, const DirectConvView &view) {
    int64_t width = view.layout.width;
    int64_t most = tilePixels(level, width, std::min(view.maps, width));
    // Pixels that lie pages apart share a set of the first level.
    if (view.isInput && view.pixelStride % 1024 == 0)
      most = std::min<int64_t>(most, level.cacheWays);
    int64_t pixels = view.pixels().count;
    return {pixels, int64_t(llvm::divideCeil(pixels, most))};
  }

  void emitBlock(Value number, const PanelParts &parts) {
    Indices sizes = {e.number(0)}; // Of images, which is not asked for.
    for (const DirectConvAxis &axis : ArrayRef(view.axes).drop_back(2))
      sizes.push_back(e.number(axis.count));
    sizes.push_back(e.number(view.blocksOfLines()));
    sizes.push_back(e.number(view.blocksOfLine));
    Indices index = e.delinearise(number, sizes);
    Value segments = e.number(view.blocksOfLine), segment = index.back();
    Value ofLine = e.number(tiles.count);
    firstTile = e.div(e.mul(segment, ofLine), segments);
    lastTile = e.div(e.mul(e.add(segment, e.number(1)), ofLine), segments);
    block.outer.assign(index.begin(), index.end() - 2);
    block.firstLine = e.mul(index[index.size() - 2], e.number(view.blockLines));
    block.lines = e.min(e.number(view.blockLines),
                        e.sub(e.number(view.lines().count), block.firstLine));
    // The whole block; what is read for it is what the piece has of it.
    bool cutsLines = view.blockLines > 1;
    Value allLines = block.lines, allTiles = e.sub(lastTile, firstTile);
    Value beforeLine = e.number(0), beforeTile = firstTile;
    PanelParts::Range some = parts.ofAll(cutsLines ? allLines : allTiles);
    if (cutsLines) {
      beforeLine = some.from;
      block.firstLine = e.add(block.firstLine, some.from);
      block.lines = e.sub(some.to, some.from);
    } else {
      firstTile = e.add(beforeTile, some.from);
      lastTile = e.add(beforeTile, some.to);
    }
    block.firstPixel = tiles.before(e, firstTile);
    block.pixels = e.sub(tiles.before(e, lastTile), block.firstPixel);
    if (!view.isInput)
      ConvSlab(e, view, input, slab).copy(block);
    auto takePart = [&](Value panel) {
      PanelParts::Range own =
          parts.ofPanel(panel, cutsLines ? allLines : allTiles);
      lines = {e.number(0), block.lines};
      tilesOfLines = {firstTile, lastTile};
      if (cutsLines)
        lines = {e.sub(own.from, beforeLine), e.sub(own.to, beforeLine)};
      else
        tilesOfLines = {e.add(beforeTile, own.from), e.add(beforeTile, own.to)};
    };
    if (view.cutsPanels) {
      firstPanel = parts.beginPanel();
      e.loop(firstPanel, parts.endPanel(), [&](Value panel) {
        takePart(panel);
        emitPanel(panel);
      });
    } else {
      firstPanel = e.number(0);
      takePart(firstPanel);
      e.loop(firstPanel, e.number(view.allPanels()),
             [&](Value panel) { emitPanel(panel); });
    }
  }

  void emitPanel(Value panel) {
    auto addressOf = [&](Value panel) {
      return element(filter, e.mul(panel, e.number(view.depth() * width)));
    };
    Value follower = e.add(panel, e.number(1));
    work.b = addressOf(panel);
    // What comes next here, in this piece or the following one.
    work.next = addressOf(e.select(
        e.equal(follower, e.number(view.allPanels())), e.number(0), follower));
    Value own = e.number(view.panels);
    Value group = e.div(panel, own), inGroup = e.rem(panel, own);
    work.panel = panel;
    work.group = group;
    work.column = e.add(e.mul(group, e.number(view.maps)),
                        e.mul(inGroup, e.number(width)));
    int64_t rest = view.maps % width;
    Value isLast = e.equal(inGroup, e.number(view.panels - 1));
    if (rest == 0)
      return emitTiles(width);
    if (view.panels > 1)
      e.ifThen(e.less(inGroup, e.number(view.panels - 1)),
               [&] { emitTiles(width); });
    e.ifThen(isLast, [&] { emitTiles(rest); });
  }

  void emitTiles(int64_t columns) {
    e.loop(lines.from, lines.to, [&](Value line) {
      reached = reachedBy(line);
      if (isTurned)
        return emitRuns(line, columns);
      tiles.forEach(e, tilesOfLines.from, tilesOfLines.to,
                    [&](Value tile, int64_t pixels) {
                      Value first = tiles.before(e, tile);
                      emitTile(line, tile, first, pixels, columns, sums);
                      emitBehind(e.add(block.firstLine, line), first, pixels,
                                 columns);
                    });
    });
  }

  int64_t mostPixels() const { return tiles.fewest + (tiles.larger > 0); }
  /// Tiles whose sums wait for each other, at most: of a multiple of 8 pixels
  /// in most lines.
  int64_t tilesOfRun() const { return mostPixels() <= 8 ? 8 : 4; }

  /// Runs of equally many tiles of a line.
  void emitRuns(Value line, int64_t columns) {
    Value all = e.sub(tilesOfLines.to, tilesOfLines.from);
    Value runs = e.ceilDiv(all, e.number(tilesOfRun()));
    auto before = [&](Value run) {
      return e.add(tilesOfLines.from, e.div(e.mul(run, all), runs));
    };
    e.loop(e.number(0), runs, [&](Value run) {
      Value from = before(run), to = before(e.add(run, e.number(1)));
      Value begin = tiles.before(e, from), end = tiles.before(e, to);
      tiles.forEach(e, from, to, [&](Value tile, int64_t pixels) {
        Value first = tiles.before(e, tile);
        Value out = element(sums, e.mul(e.sub(first, begin), e.number(width)));
        emitTile(line, tile, first, pixels, columns, out);
      });
      Value row = rowOf(e.add(block.firstLine, line), begin);
      int64_t ofImage = 1;
      for (const DirectConvAxis &axis : view.axes)
        ofImage *= axis.count;
      Value image = block.outer[0];
      storeTurnedPixels(e, op, *tail,
                        {image, e.sub(row, e.mul(image, e.number(ofImage))),
                         e.sub(end, begin), ofImage, work.column, columns, sums,
                         width, tiles.fewest < turnedSide});
    });
  }

  /// The sums of a tile, to memory at `out`.
  void emitTile(Value line, Value number, Value first, int64_t pixels,
                int64_t columns, Value out) {
    const DirectConvAxis &axis = view.pixels();
    ConvTile tile;
    tile.pixels = pixels;
    tile.width = width;
    tile.pixelStride = axis.slabStride() * view.pixelStride;
    tile.run = view.channels * (isRunOverTaps ? axis.taps : 1);
    tile.loops = tapLoops();
    tile.fetch = fetchBytes();
    Value a = tileInput(line, first);
    Value next = fetchesPixels() ? nextInput(number, tile)
                                 : nextPanel(line, number, tile);
    Value row = rowOf(e.add(block.firstLine, line), first);
    fetchOperands(e, op,
                  e.add(e.mul(row, e.number(view.allMaps())), work.column),
                  pixels, columns);
    Value b = work.b;
    if (reached.count) {
      const TapLoop &loop = tile.loops.front();
      a = element(a, e.mul(reached.first, e.number(loop.stride)));
      b = element(
          b, e.mul(reached.first, e.number(view.depth() / loop.taps * width)));
    }
    callConvTile(e, tile, {a, b, out, next, reached.count}, columns);
  }

  Value tileInput(Value line, Value first) {
    Value channel = e.mul(work.group, e.number(view.channels));
    if (view.isInput) {
      Value row =
          e.add(e.mul(block.outer[0], e.number(view.pixels().count)), first);
      return element(input,
                     e.add(e.mul(row, e.number(view.pixelStride)), channel));
    }
    Value at =
        e.mul(line, e.number(view.lines().slabStride() * view.slabPixels()));
    at = e.add(at, e.mul(e.sub(first, block.firstPixel),
                         e.number(view.pixels().slabStride())));
    return element(slab, e.add(e.mul(at, e.number(view.pixelStride)), channel));
  }

  SmallVector<TapLoop> tapLoops() {
    int64_t line = view.slabPixels() * view.pixelStride;
    SmallVector<TapLoop> loops = {
        {view.outerTaps(), view.slabLines() * line},
        {view.lines().taps, view.lines().dilation * line}};
    if (!isRunOverTaps)
      loops.push_back(
          {view.pixels().taps, view.pixels().dilation * view.pixelStride});
    llvm::erase_if(loops, [](const TapLoop &loop) { return loop.taps == 1; });
    return loops;
  }

  bool fetchesPixels() {
    return view.isInput && view.isResident && view.hasManyBlocks;
  }

  /// The taps of the outermost loop that read the image for a line of the
  /// block; null where all may. Products by zeros beside it are left out.
  TapRange reachedBy(Value line) {
    // Of more lines, too little is beside it, unless taps lie far apart; fewer
    // steps are not worth a loop that is counted.
    constexpr int64_t fewLines = 20, lessThan = 30, fewestSteps = 48;
    const DirectConvAxis &axis = view.lines();
    int64_t beside = std::min(axis.before() + axis.behind(), axis.count);
    bool isMuch =
        axis.count <= fewLines || axis.count * axis.taps <= lessThan * beside;
    if (view.outerTaps() == 1 && axis.taps > 1 && isMuch &&
        view.depth() / axis.taps >= fewestSteps && !axis.isInside())
      return reachedTaps(e, axis, e.add(block.firstLine, line));
    return reachedOuterTaps(e, view, ArrayRef(block.outer).drop_front());
  }

  /// What every four steps of a tile have to fetch, so that the tiles of a
  /// block fetch the next panel; or where the filter stays in the cache, all of
  /// its panels' tiles the next block's pixels.
  int64_t fetchBytes() {
    int64_t ofBlock =
        std::max<int64_t>(tiles.count * view.blockLines / view.blocksOfLine, 1);
    if (fetchesPixels()) {
      int64_t pixels = view.pixels().count / view.blocksOfLine;
      return llvm::divideCeil(pixels * view.groups * 16,
                              ofBlock * view.allPanels());
    }
    if (view.hasManyBlocks && view.isResident)
      return 0;
    return llvm::divideCeil(4 * width * 4, ofBlock);
  }

  /// Where a tile goes on fetching the next panel.
  Value nextPanel(Value line, Value number, const ConvTile &tile) {
    Value before = e.add(e.mul(line, e.sub(lastTile, firstTile)),
                         e.sub(number, firstTile));
    int64_t bytes = tile.run / 4 * tile.fetch;
    for (const TapLoop &loop : tile.loops)
      bytes *= loop.taps;
    return LLVM::GEPOp::create(
        e.b, input.getType(), e.b.getI8Type(), work.next,
        ArrayRef<LLVM::GEPArg>{e.mul(before, e.number(bytes))});
  }

  /// Where a tile goes on fetching the pixels behind its block.
  Value nextInput(Value number, const ConvTile &tile) {
    Value behind = e.add(block.firstPixel, block.pixels);
    Value row =
        e.add(e.mul(block.outer[0], e.number(view.pixels().count)), behind);
    Value before =
        e.add(e.mul(e.sub(work.panel, firstPanel), e.sub(lastTile, firstTile)),
              e.sub(number, firstTile));
    Value start = e.mul(row, e.number(view.pixelStride * 4));
    Value at = e.add(start, e.mul(before, e.number(tile.run / 4 * tile.fetch)));
    // Behind the last block lies nothing that is ours: it is not read.
    return LLVM::GEPOp::create(e.b, input.getType(), e.b.getI8Type(), input,
                               ArrayRef<LLVM::GEPArg>{at});
  }

  /// A pixel's row of the result.
  Value rowOf(Value line, Value pixel) {
    Value row = block.outer[0];
    for (auto [axis, at] : llvm::zip(ArrayRef(view.axes).drop_back(2),
                                     ArrayRef(block.outer).drop_front()))
      row = e.add(e.mul(row, e.number(axis.count)), at);
    row = e.add(e.mul(row, e.number(view.lines().count)), line);
    return e.add(e.mul(row, e.number(view.pixels().count)), pixel);
  }

  /// Everything behind the convolution, for the sums of a tile.
  void emitBehind(Value line, Value firstPixel, int64_t pixels,
                  int64_t columns) {
    Indices counts = {e.number(0)};
    for (Value dim :
         ArrayRef(e.dimsOf(op.getResult())).drop_back().drop_front())
      counts.push_back(dim);
    e.loop(e.number(0), e.number(pixels), [&](Value i) {
      Value pixel = e.add(firstPixel, i), row = rowOf(line, pixel);
      Indices lead;
      if (view.isFlat)
        lead = e.delinearise(row, counts);
      else {
        lead = block.outer;
        if (counts.size() > 2)
          lead.push_back(line);
        lead.push_back(pixel);
      }
      Value first = e.add(e.mul(row, e.number(view.allMaps())), work.column);
      storePanelRow(e, op.getResult(),
                    {lead, work.column, e.number(columns), first, sums,
                     e.mul(i, e.number(width))});
    });
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  struct Panel {
    Value panel, b, next, group, column;
  };

  Emitter &e;
  graph::ConvOp op;
  DirectConvView view;
  std::optional<kernel::ChannelTail> tail;
  bool isTurned; // It puts channels first.
  int64_t width;
  bool isRunOverTaps; // What a line's taps read lies in a row.
  EvenTiles tiles;    // Of a line.
  Value input, filter, slab, sums;
  // Of the current block and panel.
  ConvBlock block;
  Value firstTile, lastTile, firstPanel;
  PanelParts::Range lines, tilesOfLines; // Of the panel.
  TapRange reached;                      // Of the line.
  Panel work;
};

} // namespace

LogicalResult emitDirectConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  std::optional<DirectConvView> view = kernel::directConvViewOf(*op, why);
  if (!view)
    return e.kernel.emitOpError("cannot run by tiles of pixels: ") << why;
  DirectConv(e, *op, *view).emit();
  return success();
}

} // namespace tenon::cpu
