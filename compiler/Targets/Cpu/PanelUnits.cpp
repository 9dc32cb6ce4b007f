//===- PanelUnits.cpp - What part of a product a piece computes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelUnits.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "dialects/Kernel/FineUnits.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::panelColumns;
using kernel::unitRows;

PanelUnits::PanelUnits(Emitter &e, Value rows, Value columns, RowBlocks blocks,
                       Value blockCount, Value mostBlocks, int64_t parts)
    : e(&e), rows(rows), rowBlocks(blocks), blockCount(blockCount),
      mostBlocks(mostBlocks),
      wholePanels(e.div(columns, e.number(panelColumns))), parts(parts) {
  int64_t partColumns = panelColumns / parts;
  partsOfRow = e.ceilDiv(columns, e.number(partColumns));
  Value rest = e.sub(partsOfRow, e.mul(wholePanels, e.number(parts)));
  if (parts > 1 && getConstantIntValue(rest) != 0)
    lastParts = e.max(rest, e.number(1));
  count = e.mul(blockCount, partsOfRow);
}

PanelUnits PanelUnits::blocks(Emitter &e, Value rows, Value columns,
                              const RowBlocks &blocks, int64_t mostBlocks) {
  return PanelUnits(e, rows, columns, blocks,
                    e.ceilDiv(rows, e.number(kernel::blockRows)),
                    e.number(mostBlocks), /*parts=*/1);
}

int64_t PanelUnits::groupsNearby(const CpuLevel &level, StripKind kind,
                                 int64_t rowBytes) {
  // Beside a panel, and what is stored, in a second level of 2 MiB.
  constexpr int64_t nearbyBytes = 768 << 10, most = 4;
  constexpr int64_t groupRows = kernel::groupBlocks * kernel::blockRows;
  if (!usesAmx(level, kind))
    return 1;
  return std::clamp<int64_t>(
      nearbyBytes / (groupRows * std::max<int64_t>(rowBytes, 1)), 1, most);
}

PanelUnits PanelUnits::fine(Emitter &e, Expr rows, Expr columns, StripKind kind,
                            bool interleaved, int64_t mostMerged) {
  kernel::FineUnits units(rows, columns);
  Value one = e.number(1), all = e.valueOf(rows);
  Value groups = e.valueOf(units.groups),
        most = e.max(e.valueOf(units.high), one), merged = one;
  // Two threads then have rows of their own, as what made and reads them does.
  if (mostMerged > 1)
    merged =
        e.max(e.min(e.div(groups, e.number(2)), e.number(mostMerged)), one);
  PanelUnits result(e, all, e.valueOf(columns),
                    RowBlocks(e, all, groups, kind, interleaved),
                    e.mul(groups, most), e.mul(most, merged), units.perPanel);
  result.isFine = true;
  result.groups = groups;
  result.merged = merged;
  result.tile = usesAmx(e.level, kind) ? amxTileRows / unitRows : 1;
  result.isCut = e.less(e.number(kernel::blockRows / 2), all);
  return result;
}

void PanelUnits::forEachGroup(Value begin, Value end,
                              function_ref<void()> body) {
  Value units = e->max(e->mul(partsOfRow, mostBlocks), e->number(1));
  e->loop(e->div(begin, units), e->ceilDiv(end, units), [&](Value group) {
    Value first = e->mul(group, units);
    firstBlock = e->mul(group, mostBlocks);
    groupSize = mostBlocks;
    if (isFine) {
      Value low = e->mul(group, merged), high = e->add(low, merged);
      if (getConstantIntValue(merged) != 1)
        high = e->min(high, groups);
      groupRow = e->min(rowBlocks.first(low), rows);
      groupEnd = e->min(rowBlocks.first(high), rows);
    }
    if (!isFine || getConstantIntValue(merged) != 1)
      groupSize = e->min(mostBlocks, e->sub(blockCount, firstBlock));
    from = e->sub(e->max(begin, first), first);
    to = e->min(e->sub(end, first), e->mul(groupSize, partsOfRow));
    body();
  });
}

Value PanelUnits::rowOf(Value block) const {
  if (!isFine)
    return e->min(rowBlocks.first(e->add(firstBlock, block)), rows);
  Value row = e->add(groupRow, e->mul(block, e->number(unitRows)));
  return e->select(e->less(block, groupSize), e->min(row, groupEnd), groupEnd);
}

/// Of its first unit in the group.
Value PanelUnits::positionOf(Value panel) const {
  return e->mul(panel, e->mul(groupSize, e->number(parts)));
}

/// The block of a panel at which a piece ends or begins that has `position`
/// units of it.
Value PanelUnits::blockAt(Value position, Value panel) const {
  Value wide = e->number(parts);
  if (lastParts)
    wide = e->select(e->less(panel, wholePanels), wide, lastParts);
  Value block = e->div(position, wide);
  if (!isFine)
    return e->min(block, groupSize);
  // What is not cut is the piece's that has more of it.
  Value isLess =
      e->less(e->mul(position, e->number(2)), e->mul(groupSize, wide));
  Value step = e->number(tile);
  Value ends = e->select(isCut, e->mul(e->div(block, step), step),
                         e->select(isLess, e->number(0), groupSize));
  return e->select(e->less(block, groupSize), ends, groupSize);
}

Value PanelUnits::beginPanel() const {
  return e->div(from, e->mul(groupSize, e->number(parts)));
}

Value PanelUnits::endPanel() const {
  Value panel = e->div(to, e->mul(groupSize, e->number(parts)));
  Value more = blockAt(e->sub(to, positionOf(panel)), panel);
  return e->add(panel, e->min(more, e->number(1)));
}

std::pair<Value, Value> PanelUnits::blocksOf(Value panel) const {
  Value first = positionOf(panel);
  return {blockAt(e->sub(e->max(from, first), first), panel),
          blockAt(e->sub(to, first), panel)};
}

} // namespace tenon::cpu
