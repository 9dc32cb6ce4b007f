//===- LineConv.cpp - Convolutions that read lines of an image ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of lines or images: the slab, then per panel of maps all tiles of
// two units, whose sums go to the stack for what follows the convolution.
// Levels without AMX cut a unit into tiles of sums in vectors. Those that do
// not multiply pairs of bf16, or quads of bytes, make what they multiply of the
// block once, and of each panel of the filter before its tiles: f32 or pairs of
// f16; words.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/LineConv.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/LineSums.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelParts.h"
#include "compiler/Targets/Cpu/QuadPanel.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/WinogradConv.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::LineConvView;
using kernel::panelColumns;

class LineConv {
public:
  LineConv(Emitter &e, graph::ConvOp op, const LineConvView &view)
      : e(e), op(op), view(view), depth(view.depth), method(e.level, op, view),
        parts(e, view.panels(), view.panelParts) {
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!view.slab.isInput || method.copies())
      slab = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    if (method.copies())
      block = e.atEntry([&] {
        return byte(slab, e.number(widensInSlab() ? 0 : view.slabBytes()));
      });
    if (method.inF16() || method.widensFilter)
      ofFilter = e.atEntry([&] {
        return element(block,
                       e.number(method.imageParts() * view.blockElements()));
      });
    if (method.inF16()) {
      factor = e.atEntry([&]() -> Value {
        return LLVM::AllocaOp::create(e.b, input.getType(), e.b.getF32Type(),
                                      e.number(1), 64);
      });
    }
    sums.emplace(e, op, view, method);
    if (!depth.hasQuads)
      return;
    bytes = kernel::integerConvViewOf(op)->input;
    quads.emplace(e, op, depth, /*groupRows=*/0);
  }

  /// Rows [begin, end): block after block, of each some panels or parts of
  /// some.
  void emit() {
    sums->begin();
    parts.forEachBlock([&](Value number) {
      startBlock(number);
      Value before = e.mul(here.group, e.number(view.panels()));
      lastPanel = e.number(view.slab.allPanels() - 1);
      if (view.slab.groups == 1)
        lastPanel = e.sub(parts.endPanel(), e.number(1));
      e.loop(parts.beginPanel(), parts.endPanel(), [&](Value panel) {
        forWidthOf(e, view.cut(), panel, [&](Value first, int64_t columns) {
          firstMap = e.add(e.mul(here.group, e.number(view.slab.maps)), first);
          emitColumns(panel, e.add(before, panel), columns);
        });
      });
    });
    sums->end();
  }

private:
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
    here.read = method.copies() ? block : here.base;
    if (method.copies() && !widensInSlab())
      copyBlock();
  }

  /// Whether pairs are widened on their way to the slab.
  bool widensInSlab() const {
    return method.widens && depth.hasPairs && !view.slab.isInput;
  }

  /// What the block reads, as tiles multiply it.
  void copyBlock() {
    Value one = e.number(1), none = e.number(0);
    // Of several images, or taps of an axis before lines.
    Value parts = here.images;
    int64_t apart = view.imageStride();
    if (view.slab.outerTaps() > 1) {
      parts = e.number(view.slab.outerTaps());
      apart = view.outerStride();
    }
    Value last = e.mul(e.sub(parts, one), e.number(apart));
    last =
        e.add(last, e.mul(e.sub(here.lines, one), e.number(view.lineStride())));
    Value count = e.add(last, e.number(view.lineReach()));
    Matrix whole = {here.base, none, one, /*isHalf=*/true};
    if (depth.hasQuads)
      return widenQuadRows(e, {here.base, none, one, count, block, none});
    if (method.widens)
      return widenLhs(e, whole, block, none, one, e.mul(count, e.number(2)));
    // What lies between lines was not written.
    const kernel::DirectConvAxis &axis = view.slab.lines();
    Value read = e.add(e.mul(e.sub(here.lines, one),
                             e.number(view.lineStride() / view.lineSize())),
                       e.number((axis.taps - 1) * axis.dilation + 1));
    auto elements = [&](int64_t pairs) { return e.number(2 * pairs); };
    callRoundBlock(e, {here.base, elements(apart), parts,
                       elements(view.lineSize()), read,
                       elements(view.pixelReach()), block,
                       e.mul(count, e.number(2)), factor});
    here.scale = e.loadRaw(factor, e.b.getF32Type(), none);
  }

  /// Groups of the same lines follow each other.
  void locateBlock(Value number) {
    const kernel::DirectConvAxis &axis = view.slab.lines();
    Value groups = e.number(view.slab.groups);
    here.group = e.rem(number, groups);
    number = e.div(number, groups);
    Indices sizes = {e.number(0)}; // Of images, which is not asked for.
    for (const kernel::DirectConvAxis &each :
         ArrayRef(view.slab.axes).drop_back(2))
      sizes.push_back(e.number(each.count));
    sizes.push_back(e.number(view.slab.blocksOfLines()));
    Indices index = e.delinearise(number, sizes);
    Value all = e.dimsOf(op.getResult())[0], most = imagesOfBlock(all);
    here.firstImage = e.mul(index.front(), most);
    here.images = e.min(most, e.sub(all, here.firstImage));
    here.outer.assign(index.begin() + 1, index.end() - 1);
    here.firstLine = e.mul(index.back(), e.number(view.slab.blockLines));
    here.lines = e.min(e.number(view.slab.blockLines),
                       e.sub(e.number(axis.count), here.firstLine));
    here.base = slab;
    Value ofGroup =
        element(input, e.mul(here.group, e.number(view.slab.channels)));
    if (!view.slab.isInput)
      return e.loop(e.number(0), here.images, [&](Value i) {
        int64_t stride = view.imageStride() * (widensInSlab() ? 2 : 1);
        Value to = element(slab, e.mul(i, e.number(stride)));
        Indices outer = {e.add(here.firstImage, i)};
        llvm::append_range(outer, here.outer);
        ConvSlab(e, view.slab, ofGroup, to, bytes ? &*bytes : nullptr,
                 widensInSlab())
            .copy({outer, here.firstLine, here.lines, e.number(0),
                   e.number(view.slab.pixels().count)});
      });
    Value line = e.add(e.mul(here.firstImage, e.number(axis.size)),
                       e.sub(e.mul(here.firstLine, e.number(axis.stride)),
                             e.number(axis.low)));
    Value left = e.number(view.slab.pixels().low * view.slab.channels);
    here.base =
        element(input, e.sub(e.mul(line, e.number(view.lineSize())), left));
  }

  /// Where a unit of so many begins, of `size` of `count`; and how far before
  /// the end of the one before it.
  std::pair<Value, Value> placeOf(Value number, int64_t size, Value count) {
    Value from = e.mul(number, e.number(size));
    Value place = e.min(from, e.sub(count, e.number(size)));
    return {place, e.sub(from, place)};
  }

  /// Of an image's part of the block.
  Value unitsOfImage() {
    if (method.runsOn)
      return e.ceilDiv(places(), e.number(method.unitRows));
    return e.mul(e.ceilDiv(here.lines, e.number(method.unitLines)),
                 e.number(view.unitsOfLine));
  }
  Value places() {
    Value before =
        e.mul(e.sub(here.lines, e.number(1)), e.number(view.linePlaces()));
    return e.add(before, e.number(view.slab.pixels().count));
  }

  LineUnit unitOf(Value number, Value ofImage) {
    Value inLine = e.number(view.unitsOfLine), image = e.number(0);
    if (view.slab.blockImages > 1) {
      image = e.div(number, ofImage);
      number = e.rem(number, ofImage);
    }
    if (method.runsOn) {
      Value ofLine = e.number(view.linePlaces());
      auto [place, first] = placeOf(number, method.unitRows, places());
      return {image, e.div(place, ofLine), e.rem(place, ofLine), e.number(0),
              first};
    }
    auto [line, firstLine] =
        placeOf(e.div(number, inLine), method.unitLines, here.lines);
    auto [pixel, firstPixel] = placeOf(e.rem(number, inLine), view.unitPixels,
                                       e.number(view.slab.pixels().count));
    return {image, line, pixel, firstLine, firstPixel};
  }

  /// A part of a panel, as tiles multiply it.
  Value multiplied(Value panel, int64_t part) {
    int64_t size = depth.depth() / method.depthParts;
    Value b = element(packed(panel), e.number(part * size * panelColumns));
    if (!ofFilter)
      return b;
    Value elements = e.number(size);
    if (method.inF16())
      pairsToF16(e, b, ofFilter, elements);
    else if (depth.hasQuads)
      widenQuads(e, b, ofFilter, elements);
    else
      widenPanel(e, b, ofFilter, elements);
    return ofFilter;
  }

  /// Of the block's panel of that number, which is `packedPanel` of all groups.
  void emitColumns(Value panel, Value packedPanel, int64_t columns) {
    Value ofImage = unitsOfImage();
    Value units = e.mul(here.images, ofImage);
    Value next = packed(e.min(e.add(packedPanel, e.number(1)), lastPanel));
    auto [from, to] = parts.ofPanel(panel, units);
    if (method.depthParts > 1) {
      for (int64_t part = 0; part < method.depthParts; ++part) {
        Value b = multiplied(packedPanel, part);
        e.loop(from, to, [&](Value number) {
          sums->emitTiles(here, unitOf(number, ofImage),
                          {panel, firstMap, b, next, number, units, part},
                          columns);
        });
      }
      return e.loop(from, to, [&](Value number) {
        emitBehind(unitOf(number, ofImage), packedPanel, columns,
                   e.mul(number, e.number(sums->unitElements())));
      });
    }
    Value b = multiplied(packedPanel, /*part=*/0);
    if (!method.hasUnit)
      return e.loop(from, to, [&](Value number) {
        LineUnit unit = unitOf(number, ofImage);
        sums->emitTiles(here, unit, {panel, firstMap, b, next, number, units},
                        columns);
        emitBehind(unit, packedPanel, columns, e.number(0));
      });
    e.loop(
        from, to,
        [&](Value number) {
          // Behind an odd number, the last one is computed twice.
          Value second = e.add(number, e.number(1));
          Value isThere = e.less(second, to);
          second = e.select(isThere, second, number);
          LineUnit both[] = {unitOf(number, ofImage), unitOf(second, ofImage)};
          sums->emitTwo(here, both, {panel, firstMap, b, next, number, units},
                        columns);
          emitBehind(both[0], packedPanel, columns, e.number(0));
          e.ifThen(isThere, [&] {
            emitBehind(both[1], packedPanel, columns,
                       e.number(method.unitRows * panelColumns));
          });
        },
        /*step=*/2);
  }

  Value packed(Value panel) {
    return element(filter,
                   e.mul(panel, e.number(view.panelDepth() * panelColumns)));
  }

  /// Of a pixel of the result.
  Indices indexOf(Value image, Value line, Value pixel, const Indices &dims) {
    Indices index = {image};
    if (view.isFlat) {
      Value width = e.number(view.slab.pixels().count);
      Indices counts(dims.begin() + 1, dims.end() - 1);
      Value inImage = e.add(e.mul(line, width), pixel);
      llvm::append_range(index, e.delinearise(inImage, counts));
      return index;
    }
    llvm::append_range(index, here.outer);
    if (dims.size() > 3)
      index.push_back(line);
    index.push_back(pixel);
    return index;
  }

  /// Everything behind the convolution, for a unit whose sums are in `waits`.
  void emitBehind(const LineUnit &unit, Value panel, int64_t columns,
                  Value waits) {
    Value mapSums =
        element(packed(panel), e.number(depth.depth() * panelColumns));
    Value image = e.add(here.firstImage, unit.image);
    Indices dims = e.dimsOf(op.getResult());
    forEachPixel(unit, [&](Value line, Value pixel, Value number) {
      Indices index = indexOf(image, e.add(here.firstLine, line), pixel, dims);
      Indices first = index;
      first.push_back(firstMap);
      Value row = e.mul(number, e.number(panelColumns));
      PanelRow panelRow = {index,
                           firstMap,
                           e.number(columns),
                           e.linearise(first, dims),
                           sums->place(),
                           e.add(waits, row)};
      if (quads)
        return quads->storeRow(panelRow, /*inGroup=*/{}, mapSums);
      storePanelRow(e, op.getResult(), panelRow);
    });
  }

  /// Pixels of a unit that are the result's, and no other's, by line and place
  /// in it, and row of the unit.
  void
  forEachPixel(const LineUnit &unit,
               function_ref<void(Value line, Value pixel, Value row)> body) {
    if (method.runsOn) {
      Value ofLine = e.number(view.linePlaces());
      Value width = e.number(view.slab.pixels().count);
      return e.loop(unit.firstPixel, e.number(method.unitRows), [&](Value row) {
        Value place = e.add(unit.pixel, row);
        Value line = e.add(unit.line, e.div(place, ofLine));
        Value pixel = e.rem(place, ofLine);
        e.ifThen(e.less(pixel, width), [&] { body(line, pixel, row); });
      });
    }
    int64_t rowsOfLine = method.hasUnit ? view.linePlaces() : view.unitPixels;
    e.loop(unit.firstLine, e.number(method.unitLines), [&](Value i) {
      Value line = e.add(unit.line, i);
      Value before = e.mul(i, e.number(rowsOfLine));
      e.loop(unit.firstPixel, e.number(view.unitPixels), [&](Value j) {
        body(line, e.add(unit.pixel, j), e.add(before, j));
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
  LineMethod method;
  PanelParts parts;
  Value input, filter, slab;
  Value block;    // What a block reads, if that is copied.
  Value ofFilter; // What tiles read instead of its panel.
  Value factor;   // Of sums of f16.
  std::optional<LineSums> sums;
  std::optional<kernel::IntegerFactor> bytes; // What quads are of.
  std::optional<QuadSums> quads;
  LineBlock here; // The current one.
  Value lastPanel;
  Value firstMap; // Of the current panel, of all.
};

} // namespace

LogicalResult emitLineConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  bool byWinograd = e.kernel.getSchedule() == "WinogradPairs";
  std::optional<LineConvView> view =
      kernel::lineConvViewOf(*op, why, byWinograd);
  if (!view)
    return e.kernel.emitOpError("cannot read lines of an image: ") << why;
  if (view->winograd && LineMethod(e.level, *op, *view).widens) {
    emitWinogradTiles(e, *op, *view->winograd);
    return success();
  }
  LineConv(e, *op, *view).emit();
  return success();
}

} // namespace tenon::cpu
