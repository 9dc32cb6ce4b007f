//===- PanelParts.cpp - Pieces that begin and end inside of panels --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelParts.h"

namespace tenon::cpu {

void PanelParts::forEachBlock(llvm::function_ref<void(Value)> body) {
  Value rows = e.number(panels * parts), each = e.number(parts);
  e.loop(e.div(e.begin, rows), e.ceilDiv(e.end, rows), [&](Value block) {
    Value first = e.mul(block, rows);
    from = e.sub(e.max(e.begin, first), first);
    to = e.min(e.sub(e.end, first), rows);
    begin = e.div(from, each);
    end = e.ceilDiv(to, each);
    body(block);
  });
}

PanelParts::Range PanelParts::ofPanel(Value panel, Value count) const {
  if (parts == 1)
    return {e.number(0), count};
  Value first = e.mul(panel, e.number(parts));
  return tilesOf(e.sub(from, first), e.sub(to, first), count);
}

PanelParts::Range PanelParts::ofAll(Value count) const {
  if (parts == 1)
    return {e.number(0), count};
  Value isOne = e.equal(e.add(begin, e.number(1)), end);
  Range one = ofPanel(begin, count);
  return {e.select(isOne, one.from, e.number(0)),
          e.select(isOne, one.to, count)};
}

PanelParts::Range PanelParts::tilesOf(Value first, Value last,
                                      Value count) const {
  Value all = e.number(parts);
  auto tilesBefore = [&](Value part) { return e.div(e.mul(part, count), all); };
  return {tilesBefore(e.max(first, e.number(0))),
          tilesBefore(e.min(last, all))};
}

void forWidthOf(Emitter &e, const kernel::PanelCut &cut, Value panel,
                llvm::function_ref<void(Value, int64_t)> body) {
  int64_t last = cut.count() - 1;
  // The first one that differs from those before it.
  int64_t different = cut.moved() > 0 ? last - 1 : last;
  Value first = e.mul(panel, e.number(kernel::panelColumns));
  if (cut.width(last) == kernel::panelColumns)
    return body(first, kernel::panelColumns);
  if (different > 0)
    e.ifThen(e.less(panel, e.number(different)),
             [&] { body(first, kernel::panelColumns); });
  for (int64_t i = different; i <= last; ++i)
    e.ifThen(e.equal(panel, e.number(i)),
             [&] { body(e.number(cut.first(i)), cut.width(i)); });
}

} // namespace tenon::cpu
