//===- PanelEpilogue.cpp - What follows sums that wait in memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelEpilogue.h"

using namespace mlir;

namespace tenon::cpu {

void storePanelRow(Emitter &e, ArrayRef<Value> tensors, const PanelRow &row,
                   int64_t apart) {
  e.loop(e.number(0), row.width, [&](Value i) {
    Value position = e.add(row.position, i);
    Indices index = row.lead;
    index.push_back(e.add(row.column, i));
    // As operands that broadcast see it.
    for (auto [axis, dim] : llvm::enumerate(graph::getDims(tensors[0])))
      if (dim.isConstant(1))
        index[axis] = e.number(0);
    if (!row.sums) {
      e.bind(tensors[0], index, e.zero(e.b.getF32Type()));
      return e.storeYields(index, position);
    }
    Value waits = e.add(row.waits, i);
    for (Value tensor : tensors) {
      e.bind(tensor, index, e.loadRaw(row.sums, e.b.getF32Type(), waits));
      waits = e.add(waits, e.number(apart));
    }
    e.storeYields(index, position);
  });
}

} // namespace tenon::cpu
