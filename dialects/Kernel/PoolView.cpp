//===- PoolView.cpp - Pools, by vectors -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/PoolView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Elements of a window that are added in f32, and taps of a last axis, each of
/// which has code of its own.
constexpr int64_t mostSummed = 64, mostUnrolled = 16;

/// Elements of windows that are worth handing to a thread.
constexpr int64_t pieceElements = 80000;

std::optional<PoolView> viewOf(Operation *root) {
  auto max = dyn_cast_if_present<graph::MaxPoolOp>(root);
  auto average = dyn_cast_if_present<graph::AveragePoolOp>(root);
  auto fill = [&](auto pool, bool countPads) {
    return PoolView{pool,
                    pool.getKernel(),
                    pool.getStrides(),
                    pool.getDilations(),
                    pool.getPads(),
                    pool.getChannelsLast(),
                    bool(max),
                    countPads};
  };
  if (max)
    return fill(max, false);
  if (average)
    return fill(average, average.getCountPads());
  return std::nullopt;
}

std::optional<std::string> refusalOf(const PoolView &view) {
  Type element = graph::getElementType(view.op->getResult(0));
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return "its elements are not f32, f16 or bf16";
  if (!isa<BlockArgument>(view.op->getOperand(0)))
    return "its image is computed in the kernel";
  SmallVector<Expr> dims = graph::getDims(view.op->getResult(0));
  if (dims.size() < 3)
    return "it has no spatial axis";
  if (dims.back().isConstant(1))
    return "its rows are of one element";
  int64_t elements = 1;
  for (int64_t taps : view.kernel)
    elements = std::min(elements * std::min(taps, mostSummed), 2 * mostSummed);
  if (!view.isMax && elements > mostSummed)
    return "its windows are large";
  if (view.channelsLast)
    return std::nullopt;
  if (view.strides.back() != 1)
    return "neighbours along the last axis have windows further apart";
  if (view.kernel.back() > mostUnrolled)
    return "its windows are wide";
  return std::nullopt;
}

} // namespace

Geometry PoolView::geometry(Block &body) const {
  SmallVector<Expr> dims = graph::getDims(op->getResult(0));
  MLIRContext *context = op->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  int64_t cost = std::distance(body.begin(), body.end());
  for (int64_t taps : kernel)
    cost = std::min(cost * taps, pieceElements);
  Expr row = (dims.back() * cost).max(number(1));
  return {graph::product(context, ArrayRef(dims).drop_back()),
          number(pieceElements).ceilDiv(row), number(0)};
}

std::optional<PoolView> poolViewOf(Block &body, std::string &why) {
  std::optional<PoolView> view = viewOf(findRoot(body));
  if (!view) {
    why = "its root is neither a max pool nor an average pool";
    return std::nullopt;
  }
  if (std::optional<std::string> refusal = refusalOf(*view)) {
    why = *refusal;
    return std::nullopt;
  }
  if (!view->geometry(body)) {
    why = "a size is beyond what an expression holds";
    return std::nullopt;
  }
  return view;
}

} // namespace tenon::kernel
