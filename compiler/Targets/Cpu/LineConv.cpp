//===- LineConv.cpp - Convolutions that read lines of an image ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of lines: its slab, then per panel of maps all tiles of two units,
// whose sums go to the stack for what follows the convolution. Levels without
// AMX take a unit as a strip, run by run, whose sums wait there as well.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/LineConv.h"
#include "compiler/Targets/Cpu/AmxLines.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "dialects/Kernel/LineConvView.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::LineConvView;
using kernel::panelColumns;

class LineConv {
public:
  LineConv(Emitter &e, graph::ConvOp op, const LineConvView &view)
      : e(e), op(op), view(view), depth(view.depth), pixels(view.unitPixels),
        maps(view.slab.maps), hasUnit(usesAmx(e.level, StripKind::Pairs)) {
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!view.slab.isInput)
      slab = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    sums = onStack(e.b.getF32Type(), 2 * pixels * panelColumns);
    starts = onStack(e.b.getI64Type(), depth.lines);
  }

  /// Rows [begin, end): block after block, of each some panels.
  void emit() {
    for (auto [run, start] : llvm::enumerate(view.runStarts()))
      e.storeRaw(e.number(4 * start), starts, e.number(int64_t(run)));
    if (hasUnit)
      AmxUnit::shape(e.b, e.level, e.number(pixels),
                     e.number(AmxUnit::rowBytes), /*below=*/true);
    Value units = e.number(view.panels());
    Value blocks = e.div(e.add(e.end, e.sub(units, e.number(1))), units);
    e.loop(e.div(e.begin, units), blocks, [&](Value number) {
      Value first = e.mul(number, units);
      Value from = e.sub(e.max(e.begin, first), first);
      Value to = e.min(e.sub(e.end, first), units);
      startBlock(number);
      e.loop(from, to, [&](Value panel) { emitPanel(panel); });
    });
    if (hasUnit)
      AmxUnit::release(e.b, e.level);
  }

private:
  Value onStack(Type type, int64_t count) {
    return e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, LLVM::LLVMPointerType::get(e.b.getContext()), type,
          e.number(count), 64);
    });
  }

  void startBlock(Value number) {
    const kernel::DirectConvAxis &axis = view.slab.lines();
    Value blocks = e.number(view.blocksOfImage());
    image = e.div(number, blocks);
    firstLine = e.mul(e.rem(number, blocks), e.number(view.slab.blockLines));
    lines = e.min(e.number(view.slab.blockLines),
                  e.sub(e.number(axis.count), firstLine));
    base = slab;
    if (!view.slab.isInput)
      return ConvSlab(e, view.slab, input, slab)
          .copy({{image},
                 firstLine,
                 lines,
                 e.number(0),
                 e.number(view.slab.pixels().count)});
    Value line = e.add(
        e.mul(image, e.number(axis.size)),
        e.sub(e.mul(firstLine, e.number(axis.stride)), e.number(axis.low)));
    Value left = e.number(view.slab.pixels().low * view.slab.channels);
    base = element(input, e.sub(e.mul(line, e.number(view.lineSize())), left));
  }

  void emitPanel(Value panel) {
    int64_t rest = maps % panelColumns;
    Value last = e.number(view.panels() - 1);
    if (rest == 0)
      return emitColumns(panel, panelColumns);
    if (view.panels() > 1)
      e.ifThen(e.less(panel, last), [&] { emitColumns(panel, panelColumns); });
    e.ifThen(e.equal(panel, last), [&] { emitColumns(panel, rest); });
  }

  struct Unit {
    Value line, pixel; // The first one.
    Value first;       // Of its pixels that are not the unit's before it.
  };

  Unit unitOf(Value number) {
    Value inLine = e.number(view.unitsOfLine);
    Value from = e.mul(e.rem(number, inLine), e.number(pixels));
    Value pixel = e.min(from, e.number(view.slab.pixels().count - pixels));
    return {e.div(number, inLine), pixel, e.sub(from, pixel)};
  }

  void emitColumns(Value panel, int64_t columns) {
    Value panelSize = e.number(depth.depth() * panelColumns);
    Value b = element(filter, e.mul(panel, panelSize));
    Value units = e.mul(lines, e.number(view.unitsOfLine));
    e.loop(
        e.number(0), units,
        [&](Value number) {
          // Behind an odd number, the last one is computed twice.
          Value next = e.add(number, e.number(1));
          Value hasNext = e.less(next, units);
          Unit both[] = {unitOf(number),
                         unitOf(e.select(hasNext, next, number))};
          emitSums(both, b, columns);
          emitBehind(both[0], panel, columns, e.number(0));
          e.ifThen(hasNext, [&] {
            emitBehind(both[1], panel, columns,
                       e.number(pixels * panelColumns));
          });
        },
        /*step=*/2);
  }

  void emitSums(ArrayRef<Unit> units, Value b, int64_t columns) {
    SmallVector<Value> a;
    for (const Unit &unit : units)
      a.push_back(element(
          base, e.add(e.mul(unit.line, e.number(view.lineStride())),
                      e.mul(unit.pixel, e.number(view.pixelStride())))));
    if (!hasUnit) {
      for (auto [i, from] : llvm::enumerate(a))
        emitStrips(from, b, columns,
                   element(sums, e.number(int64_t(i) * pixels * panelColumns)));
      return;
    }
    LLVM::CallOp::create(
        e.b, amxLinesFunction(e.module, e.level, columns),
        ValueRange{a[0], a[1], e.number(4 * view.pixelStride()), starts,
                   e.number(depth.lines),
                   e.number(depth.run / LineConvView::step), b, sums,
                   e.number(4 * panelColumns), e.number(pixels)});
  }

  /// The sums of a unit, a run of its windows at a time.
  void emitStrips(Value a, Value b, int64_t columns, Value out) {
    e.loop(e.number(0), e.number(depth.lines), [&](Value run) {
      Value start = e.loadRaw(starts, e.b.getI64Type(), run);
      Strip work;
      work.kind = StripKind::Pairs;
      work.a = e.address(a, e.b.getI8Type(), start);
      work.aStride = e.number(view.pixelStride());
      work.depth = e.number(depth.run);
      work.b = element(b, e.mul(run, e.number(depth.run * panelColumns)));
      work.next = work.b;
      work.c = out;
      work.cStride = e.number(panelColumns);
      work.rows = e.number(pixels);
      work.accumulate = e.less(e.number(0), run);
      work.columns = columns;
      callStrip(e, work);
    });
  }

  /// Everything behind the convolution, for a unit whose sums are in `waits`.
  void emitBehind(const Unit &unit, Value panel, int64_t columns, Value waits) {
    Value n = e.mul(panel, e.number(panelColumns));
    Value line = e.add(firstLine, unit.line);
    Indices dims = e.dimsOf(op.getResult());
    e.loop(unit.first, e.number(pixels), [&](Value i) {
      Indices index = {image, line, e.add(unit.pixel, i)};
      Indices first = index;
      first.push_back(n);
      storePanelRow(e, op.getResult(),
                    {index, n, e.number(columns), e.linearise(first, dims),
                     sums, e.add(waits, e.mul(i, e.number(panelColumns)))});
    });
  }

  /// Addresses around a buffer are made, but not read.
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  Emitter &e;
  graph::ConvOp op;
  const LineConvView &view;
  const kernel::ConvDepth &depth;
  int64_t pixels, maps; // Of a unit; of the convolution.
  bool hasUnit;
  Value input, filter, slab, sums, starts;
  // Of the current block; what it reads begins at `base`.
  Value image, firstLine, lines, base;
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
