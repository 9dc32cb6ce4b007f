//===- PanelEpilogue.cpp - What follows sums that wait in memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelEpilogue.h"

using namespace mlir;

namespace tenon::cpu {

void storePanelRow(Emitter &e, Operation *root, const PanelRow &row) {
  Value result = root->getResult(0);
  e.loop(e.number(0), row.width, [&](Value i) {
    Value position = e.add(row.position, i);
    Value sum = e.loadRaw(row.sums, e.b.getF32Type(), e.add(row.waits, i));
    Indices index = row.lead;
    index.push_back(e.add(row.column, i));
    // As operands that broadcast see it.
    for (auto [axis, dim] : llvm::enumerate(graph::getDims(result)))
      if (dim.isConstant(1))
        index[axis] = e.number(0);
    e.bind(result, index, sum);
    e.storeYields(index, position);
  });
}

} // namespace tenon::cpu
