//===- Attention.cpp - The Attention schedule -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/AttentionPanels.h"

using namespace mlir;

namespace tenon::cpu {

LogicalResult emitAttentionBlocks(Emitter &e) {
  std::string why;
  std::optional<AttentionView> view =
      kernel::attentionViewOf(e.kernel.getBlock(), why);
  if (!view)
    return e.kernel.emitOpError("cannot run by its schedule: ") << why;
  AttentionUnit unit(e, *view);
  int64_t rows = mostAttentionRows(e.level, *view);
  Value most = e.number(rows);
  AttentionPanels(unit).begin();
  withAmx(e, unit.usesMatrices(), [&] {
    e.loop(e.begin, e.end, [&](Value number) {
      unit.start(number);
      e.ifThen(e.less(most, unit.count), [&] { emitAttentionColumns(unit); });
      if (rows > 0)
        e.ifThen(e.less(unit.count, e.number(rows + 1)),
                 [&] { emitAttentionRows(unit); });
    });
  });
  return success();
}

} // namespace tenon::cpu
