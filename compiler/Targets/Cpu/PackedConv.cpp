//===- PackedConv.cpp - Convolutions with packed filters ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of PackedMatmul, over pixels of the result: per group of rows and
// chunk of panels, blocks of the depth outermost. What the group's rows read of
// a block is copied to scratch memory first, zeros where a tap lies outside of
// the image, so that the inner loops see no borders, strides or dilations. Rows
// of a matrix that lie pages apart are interleaved instead.
//
// Pairs of bf16 (see ConvDepth.h) are elements of 4 bytes as f32 are. There,
// what follows runs over each tile behind its last block, whose sums come on
// the stack; between blocks they wait in the result or in scratch memory.
// Levels that do not multiply pairs widen the group's rows of a block, and with
// AVX2 each panel that is read by many of them. Quads of bytes are such
// elements too, with sums of i32 (see QuadSums.h).
//
// Where windows are dilated, blocks of rows leave out blocks of the depth whose
// taps all lie beside the image.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/ReachedLines.h"
#include "compiler/Targets/Cpu/WindowCopy.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;

class PackedConv {
public:
  PackedConv(Emitter &e, graph::ConvOp op)
      : e(e), op(op), depth(op),
        columns(cast<RankedTensorType>(op.getFilter().getType()).getDimSize(0)),
        panels(llvm::divideCeil(columns, panelColumns)) {
    Value yielded = e.kernel.getYielded()[0];
    sumsFit = graph::getElementType(yielded).isF32() && !depth.hasQuads;
    kind = depth.hasPairs   ? StripKind::Pairs
           : depth.hasQuads ? StripKind::Quads
                            : StripKind::F32;
    hasTiles = kind != StripKind::F32;
    widens = depth.hasPairs && e.level.pairDots == PairDots::None;
    wholePanels = sumsFit || hasTiles ? columns / panelColumns : 0;
    chunkPanels = sumsFit || hasTiles ? kernel::waitingPanels : 1;
    isBare = yielded == op.getResult();
    interleaves = depth.isMatrix && !depth.isInput && !depth.hasQuads &&
                  canInterleaveLhs(e.level, kind);
    if (kind == StripKind::F32 && ReachedLines::mayMiss(op, depth))
      reached.emplace(e, op, depth);
    if (depth.hasQuads)
      quads.emplace(e, op, depth, groupBlocks * blockRows);
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    if (!depth.isInput || depth.sumsWait || widens)
      copy = e.atEntry(
          [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    if (depth.sumsWait)
      waiting = e.atEntry([&] {
        return e.address(copy, e.b.getI8Type(), e.number(depth.copyBytes()));
      });
    if (widens)
      widenedRows = e.atEntry([&] {
        return e.address(copy, e.b.getI8Type(),
                         e.number(depth.copyBytes() + depth.waitingBytes()));
      });
    if (widens && e.level.vectorBits < 512)
      widenedPanel = e.atEntry([&] {
        return e.address(widenedRows, e.b.getI8Type(),
                         e.number(depth.wideRowsBytes()));
      });
    leadDims = e.dimsOf(op.getResult());
    leadDims.pop_back();
    rows = e.number(1);
    for (Value dim : leadDims)
      rows = e.mul(rows, dim);
  }

  void emit() {
    if (hasTiles)
      sums = onStack(stripTileRows(e.level, widens ? StripKind::F32 : kind) *
                     panelColumns);
    if (wholePanels < panels && !depth.sumsWait)
      tile =
          depth.isOneBlock() && hasTiles ? sums : onStack(depth.groupElements);
    withAmx(e, usesAmx(e.level, kind), [&] { emitGroups(); });
  }

private:
  Value onStack(int64_t count) {
    return e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, LLVM::LLVMPointerType::get(e.b.getContext()), e.b.getF32Type(),
          e.number(count), 64);
    });
  }

  void emitGroups() {
    kernel::ConvBlocks cut(op);
    Value blocks = e.valueOf(cut.count), most = e.valueOf(cut.ofGroup);
    rowBlocks.emplace(e, rows, blocks, kind, interleaves);
    Value units = e.mul(most, e.number(panels));
    Value groups = e.ceilDiv(e.end, units);
    e.loop(e.div(e.begin, units), groups, [&](Value group) {
      Value first = e.mul(group, units);
      firstBlock = e.mul(group, most);
      groupSize = e.min(most, e.sub(blocks, firstBlock));
      from = e.sub(e.max(e.begin, first), first);
      to = e.min(e.sub(e.end, first), e.mul(groupSize, e.number(panels)));
      emitGroup();
    });
  }

  /// A block of the depth: lines [line, line + lines), of each `length`
  /// elements from `start` on.
  struct DepthBlock {
    Value line, lines, start, length;
    Value k, steps, isLast;
  };

  /// Units [from, to) of the group: unit u is block u % groupSize of panel
  /// u / groupSize.
  void emitGroup() {
    Value begin = e.div(from, groupSize);
    Value end = e.ceilDiv(to, groupSize);
    e.loop(
        begin, end,
        [&](Value panel) {
          Value last = e.min(e.add(panel, e.number(chunkPanels)), end);
          emitChunk(panel, last);
        },
        chunkPanels);
  }

  void forEachBlock(function_ref<void(const DepthBlock &)> body) {
    Value lines = e.number(depth.lines), run = e.number(depth.run);
    e.loop(
        e.number(0), lines,
        [&](Value line) {
          Value lineEnd = e.min(e.add(line, e.number(depth.blockLines)), lines);
          e.loop(
              e.number(0), run,
              [&](Value start) {
                Value end = e.min(e.add(start, e.number(depth.blockRun)), run);
                DepthBlock block;
                block.line = line;
                block.lines = e.sub(lineEnd, line);
                block.start = start;
                // A number wherever it can be, for the copies.
                block.length = depth.run % depth.blockRun == 0
                                   ? e.number(depth.blockRun)
                                   : e.sub(end, start);
                block.k = e.add(e.mul(line, run), start);
                block.steps = e.mul(block.lines, block.length);
                block.isLast =
                    e.both(e.equal(lineEnd, lines), e.equal(end, run));
                body(block);
              },
              depth.blockRun);
        },
        depth.blockLines);
  }

  void emitChunk(Value begin, Value end) {
    Value whole = e.number(wholePanels);
    forEachBlock([&](const DepthBlock &block) {
      if (!depth.isInput)
        emitCopy(block);
      if (widens)
        widenRows(block);
      if (quads && quads->needsRowSums())
        sumRows(block);
      if (wholePanels > 0)
        e.loop(begin, e.min(end, whole), [&](Value panel) {
          emitStrip(begin, end, block, panel, /*isWhole=*/true);
        });
      if (wholePanels < panels)
        e.loop(e.max(begin, whole), end, [&](Value panel) {
          emitStrip(begin, end, block, panel, /*isWhole=*/false);
        });
    });
  }

  /// What the group's rows read of a block.
  void emitCopy(const DepthBlock &block) {
    Value first = firstRow(e.number(0));
    Value last = e.min(firstRow(groupSize), rows);
    if (interleaves) {
      Value stride = e.number(depth.run);
      Value from = element(input, e.add(e.mul(first, stride), block.k));
      return copyLhs(e, {from, stride, e.number(1)}, copy, e.sub(last, first),
                     block.steps, /*interleaved=*/true);
    }
    if (!reached)
      return copyWindows(block, first, last);
    e.loop(e.number(0), groupSize, [&](Value i) {
      Value from = firstRow(i),
            to = e.min(firstRow(e.add(i, e.number(1))), rows);
      auto reach = reached->of(from, to, block.line, block.lines);
      e.ifThen(reach.here, [&] { copyWindows(block, from, to); });
    });
  }

  void copyWindows(const DepthBlock &block, Value from, Value to) {
    Value first = firstRow(e.number(0));
    int64_t stride = depth.copyStride();
    Value place = e.mul(e.sub(from, first), e.number(stride));
    WindowCopy(e, op, depth)
        .copyRows({from, to, leadDims, element(copy, place), stride},
                  {block.line, block.lines, block.start, block.length});
  }

  /// The group's rows of a block, in the input or their copy.
  struct GroupRows {
    Value from, stride, count;
  };
  GroupRows rowsOf(const DepthBlock &block) {
    Value first = firstRow(e.number(0));
    Value last = e.min(firstRow(groupSize), rows);
    Value stride = e.number(depth.isInput ? depth.run : depth.copyStride());
    Value from = depth.isInput
                     ? element(input, e.add(e.mul(first, stride), block.k))
                     : copy;
    return {from, stride, e.sub(last, first)};
  }

  void widenRows(const DepthBlock &block) {
    GroupRows own = rowsOf(block);
    Value two = e.number(2);
    widenLhs(e,
             {own.from, e.mul(own.stride, two), e.number(1), /*isHalf=*/true},
             widenedRows, e.number(depth.wideStride()), own.count,
             e.mul(block.steps, two));
  }

  void sumRows(const DepthBlock &block) {
    GroupRows own = rowsOf(block);
    quads->sumRows(own.from, own.stride, own.count, block.steps,
                   e.less(e.number(0), block.k));
  }

  Value firstRow(Value block) {
    return rowBlocks->first(e.add(firstBlock, block));
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  /// The blocks of rows that a piece has of a panel.
  void emitStrip(Value begin, Value end, const DepthBlock &block, Value panel,
                 bool isWhole) {
    Value unit = e.mul(panel, groupSize);
    Value low = e.sub(e.max(from, unit), unit);
    Value high = e.min(e.sub(to, unit), groupSize);
    Value accumulates = e.less(e.number(0), block.k);
    if (!reached)
      return emitStripOf(begin, end, block, panel, isWhole, low, high,
                         accumulates);
    e.loop(low, high, [&](Value i) {
      Value next = e.add(i, e.number(1));
      auto reach = reached->of(firstRow(i), e.min(firstRow(next), rows),
                               block.line, block.lines);
      DepthBlock own = block;
      Value isBehind =
          e.equal(reach.after, constantLike(e.b, e.b.getI1Type(), 0));
      Value isEnd =
          e.equal(e.add(block.start, block.length), e.number(depth.run));
      own.isLast = e.both(isBehind, isEnd);
      e.ifThen(reach.here, [&] {
        emitStripOf(begin, end, own, panel, isWhole, i, next,
                    e.either(reach.before, e.less(e.number(0), block.start)));
      });
    });
  }

  void emitStripOf(Value begin, Value end, const DepthBlock &block, Value panel,
                   bool isWhole, Value low, Value high, Value accumulates) {
    bool inResult = isWhole && sumsFit;
    Value whole = e.number(depth.depth());
    // Behind those of quads lie the sums of their maps.
    Value apart = e.number(depth.depth() + (quads ? 1 : 0));
    Value m = firstRow(low), mEnd = e.min(firstRow(high), rows);
    Value n = e.mul(panel, e.number(panelColumns));
    auto packed = [&](Value panel, Value k) {
      return element(
          filter, e.mul(e.add(e.mul(panel, apart), k), e.number(panelColumns)));
    };
    Value follower = e.add(panel, e.number(1));
    Value wraps = e.equal(follower, end);
    Value stride = e.number(inResult ? columns : panelColumns);
    Strip work;
    work.kind = kind;
    work.depth = block.steps;
    bool isInput = depth.isInput && !widens;
    work.aStride = interleaves ? block.steps
                               : e.number(widens    ? depth.wideStride()
                                          : isInput ? depth.run
                                                    : depth.copyStride());
    work.a =
        isInput ? element(input, e.add(e.mul(m, work.aStride), block.k))
                : element(widens ? widenedRows : copy,
                          e.mul(e.sub(m, firstRow(e.number(0))), work.aStride));
    work.b = packed(panel, block.k);
    work.c = inResult ? element(e.resultBuffer(0), e.add(e.mul(m, stride), n))
             : depth.sumsWait
                 ? element(waiting, e.mul(e.sub(panel, begin),
                                          e.number(depth.groupElements)))
             : tile ? tileOf(m)
                    : sums;
    work.cStride = stride;
    work.rows = e.sub(mEnd, m);
    if (widens)
      widenPanelOf(work);
    work.accumulate = accumulates;
    // Behind all blocks comes the next chunk, of this piece or another one.
    Value more = e.less(e.add(block.k, block.steps), whole);
    Value behind = e.select(more, e.add(block.k, block.steps), e.number(0));
    work.next = packed(e.select(e.both(wraps, more), begin, follower),
                       e.select(wraps, behind, block.k));
    // A number wherever it can be, for the vectoriser and for tiles that leave
    // out what is not there: of the last panel, when it is known to be that.
    bool isLastPanel = !isWhole && (wholePanels > 0 || panels == 1);
    work.columns =
        isLastPanel ? columns - (panels - 1) * panelColumns : panelColumns;
    work.isInterleaved = interleaves;
    Value width = e.number(work.columns);
    if (!isWhole && !isLastPanel)
      width = e.min(width, e.sub(e.number(columns), n));
    bool staysInResult = inResult && isBare;
    if (quads)
      mapSums = packed(panel, whole);
    if (hasTiles)
      return emitTiles(work, block, m, n, width, staysInResult);
    callStrip(e, work);
    if (!staysInResult)
      e.ifThen(block.isLast, [&] {
        emitBehind(m, mEnd, n, width, inResult ? Value() : tileOf(m));
      });
  }

  /// Rows of f32 read the panel as it lies or, where there are many of them,
  /// widened for all.
  void widenPanelOf(Strip &work) {
    work.kind = StripKind::Widened;
    if (!widenedPanel)
      return;
    areMany = e.less(e.number(mostRowsThatWiden(e.level)), work.rows);
    work.mostRows = e.select(areMany, e.number(stripTileRows(e.level)),
                             e.number(stripTileRows(e.level, work.kind)));
    e.ifThen(areMany, [&] { widenPanel(e, work.b, widenedPanel, work.depth); });
  }

  void callTile(const Strip &work, const StripTile &tile,
                const StripTarget &target) {
    if (!widenedPanel)
      return callStripTile(e, work, tile, target);
    Strip wide = work;
    wide.kind = StripKind::F32;
    wide.b = widenedPanel;
    wide.depth = e.mul(work.depth, e.number(2));
    wide.nextBytes = e.number(2 * panelColumns); // Half as many as a row has.
    e.ifThen(areMany, [&] { callStripTile(e, wide, tile, target); });
    e.ifThen(e.equal(areMany, constantLike(e.b, e.b.getI1Type(), 0)),
             [&] { callStripTile(e, work, tile, target); });
  }

  /// A strip whose sums go to the stack behind the last block.
  void emitTiles(const Strip &work, const DepthBlock &block, Value m, Value n,
                 Value width, bool staysInResult) {
    forEachStripTile(e, work, [&](const StripTile &tile) {
      StripTarget own = {element(work.c, e.mul(tile.row, work.cStride)),
                         work.cStride};
      StripTarget here = {sums, e.number(panelColumns)};
      if (!staysInResult && depth.isOneBlock())
        own = here;
      else if (!staysInResult)
        own = {e.select(block.isLast, here.out, own.out),
               e.select(block.isLast, here.stride, own.stride)};
      callTile(work, tile, own);
      if (staysInResult)
        return;
      e.ifThen(block.isLast, [&] {
        Value first = e.add(m, tile.row);
        emitBehind(first, e.add(first, tile.rows), n, width, sums);
      });
    });
  }

  /// Where the sums of a strip from row m on wait: those of a group's blocks
  /// that are strips of their own, one behind the other.
  Value tileOf(Value m) {
    if (!reached)
      return tile;
    Value before = e.sub(m, firstRow(e.number(0)));
    return element(tile, e.mul(before, e.number(panelColumns)));
  }

  /// Everything behind the convolution, for some rows of a panel: their sums
  /// are in the result, or one row behind the other in `tile`.
  void emitBehind(Value m, Value mEnd, Value n, Value width, Value tile) {
    e.loop(m, mEnd, [&](Value row) {
      Value first = e.add(e.mul(row, e.number(columns)), n);
      Value waits = tile ? e.mul(e.sub(row, m), e.number(panelColumns)) : first;
      PanelRow panelRow = {e.delinearise(row, leadDims),    n,    width, first,
                           tile ? tile : e.resultBuffer(0), waits};
      if (quads)
        return quads->storeRow(panelRow, e.sub(row, firstRow(e.number(0))),
                               mapSums);
      storePanelRow(e, op.getResult(), panelRow);
    });
  }

  Emitter &e;
  graph::ConvOp op;
  kernel::ConvDepth depth;
  int64_t columns, panels;
  int64_t wholePanels; // With tiles; else those whose sums wait in the result.
  int64_t chunkPanels;
  bool sumsFit, isBare, interleaves;
  StripKind kind;
  bool hasTiles; // What follows runs tile by tile.
  bool widens;   // Pairs.
  std::optional<QuadSums> quads;
  std::optional<ReachedLines> reached;
  Value input, filter, rows, copy;
  Value widenedRows, widenedPanel; // The latter where a panel is widened once.
  Value areMany;                   // Rows of the current strip.
  std::optional<RowBlocks> rowBlocks;
  Value tile, sums, waiting; // Of a panel, of a tile, of a chunk's panels.
  Indices leadDims;
  Value mapSums; // Of the current panel, behind it.
  // Of the current group.
  Value firstBlock, groupSize, from, to;
};

} // namespace

LogicalResult emitPackedConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  PackedConv(e, *op).emit();
  return success();
}

} // namespace tenon::cpu
