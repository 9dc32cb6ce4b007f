//===- OverlappedTiles.cpp - What follows a tile, while AMX multiplies ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/OverlappedTiles.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/AmxUnit.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::panelColumns;

constexpr int64_t stepLines = AmxUnit::rows, rowBytes = AmxUnit::rowBytes;
constexpr int64_t lineBytes = panelColumns * 4;
constexpr int64_t tileElements = amxTileRows * panelColumns;
/// Of the cache, in the part of a panel that a step reads.
constexpr int64_t cacheLine = 64,
                  linesOfStep = stepLines * lineBytes / cacheLine;
/// Of fewer, a step has so many rows between its products that those wait: a
/// GELU beside 12 steps took a product of bytes 1.07 times as long.
constexpr int64_t fewestSteps = 16;

bool OverlappedTiles::suits(const CpuLevel &level, StripKind kind,
                            std::optional<int64_t> depth) {
  return usesAmx(level, kind) && depth && *depth % stepLines == 0 &&
         *depth >= fewestSteps * stepLines;
}

OverlappedTiles::OverlappedTiles(Emitter &e, StripKind kind, int64_t depth,
                                 Behind behind)
    : e(e), kind(kind), steps(depth / stepLines),
      rowsPerStep(llvm::divideCeil(amxTileRows, steps)),
      behind(std::move(behind)) {
  slots = onStack(e, e.b.getI64Type(), Slots);
  sums = onStack(e, e.b.getF32Type(), 2 * tileElements);
  e.atEntry([&] {
    set(Count, e.number(0));
    set(Place, e.number(0));
    return slots;
  });
}

Value OverlappedTiles::slot(Slot which) {
  return e.loadRaw(slots, e.b.getI64Type(), e.number(which));
}

void OverlappedTiles::set(Slot which, Value value) {
  e.storeRaw(value, slots, e.number(which));
}

Value OverlappedTiles::sumsAt(Value place) {
  return e.address(sums, e.b.getF32Type(),
                   e.mul(place, e.number(tileElements)));
}

void OverlappedTiles::compute(const Strip &strip, const StripTile &tile,
                              Value row, Value column) {
  Value place = slot(Place), own = sumsAt(place);
  // Others are shaped anew, or come in one stream.
  Value isWhole = e.both(e.less(e.number(AmxUnit::rows), tile.rows),
                         e.less(e.number(1), tile.count));
  e.ifThen(isWhole, [&] { multiply(strip, tile, own); });
  Value isOther = arith::XOrIOp::create(
      e.b, isWhole, arith::ConstantIntOp::create(e.b, 1, 1));
  e.ifThen(isOther, [&] {
    finish();
    callStripTile(e, strip, tile, {own, e.number(panelColumns)});
  });
  set(Row, row);
  set(Column, column);
  set(Count, tile.rows);
  set(Place, e.sub(e.number(1), place));
}

void OverlappedTiles::multiply(const Strip &strip, const StripTile &tile,
                               Value out) {
  Type byte = e.b.getI8Type();
  auto at = [&](Value base, Value bytes) {
    return e.address(base, byte, bytes);
  };
  AmxUnit unit(e.b, e.level, kind == StripKind::Quads, e.number(AmxUnit::rows),
               e.number(stepLines));
  Value aStride = e.mul(strip.aStride, e.number(4));
  Value lower = e.sub(tile.rows, e.number(AmxUnit::rows));
  Value a = at(strip.a, e.mul(tile.row, aStride));
  Value rowsOfA[] = {a, at(a, e.mul(lower, aStride))};
  auto forEachSum = [&](function_ref<void(int64_t, int64_t, int64_t)> body) {
    for (int64_t i = 0; i < AmxUnit::mostHeight; ++i)
      for (int64_t v = 0; v < AmxUnit::mostWidth; ++v)
        body(AmxUnit::sumAt(i, v), i, v * rowBytes);
  };
  forEachSum([&](int64_t sum, int64_t, int64_t) { unit.zero(sum); });
  Value count = slot(Count);
  Value share = e.ceilDiv(e.number(linesOfStep), tile.count);
  Value next = at(strip.next,
                  e.mul(tile.index, e.mul(share, e.number(steps * cacheLine))));
  e.loop(e.number(0), e.number(steps), [&](Value step) {
    Value inRow = e.mul(step, e.number(rowBytes));
    Value from[] = {at(rowsOfA[0], inRow), at(rowsOfA[1], inRow)};
    unit.multiplyAll(from, aStride,
                     at(strip.b, e.mul(step, e.number(stepLines * lineBytes))),
                     e.number(lineBytes), AmxUnit::mostWidth);
    unit.keepAwake();
    Value fetched = at(next, e.mul(step, e.mul(share, e.number(cacheLine))));
    e.loop(e.number(0), share, [&](Value line) {
      // Read; to the second level; data.
      LLVM::Prefetch::create(e.b, at(fetched, e.mul(line, e.number(cacheLine))),
                             0, 2, 1);
    });
    Value first = e.mul(step, e.number(rowsPerStep));
    rowsBehind(e.min(first, count),
               e.min(e.add(first, e.number(rowsPerStep)), count));
  });
  forEachSum([&](int64_t sum, int64_t i, int64_t offset) {
    Value to = i == 0 ? out : at(out, e.mul(lower, e.number(lineBytes)));
    unit.store(sum, at(to, e.number(offset)), e.number(lineBytes));
  });
}

void OverlappedTiles::rowsBehind(Value begin, Value end) {
  Value row = slot(Row), column = slot(Column);
  Value waiting = sumsAt(e.sub(e.number(1), slot(Place)));
  e.loop(begin, end, [&](Value i) {
    behind(e.add(row, i), column, waiting, e.mul(i, e.number(panelColumns)));
  });
}

void OverlappedTiles::finish() {
  rowsBehind(e.number(0), slot(Count));
  set(Count, e.number(0));
}

} // namespace tenon::cpu
