//===- EmitScans.cpp - Running sums ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Reduction.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

void emitCumulative(Emitter &e, graph::CumulativeOp op) {
  Value result = op.getResult();
  Indices dims = e.dimsOf(result), others = dims;
  size_t axis = op.getAxis();
  others[axis] = e.number(1);
  Reduction reduction(op.getKind(), op.getInput());
  e.loop(e.begin, e.end, [&](Value row) {
    Indices index = e.delinearise(row, others);
    e.loop(e.number(0), dims[axis], reduction.start(e),
           [&](Value i, ValueRange carried) {
             Value last = e.sub(dims[axis], e.number(1));
             index[axis] = op.getReverse() ? e.sub(last, i) : i;
             Value next =
                 reduction.join(e, carried[0], e.element(op.getInput(), index));
             Value sum = op.getExclusive() ? carried[0] : next;
             e.bind(result, index, reduction.finish(e, sum, e.number(1), op));
             e.storeYields(index, e.linearise(index, dims));
             return SmallVector<Value>{next};
           });
  });
}

} // namespace

bool emitScans(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::CumulativeOp>(root);
  if (op)
    emitCumulative(e, op);
  return bool(op);
}

} // namespace tenon::cpu
