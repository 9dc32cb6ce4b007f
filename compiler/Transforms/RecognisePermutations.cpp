//===- RecognisePermutations.cpp - Each element once, elsewhere -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swin rolls images and merges patches by slices that together hold each
// element once; as one op they are an index map that kernels read through.
// Exporters end a pool by a gather of each element in its place.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/IndexExpression.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEPERMUTATIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// The operands of a concat where all are slices of one tensor; else empty.
SmallVector<graph::SliceOp> slicesOf(graph::ConcatOp op) {
  SmallVector<graph::SliceOp> slices;
  for (Value operand : op.getInputs()) {
    auto slice = operand.getDefiningOp<graph::SliceOp>();
    if (!slice ||
        (!slices.empty() && slice.getInput() != slices.front().getInput()))
      return {};
    slices.push_back(slice);
  }
  return slices;
}

//===--- Rolls ---===//

/// Whether a slice takes everything along all axes but `axis`, and there what
/// follows each other.
bool cutsOnly(graph::SliceOp op, int64_t axis) {
  for (int64_t i = 0; i < graph::getRank(op); ++i) {
    if (!op.getSteps()[i].isConstant(1))
      return false;
    if (i != axis && (!op.getStarts()[i].isConstant(0) ||
                      graph::getDim(op, i) != graph::getDim(op.getInput(), i)))
      return false;
  }
  return true;
}

/// concat(slice(x, k..n), slice(x, 0..k)) -> pad(x) that starts at k and wraps
std::optional<StringRef> rewriteRoll(graph::ConcatOp op,
                                     ArrayRef<graph::SliceOp> slices) {
  int64_t axis = op.getAxis();
  graph::SliceOp first = slices[0], second = slices[1];
  if (!cutsOnly(first, axis) || !cutsOnly(second, axis))
    return "its slices leave something out";
  Expr size = graph::getDim(first.getInput(), axis);
  Expr start = first.getStarts()[axis];
  if (!second.getStarts()[axis].isConstant(0) ||
      graph::getDim(second, axis) != start ||
      start + graph::getDim(first, axis) != size)
    return "its slices are not two parts in turned order";
  if (axis + 1 == graph::getRank(op))
    return "along the last axis its parts are copied as they are";
  OpBuilder builder(op);
  MLIRContext *context = op.getContext();
  Type element = graph::getElementType(op.getResult());
  Value zero = scalarOf(builder, op.getLoc(), builder.getZeroAttr(element));
  Exprs low(graph::getRank(op), Expr::constant(context, 0));
  low[axis] = low[axis] - start;
  if (!low[axis])
    return "a number overflows";
  Value value = graph::PadOp::create(
      builder, op.getLoc(), op.getType(), first.getInput(), zero,
      graph::DimsAttr::get(context, low), graph::PadMode::Wrap);
  op.getResult().replaceAllUsesWith(value);
  return std::nullopt;
}

//===--- Patches ---===//

/// Slice t of a grid starts at (t / distance) mod step along each axis that has
/// a step other than 1. From the axis that moves fastest on, each distance is
/// the product of the steps before: so each start is taken once.
struct GridAxis {
  int64_t axis, step, distance;
};
using Grid = SmallVector<GridAxis>;

std::optional<StringRef> matchSteps(ArrayRef<graph::SliceOp> slices,
                                    Grid &grid) {
  graph::SliceOp first = slices.front();
  int64_t count = slices.size();
  for (int64_t i = 0; i < graph::getRank(first); ++i) {
    std::optional<int64_t> step = first.getSteps()[i].asConstant();
    if (!step || *step < 1 || *step > count ||
        graph::getDim(first, i) * *step != graph::getDim(first.getInput(), i))
      return "its slices are no regular grid";
    const auto *moved = llvm::find_if(slices, [&](graph::SliceOp slice) {
      return !slice.getStarts()[i].isConstant(0);
    });
    if (*step > 1)
      grid.push_back({i, *step, moved - slices.begin()});
  }
  llvm::sort(grid, [](const GridAxis &a, const GridAxis &b) {
    return a.distance < b.distance;
  });
  int64_t expected = 1;
  for (const GridAxis &each : grid) {
    if (each.distance != expected)
      return "its slices do not take turns";
    expected *= each.step; // At most count * count.
    if (expected > count)
      return "its slices leave something out";
  }
  if (expected != count)
    return "its slices overlap";
  return std::nullopt;
}

std::optional<StringRef> matchGrid(ArrayRef<graph::SliceOp> slices,
                                   Grid &grid) {
  if (std::optional<StringRef> why = matchSteps(slices, grid))
    return why;
  graph::SliceOp first = slices.front();
  for (size_t t = 0; t < slices.size(); ++t) {
    graph::SliceOp slice = slices[t];
    SmallVector<int64_t> starts(graph::getRank(first), 0);
    for (const GridAxis &each : grid)
      starts[each.axis] = t / each.distance % each.step;
    if (slice.getSteps() != first.getSteps() ||
        slice.getType() != first.getType())
      return "its slices differ in size or step";
    for (auto [start, expected] : llvm::zip(slice.getStarts().exprs(), starts))
      if (!start.isConstant(expected))
        return "its slices do not take turns";
  }
  return std::nullopt;
}

/// concat(slices of a grid) -> reshape(transpose(reshape(x)))
std::optional<StringRef> rewriteGrid(graph::ConcatOp op,
                                     ArrayRef<graph::SliceOp> slices) {
  Grid grid;
  if (std::optional<StringRef> why = matchGrid(slices, grid))
    return why;
  graph::SliceOp first = slices.front();
  Exprs split;
  SmallVector<int64_t> whole; // Where in `split` an axis is.
  for (int64_t i = 0; i < graph::getRank(first); ++i) {
    whole.push_back(split.size());
    split.push_back(graph::getDim(first, i));
    if (!first.getSteps()[i].isConstant(1))
      split.push_back(first.getSteps()[i]);
  }
  SmallVector<int64_t> order;
  for (auto [i, place] : llvm::enumerate(whole)) {
    if (i == op.getAxis())
      for (const GridAxis &each : llvm::reverse(grid))
        order.push_back(whole[each.axis] + 1);
    order.push_back(place);
  }
  Exprs turned;
  for (int64_t axis : order)
    turned.push_back(split[axis]);
  OpBuilder builder(op);
  Type element = graph::getElementType(op.getResult());
  Value value = graph::ReshapeOp::create(
      builder, op.getLoc(), graph::tensorOf(split, element), first.getInput());
  value = graph::TransposeOp::create(
      builder, op.getLoc(), graph::tensorOf(turned, element), value, order);
  value = graph::ReshapeOp::create(builder, op.getLoc(), op.getType(), value);
  op.getResult().replaceAllUsesWith(value);
  return std::nullopt;
}

//===--- Gathers of everything ---===//

/// gather(x, i * n + j) -> reshape(x), where i and j run over an axis
std::optional<StringRef> rewriteGather(graph::GatherOp op) {
  Exprs dims = graph::getDims(op.getIndices());
  MLIRContext *context = op.getContext();
  Expr count = graph::product(context, dims);
  if (!count || count != graph::getDim(op.getInput(), op.getAxis()))
    return "its positions are not as many as the axis has";
  IndexExpressions expressions(context, dims);
  Exprs at;
  Expr place = Expr::constant(context, 0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    at.push_back(dim.isConstant(1) ? Expr::constant(context, 0)
                                   : expressions.index(i));
    place = place * dim + at.back();
  }
  const Term *position = expressions.read(op.getIndices(), at);
  if (position->kind != Term::Kind::Integer || position->expr != place ||
      !expressions.obligations().empty())
    return "its positions are not proven to be all in order";
  OpBuilder builder(op);
  op.getResult().replaceAllUsesWith(graph::ReshapeOp::create(
      builder, op.getLoc(), op.getType(), op.getInput()));
  return std::nullopt;
}

struct RecognisePermutations
    : impl::RecognisePermutationsPassBase<RecognisePermutations> {
  using RecognisePermutationsPassBase::RecognisePermutationsPassBase;

  void runOnOperation() override {
    SmallVector<graph::ConcatOp> all;
    getOperation().walk([&](graph::ConcatOp op) { all.push_back(op); });
    for (graph::ConcatOp op : all)
      run(op);
    SmallVector<graph::GatherOp> gathers;
    getOperation().walk([&](graph::GatherOp op) { gathers.push_back(op); });
    for (graph::GatherOp op : gathers)
      // Rows of tables of weights are looked up.
      if (!op.getInput().getDefiningOp<graph::WeightOp>())
        finish(op, rewriteGather(op));
  }

private:
  void run(graph::ConcatOp op) {
    SmallVector<graph::SliceOp> slices = slicesOf(op);
    if (slices.size() < 2)
      return;
    bool hasSteps = llvm::any_of(slices[0].getSteps().exprs(),
                                 [](Expr step) { return !step.isConstant(1); });
    std::optional<StringRef> why = "its slices have no steps and are not two";
    if (hasSteps)
      why = rewriteGrid(op, slices);
    else if (slices.size() == 2)
      why = rewriteRoll(op, slices);
    finish(op, why);
  }

  void finish(Operation *op, std::optional<StringRef> why) {
    if (!why)
      eraseUnused(op);
    else if (explain)
      op->emitRemark("is no permutation of its input: ") << *why;
  }
};

} // namespace
} // namespace tenon
