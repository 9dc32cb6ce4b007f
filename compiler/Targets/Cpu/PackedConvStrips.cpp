//===- PackedConvStrips.cpp - The strips of a convolution -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PackedConv.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::panelColumns;

void PackedConv::emitStrip(const ChunkPanel &panel, const DepthBlock &block) {
  Value unit = e.mul(panel.index, groupSize);
  Value low = e.sub(e.max(from, unit), unit);
  Value high = e.min(e.sub(to, unit), groupSize);
  Value accumulates = e.less(e.number(0), block.k);
  if (!reached)
    return emitStripOf(panel, block, low, high, accumulates);
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
      emitStripOf(panel, own, i, next,
                  e.either(reach.before, e.less(e.number(0), block.start)));
    });
  });
}

void PackedConv::emitStripOf(const ChunkPanel &panel, const DepthBlock &block,
                             Value low, Value high, Value accumulates) {
  bool inResult = panel.isWhole && sumsFit;
  Value m = firstRow(low), mEnd = e.min(firstRow(high), rows);
  Value n = e.mul(panel.index, e.number(panelColumns));
  Strip work = stripOf(panel, block, m, mEnd, n, inResult);
  work.accumulate = accumulates;
  // A number wherever it can be, for the vectoriser and for tiles that leave
  // out what is not there: of the last panel, when it is known to be that.
  bool isLastPanel = !panel.isWhole && (wholePanels > 0 || panels == 1);
  work.columns =
      isLastPanel ? columns - (panels - 1) * panelColumns : panelColumns;
  Value width = e.number(work.columns);
  if (!panel.isWhole && !isLastPanel)
    width = e.min(width, e.sub(e.number(columns), n));
  bool staysInResult = inResult && isBare;
  if (quads)
    mapSums = packedAt(panel.index, e.number(depth.depth()));
  if (hasTiles)
    return emitTiles(work, block, m, n, width, staysInResult);
  if (reached && reached->tilesMiss())
    callReachedTiles(work, block, m);
  else
    callStrip(e, work);
  if (!staysInResult)
    e.ifThen(block.isLast, [&] {
      emitBehind(m, mEnd, n, width, inResult ? Value() : tileOf(m));
    });
}

/// Tiles that read no more than zeros of a block are left out; before others
/// add to them, their sums are zeros.
void PackedConv::callReachedTiles(const Strip &work, const DepthBlock &block,
                                  Value m) {
  Value no = constantLike(e.b, e.b.getI1Type(), 0);
  forEachStripTile(e, work, [&](const StripTile &tile) {
    Value first = e.add(m, tile.row);
    Value here =
        reached->any(first, e.add(first, tile.rows), block.line, block.lines);
    StripTarget target = placeInC(e, work, tile);
    e.ifThen(here, [&] { callStripTile(e, work, tile, target); });
    e.ifThen(e.both(e.equal(here, no), e.equal(work.accumulate, no)), [&] {
      Value zero = arith::ConstantOp::create(e.b, e.b.getF32FloatAttr(0));
      e.loop(e.number(0), tile.rows, [&](Value row) {
        e.loop(e.number(0), e.number(work.columns), [&](Value column) {
          LLVM::StoreOp::create(
              e.b, zero,
              element(target.out, e.add(e.mul(row, target.stride), column)));
        });
      });
    });
  });
}

Value PackedConv::packedAt(Value panel, Value k) {
  // Behind those of quads lie the sums of their maps.
  Value apart = e.number(depth.depth() + (quads ? 1 : 0));
  return element(filter,
                 e.mul(e.add(e.mul(panel, apart), k), e.number(panelColumns)));
}

Strip PackedConv::stripOf(const ChunkPanel &panel, const DepthBlock &block,
                          Value m, Value mEnd, Value n, bool inResult) {
  Value follower = e.add(panel.index, e.number(1));
  Value wraps = e.equal(follower, panel.end);
  Strip work;
  work.kind = kind;
  work.depth = block.steps;
  bool isInput = depth.isInput && !widens;
  work.aStride = interleaves ? block.steps
                             : e.number(widens    ? depth.wideStride()
                                        : isInput ? depth.run
                                                  : depth.copyStride());
  work.a = isInput
               ? element(input, e.add(e.mul(m, work.aStride), block.k))
               : element(widens ? widenedRows : copy,
                         e.mul(e.sub(m, firstRow(e.number(0))), work.aStride));
  work.isInterleaved = interleaves;
  work.b = packedAt(panel.index, block.k);
  work.cStride = e.number(inResult ? resultStride : panelColumns);
  work.c = inResult
               ? element(e.resultBuffer(0), e.add(e.mul(m, work.cStride), n))
           : depth.sumsWait
               ? element(waiting, e.mul(e.sub(panel.index, panel.begin),
                                        e.number(kernel::groupElements)))
           : tile ? tileOf(m)
                  : sums;
  work.rows = e.sub(mEnd, m);
  if (widens)
    widenPanelOf(work);
  // Behind all blocks comes the next chunk, of this piece or another one.
  Value more = e.less(e.add(block.k, block.steps), e.number(depth.depth()));
  Value behind = e.select(more, e.add(block.k, block.steps), e.number(0));
  work.next = packedAt(e.select(e.both(wraps, more), panel.begin, follower),
                       e.select(wraps, behind, block.k));
  return work;
}

void PackedConv::widenPanelOf(Strip &work) {
  work.kind = StripKind::Widened;
  if (!widenedPanel)
    return;
  areMany = e.less(e.number(mostRowsThatWiden(e.level)), work.rows);
  work.mostRows = e.select(areMany, e.number(stripTileRows(e.level)),
                           e.number(stripTileRows(e.level, work.kind)));
  e.ifThen(areMany, [&] { widenPanel(e, work.b, widenedPanel, work.depth); });
}

void PackedConv::callTile(const Strip &work, const StripTile &tile,
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

void PackedConv::emitTiles(const Strip &work, const DepthBlock &block, Value m,
                           Value n, Value width, bool staysInResult) {
  forEachStripTile(e, work, [&](const StripTile &tile) {
    StripTarget target = placeInC(e, work, tile);
    if (!staysInResult)
      target = targetBehind(e, target, {sums, e.number(panelColumns)},
                            depth.isOneBlock(), block.isLast);
    callTile(work, tile, target);
    if (staysInResult)
      return;
    e.ifThen(block.isLast, [&] {
      Value first = e.add(m, tile.row);
      emitBehind(first, e.add(first, tile.rows), n, width, sums);
    });
  });
}

Value PackedConv::tileOf(Value m) {
  if (!reached)
    return tile;
  Value before = e.sub(m, firstRow(e.number(0)));
  return element(tile, e.mul(before, e.number(panelColumns)));
}

void PackedConv::emitBehind(Value m, Value mEnd, Value n, Value width,
                            Value tile) {
  e.loop(m, mEnd, [&](Value row) {
    Value first = e.add(e.mul(row, e.number(columns)), n);
    Value waits = tile ? e.mul(e.sub(row, m), e.number(panelColumns))
                       : e.add(e.mul(row, e.number(resultStride)), n);
    PanelRow panelRow = {e.delinearise(row, leadDims),    n,    width, first,
                         tile ? tile : e.resultBuffer(0), waits};
    if (quads)
      return quads->storeRow(panelRow, e.sub(row, firstRow(e.number(0))),
                             mapSums);
    storePanelRow(e, op.getResult(), panelRow);
  });
}

} // namespace tenon::cpu
