//===- PanelMatmulStrips.cpp - The strips of a matrix product -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelMatmul.h"
#include "compiler/Targets/Cpu/TurnedTile.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::groupBlocks;
using kernel::panelColumns;

void PanelMatmul::emitSkipped(Value panel, bool isWhole) {
  auto [low, high] = units->blocksOf(panel);
  Value n = e.mul(panel, e.number(panelColumns));
  Value width = widthOf(isWhole);
  listed->forEachSkipped(units->rowOf(low), units->rowOf(high), [&](Value m) {
    Value row = e.add(resultRow, m);
    Value first = e.add(e.mul(row, columns), n);
    storePanelRow(e, view.skipped->select.getResult(),
                  {e.delinearise(row, leadDims), n, width, first, {}, {}});
  });
}

void PanelMatmul::emitStrip(PanelBlock block, bool isWhole) {
  auto [low, high] = units->blocksOf(block.panel);
  block.width = widthOf(isWhole);
  if (!isPacked)
    placePanel(block, low);
  if (isTall()) {
    low = e.max(low, sliceBegin);
    high = e.max(low, e.min(high, sliceEnd));
  }
  StripRows rows = {units->rowOf(sliceBegin), units->rowOf(low),
                    units->rowOf(high)};
  if (listed)
    rows = {e.number(0), listed->before(low), listed->before(high)};
  Value n = e.mul(block.panel, e.number(panelColumns));
  bool inResult = isWhole && sumsFit;
  SmallVector<Strip> works = stripsOf(block, rows, n, inResult);
  if (next)
    next->share(e, works.back(), block.panel);
  if (overlapped && isWhole)
    return forEachStripTile(e, works[0], [&](const StripTile &tile) {
      overlapped->compute(works[0], tile, e.add(rows.begin, tile.row), n);
    });
  emitTiles(works, block, rows.begin, n, inResult && isBare);
}

SmallVector<Strip> PanelMatmul::stripsOf(const PanelBlock &block,
                                         const StripRows &rows, Value n,
                                         bool inResult) {
  Strip work;
  work.depth = e.sub(block.kEnd, block.k);
  work.kind = kind;
  // What was rounded to bf16 leaves less room for errors.
  work.stepsInF16 = view.hasHalfLhs() || view.hasPairs() ? 48 : 64;
  lhs->placeRows(work, rows.begin, rows.slice, block.k);
  work.cStride = inResult ? columns : e.number(panelColumns);
  work.c =
      inResult
          ? element(e.resultBuffer(0),
                    e.add(e.mul(e.add(resultRow, rows.begin), work.cStride), n))
      : isOneBlock ? sums
                   : waitingAt(e.sub(block.panel, block.begin), rows.begin);
  work.rows = e.sub(rows.end, rows.begin);
  work.mostRows = rhsPanels.mostRows(work.rows);
  work.accumulate = e.less(e.number(0), block.k);
  SmallVector<Strip> works;
  for (int64_t part = 0; part < parts; ++part) {
    works.push_back(rhsPanels.partOf(work, block, part));
    if (!isOneBlock)
      works.back().c = element(work.c, e.number(part * kernel::groupElements));
  }
  return works;
}

void PanelMatmul::emitTiles(ArrayRef<Strip> works, const PanelBlock &block,
                            Value m, Value n, bool staysInResult) {
  Value isLast = e.equal(block.kEnd, depth);
  forEachStripTile(e, works[0], [&](const StripTile &tile) {
    for (auto [part, each] : llvm::enumerate(works)) {
      StripTarget target = placeInC(e, each, tile);
      StripTarget here = {element(sums, e.number(part * tileElements)),
                          e.number(panelColumns)};
      if (!staysInResult)
        target = targetBehind(e, target, here, isOneBlock, isLast);
      rhsPanels.callTile(each, tile, target, block.width);
    }
    if (staysInResult)
      return;
    auto behind = [&] {
      emitBehind(e.add(m, tile.row), tile.rows, n, block.width);
    };
    if (isOneBlock)
      behind();
    else
      e.ifThen(isLast, behind);
  });
}

void PanelMatmul::placePanel(PanelBlock &block, Value low) {
  Value none = e.number(0);
  block.place = block.nextPlace = none;
  if (!isTall())
    return;
  Value follower = e.add(block.panel, e.number(1));
  Value isLast = e.equal(follower, block.end);
  Value isShort = e.less(units->size(), e.number(groupBlocks + 1));
  block.place = e.select(isShort, none, e.sub(block.panel, block.begin));
  block.nextPlace = e.select(
      isShort, none, e.select(isLast, none, e.sub(follower, block.begin)));
  Value last = e.sub(sliceEnd, e.number(1));
  block.isNew = e.equal(low, e.max(sliceBegin, e.min(low, last)));
}

Value PanelMatmul::waitingAt(Value panelOfChunk, Value m) {
  if (isTall())
    return element(waiting, e.mul(e.sub(m, units->rowOf(e.number(0))),
                                  e.number(panelColumns)));
  if (!hasScratch)
    return waiting;
  return element(waiting,
                 e.mul(panelOfChunk, e.number(parts * kernel::groupElements)));
}

void PanelMatmul::emitBehind(Value m, Value count, Value n, Value width) {
  if (view.turn) {
    Indices lead =
        e.delinearise(e.add(resultRow, m), leadDims); // One batch's rows.
    lead.back() = m;
    return storeTurnedTile(e, op, view.turn,
                           {lead, count, n, width, sums, panelColumns,
                            tileElements / panelColumns});
  }
  e.loop(e.number(0), count, [&](Value i) {
    emitRowBehind(e.add(m, i), n, width, sums,
                  e.mul(i, e.number(panelColumns)));
  });
}

void PanelMatmul::emitRowBehind(Value m, Value n, Value width, Value sums,
                                Value waits) {
  SmallVector<Value> tensors = {op.getResult()};
  if (view.halves)
    tensors = {view.halves->low.getResult(), view.halves->high.getResult()};
  Value row = e.add(resultRow, listed ? listed->rowAt(m) : m);
  Value first = e.add(e.mul(row, columns), n);
  storePanelRow(e, tensors,
                {e.delinearise(row, leadDims), n, width, first, sums, waits},
                tileElements);
}

} // namespace tenon::cpu
