//===- SmallConv.cpp - Convolutions of small images -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of images: their slabs, then per panel of maps all tiles of all
// images, part by part of a panel that is large for the cache. Tiles are cut
// regardless of lines: where their pixels lie is known for each of them, and so
// which taps read zeros beside the image, whose products are left out. The sums
// of a panel wait on the stack for what follows the convolution.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/SmallConv.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/EvenTiles.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelParts.h"
#include "compiler/Targets/Cpu/ReachedTaps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::DirectConvAxis;
using kernel::DirectConvView;

/// Of a part of a panel, which the second level holds beside the next one.
constexpr int64_t maxPartBytes = 320 << 10;
/// Steps of a line of taps for which sums may come from the stack and go back.
constexpr int64_t fewestSteps = 384;

class SmallConv {
public:
  SmallConv(Emitter &e, graph::ConvOp op, const DirectConvView &view)
      : e(e), op(op), view(view), width(view.layout.width),
        pixels(view.lines().count * view.pixels().count),
        imageStride(view.isInput ? pixels * view.channels
                                 : view.inputBytes / 4),
        tiles(pixels,
              llvm::divideCeil(pixels, tilePixels(e.level, width, width))) {
    auto bufferOf = [&](Value operand) {
      return e.argumentBuffer(cast<BlockArgument>(operand).getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!view.isInput)
      slab = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    sums = e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(e.b, input.getType(), e.b.getF32Type(),
                                    e.number(view.blockImages * pixels * width),
                                    64);
    });
    bool isLarge = view.depth() * width * 4 > maxPartBytes;
    leavesOut = mayLeaveOut();
    parts = isLarge || leavesOut ? view.lines().taps : 1;
    partSize = view.depth() / parts * width;
  }

  /// Rows [begin, end): block after block, of each some panels.
  void emit() {
    PanelParts rows(e, view.panels, view.panelParts);
    Value all = e.dimsOf(op.getResult())[0];
    rows.forEachBlock([&](Value number) {
      firstImage = e.mul(number, e.number(view.blockImages));
      images = e.min(e.number(view.blockImages), e.sub(all, firstImage));
      if (!view.isInput)
        e.loop(e.number(0), images, [&](Value image) { copySlab(image); });
      e.loop(rows.beginPanel(), rows.endPanel(), [&](Value panel) {
        some = rows.ofPanel(panel, e.number(tiles.count));
        emitPanel(panel);
      });
    });
  }

private:
  void copySlab(Value image) {
    ConvBlock block;
    block.outer = {e.add(firstImage, image)};
    block.firstLine = block.firstPixel = e.number(0);
    block.lines = e.number(view.lines().count);
    block.pixels = e.number(view.pixels().count);
    Value to = element(slab, e.mul(image, e.number(imageStride)));
    ConvSlab(e, view, input, to).copy(block);
  }

  void emitPanel(Value panel) {
    column = e.mul(panel, e.number(width));
    int64_t rest = view.maps % width;
    Value last = e.number(view.panels - 1);
    if (rest == 0)
      return emitColumns(panel, width);
    if (view.panels > 1)
      e.ifThen(e.less(panel, last), [&] { emitColumns(panel, width); });
    e.ifThen(e.equal(panel, last), [&] { emitColumns(panel, rest); });
  }

  /// Whether products by zeros beside the image are left out: parts are lines
  /// of taps then, of which each tile has a function that knows its pixels.
  bool mayLeaveOut() const {
    const DirectConvAxis &lines = view.lines(), &axis = view.pixels();
    return view.axes.size() == 2 && !view.isInput &&
           !(lines.isInside() && axis.isInside()) &&
           view.channels * axis.taps >= fewestSteps;
  }

  void emitColumns(Value panel, int64_t columns) {
    Value whole = e.mul(panel, e.number(parts * partSize));
    auto emitPart = [&](Value part, bool accumulates, int64_t lineTap) {
      Value b = element(filter, e.add(whole, e.mul(part, e.number(partSize))));
      e.loop(e.number(0), images, [&](Value image) {
        for (int64_t tile = 0; tile < tiles.count; ++tile)
          ifHas(tile, [&] {
            emitTile(image, part, b, {tile, lineTap, accumulates}, columns);
          });
      });
    };
    emitPart(e.number(0), /*accumulates=*/false, /*lineTap=*/0);
    for (int64_t part = 1; leavesOut && part < parts; ++part)
      emitPart(e.number(part), /*accumulates=*/true, part);
    if (!leavesOut)
      e.loop(e.number(1), e.number(parts), [&](Value part) {
        emitPart(part, /*accumulates=*/true, /*lineTap=*/0);
      });
    Value from = tiles.before(e, some.from), to = tiles.before(e, some.to);
    e.loop(e.number(0), images, [&](Value image) {
      Value before = e.mul(image, e.number(pixels));
      e.loop(e.add(before, from), e.add(before, to),
             [&](Value pixel) { emitBehind(pixel, columns); });
    });
  }

  /// What is done for a tile if the piece has it.
  void ifHas(int64_t tile, function_ref<void()> body) {
    if (view.panelParts == 1)
      return body();
    Value number = e.number(tile);
    e.ifThen(
        e.both(e.less(some.from, e.number(tile + 1)), e.less(number, some.to)),
        body);
  }

  struct TilePart {
    int64_t number, lineTap; // The latter where products are left out.
    bool accumulates;
  };

  void emitTile(Value image, Value part, Value b, const TilePart &which,
                int64_t columns) {
    const DirectConvAxis &lines = view.lines(), &axis = view.pixels();
    int64_t number = which.number;
    int64_t first = tiles.before(number);
    int64_t line = view.isInput ? 0 : view.slabPixels() * view.pixelStride;
    ConvTile tile;
    tile.pixels = tiles.before(number + 1) - first;
    tile.width = width;
    tile.pixelStride = axis.slabStride() * view.pixelStride;
    tile.run = view.channels;
    tile.accumulates = which.accumulates;
    if (leavesOut)
      tile.reached = reachedUnder(view, first, tile.pixels, which.lineTap);
    if (lines.count > 1)
      tile.lines = {axis.count, first % axis.count, lines.slabStride() * line};
    if (parts == 1 && lines.taps > 1)
      tile.loops.push_back({lines.taps, lines.dilation * line});
    int64_t tapStride = axis.dilation * view.pixelStride;
    if (tapStride == view.channels || !tile.reached.empty()) {
      tile.run *= axis.taps;
      tile.partStride = tapStride == view.channels ? 0 : tapStride;
    } else if (axis.taps > 1)
      tile.loops.push_back({axis.taps, tapStride});
    // All tiles of an image fetch the next part, or the next panel.
    tile.fetch = llvm::divideCeil(4 * width * 4, tiles.count);
    int64_t before = number * (tile.run / 4 * tile.fetch);
    for (const TapLoop &loop : tile.loops)
      before *= loop.taps;
    Value next = element(b, e.number(partSize + before / 4));
    next = e.select(e.equal(image, e.number(0)), next, b);

    Value from = e.mul(e.add(firstImage, image), e.number(imageStride));
    Value a = view.isInput ? element(input, from)
                           : element(slab, e.mul(image, e.number(imageStride)));
    Value inImage = e.number(first / axis.count * tile.lines.stride +
                             first % axis.count * tile.pixelStride);
    a = element(a,
                e.add(inImage, e.mul(part, e.number(lines.dilation * line))));
    Value row = e.add(e.mul(image, e.number(pixels)), e.number(first));
    if (!which.accumulates)
      fetchOperands(e, op, positionOf(row), tile.pixels, columns);
    Value out = element(sums, e.mul(row, e.number(width)));
    callConvTile(e, tile, {a, b, out, next}, columns);
  }

  /// Of a pixel of the block, its first element of the panel in the result.
  Value positionOf(Value pixel) {
    Value row = e.add(e.mul(firstImage, e.number(pixels)), pixel);
    return e.add(e.mul(row, e.number(view.maps)), column);
  }

  /// Everything behind the convolution, for the sums of a pixel.
  void emitBehind(Value pixel, int64_t columns) {
    Indices counts = e.dimsOf(op.getResult());
    counts.pop_back();
    counts[0] = e.number(0); // Which is not asked for.
    Value row = e.add(e.mul(firstImage, e.number(pixels)), pixel);
    storePanelRow(e, op.getResult(),
                  {e.delinearise(row, counts), column, e.number(columns),
                   positionOf(pixel), sums, e.mul(pixel, e.number(width))});
  }

  /// Addresses behind a buffer are made, but not read.
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  Emitter &e;
  graph::ConvOp op;
  DirectConvView view;
  int64_t width, pixels, imageStride;
  EvenTiles tiles; // Of an image.
  bool leavesOut;
  int64_t parts, partSize; // Of a panel, and their elements.
  Value input, filter, slab, sums;
  // Of the current block and panel.
  Value firstImage, images, column;
  PanelParts::Range some; // Tiles of the panel.
};

} // namespace

LogicalResult emitSmallConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  std::optional<DirectConvView> view = kernel::smallConvViewOf(*op, why);
  if (!view)
    return e.kernel.emitOpError("cannot run by tiles of small images: ") << why;
  SmallConv(e, *op, *view).emit();
  return success();
}

} // namespace tenon::cpu
