//===- SerialTiles.cpp - Blocks for what is serial on one thread ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/SerialTiles.h"

using namespace mlir;

namespace tenon::kernel {

bool isInnermost(Value tensor, int64_t axis) {
  int64_t last = graph::getRank(tensor) - 1;
  while (last > 0 && graph::getDim(tensor, last).isConstant(1))
    --last;
  return axis == last;
}

bool takesFew(graph::TopkOp op) {
  // A pass for each of the best takes as long as so many steps of a count.
  constexpr int64_t most = 64, always = 8, stepsOfPass = 800;
  int64_t axis = op.getAxis();
  std::optional<int64_t> few = graph::getDim(op.getValues(), axis).asConstant();
  if (!few || *few > most)
    return false;
  std::optional<int64_t> many = graph::getDim(op.getInput(), axis).asConstant();
  return *few <= always || *few * stepsOfPass < many.value_or(INT64_MAX);
}

SmallVector<Expr> dimsBut(Value tensor, int64_t axis) {
  SmallVector<Expr> dims = graph::getDims(tensor);
  dims[axis] = Expr::constant(tensor.getContext(), 1);
  return dims;
}

} // namespace tenon::kernel
