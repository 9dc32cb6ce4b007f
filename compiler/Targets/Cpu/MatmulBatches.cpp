//===- MatmulBatches.cpp - Products of many pairs of matrices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/MatmulBatches.h"

using namespace mlir;

namespace tenon::cpu {

void forEachBatch(Emitter &e, Value rowsOfBatch,
                  function_ref<void(Value batch, Value from, Value to)> body) {
  Value units = e.max(rowsOfBatch, e.number(1));
  e.loop(e.div(e.begin, units), e.ceilDiv(e.end, units), [&](Value batch) {
    Value first = e.mul(batch, units);
    body(batch, e.sub(e.max(e.begin, first), first),
         e.min(e.sub(e.end, first), rowsOfBatch));
  });
}

Value batchOffset(Emitter &e, const kernel::StridedView &view, Value tensor,
                  ArrayRef<Expr> batchDims, Value batch, int64_t elements) {
  auto valueOf = [&](Expr expr) {
    return e.div(e.valueOf(expr), e.number(elements));
  };
  Value offset = valueOf(view.offset);
  SmallVector<Expr> dims = graph::getDims(tensor);
  size_t own = dims.size() - 2;
  if (batchDims.empty() || own == 0)
    return offset;
  Indices sizes;
  for (Expr dim : batchDims)
    sizes.push_back(e.valueOf(dim));
  Indices index = e.delinearise(batch, sizes);
  size_t skip = sizes.size() - own;
  for (size_t i = 0; i < own; ++i) {
    Value at = e.broadcastAxis(index[skip + i], batchDims[skip + i], dims[i]);
    offset = e.add(offset, e.mul(at, valueOf(view.strides[i])));
  }
  return offset;
}

} // namespace tenon::cpu
