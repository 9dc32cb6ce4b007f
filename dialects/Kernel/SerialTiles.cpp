//===- SerialTiles.cpp - Blocks for what is serial on one thread ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/SerialTiles.h"
#include "llvm/Support/MathExtras.h"

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

int64_t recurrentThreads(graph::RecurrentOp op) {
  // Warps sum units of gates, some of them each.
  constexpr int64_t few = 128, many = 512, manyUnits = 128;
  Expr units = graph::getDim(op.getRecurrence(), 1);
  return units.asConstant().value_or(manyUnits) < manyUnits ? few : many;
}

SmallVector<int64_t> recurrentAreas(graph::RecurrentOp op) {
  constexpr int64_t most = 96 << 10, alignment = 16;
  auto units = graph::getDim(op.getRecurrence(), 1).asConstant();
  auto hidden = graph::getDim(op.getRecurrence(), 2).asConstant();
  if (!units || !hidden || *units > most || *hidden > most)
    return {};
  bool isGru = op.getCell() == graph::CellKind::Gru;
  int64_t width = computeWidth(graph::getElementType(op.getInput())), all = 0;
  SmallVector<int64_t> areas;
  for (int64_t count : {*units * (isGru ? 2 : 1), *hidden, *hidden, *hidden})
    all += areas.emplace_back(llvm::alignTo(count * width, alignment));
  return all <= most ? areas : SmallVector<int64_t>();
}

bool yieldsRoot(Block &body, Operation *root) {
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
    return behindReshapes(yielded).getDefiningOp() == root;
  });
}

SmallVector<Expr> dimsBut(Value tensor, int64_t axis) {
  SmallVector<Expr> dims = graph::getDims(tensor);
  dims[axis] = Expr::constant(tensor.getContext(), 1);
  return dims;
}

} // namespace tenon::kernel
