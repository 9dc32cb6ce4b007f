//===- BlockState.cpp - Attention by a state, a block for each ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that are neighbours have columns that are, so that what they read and
// write of the state, which is the result itself, lies together.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/StateColumns.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/LinearAttentionView.h"

using namespace mlir;

namespace tenon::cuda {

void emitBlockState(DeviceEmitter &e, Value ordinal) {
  auto op =
      cast<graph::LinearAttentionOp>(kernel::findRoot(e.kernel.getBlock()));
  SmallVector<Value> results = cpu::yieldedBuffers(e, op);
  cpu::StateColumns columns(e, op, results, e.b.getF32Type());
  cpu::Indices last = e.dimsOf(op.getLast());
  Value entry = e.div(ordinal, last[1]), state = e.rem(ordinal, last[1]);
  Value first = e.mul(ordinal, e.mul(last[2], last[3]));
  e.loop(
      e.threadNumber(), last[3],
      [&](Value column) {
        Value area =
            e.address(results[1], e.b.getF32Type(), e.add(first, column));
        columns.run({entry, state, column, area, last[3], /*isResult=*/true});
      },
      e.threads);
}

} // namespace tenon::cuda
