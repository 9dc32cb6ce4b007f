//===- PoolView.cpp - Pools, by vectors -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/PoolView.h"
#include "dialects/Kernel/PaddedLine.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Elements that are added in f32 one after the other.
constexpr int64_t mostSummed = 64;

/// The largest distance between elements of a window along the last axis.
constexpr int64_t mostReach = 1 << 20;

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
  // Lines are joined first, and then their elements.
  ArrayRef<int64_t> atOnce = view.kernel;
  if (!view.channelsLast)
    atOnce = atOnce.drop_back();
  int64_t elements = 1;
  for (int64_t taps : atOnce)
    elements = std::min(elements * std::min(taps, mostSummed), 2 * mostSummed);
  bool isWide = !view.channelsLast && view.kernel.back() > mostSummed;
  if (!view.isMax && (elements > mostSummed || isWide))
    return "its windows are large";
  if (view.channelsLast)
    return std::nullopt;
  int64_t taps = view.kernel.back(), dilation = view.dilations.back();
  if (taps > mostReach || dilation > mostReach || taps * dilation > mostReach)
    return "its windows are wide";
  if (view.strides.back() > (taps - 1) * dilation + 1)
    return "there are gaps between neighbouring windows";
  return std::nullopt;
}

} // namespace

Expr PoolView::number(int64_t value) const {
  return Expr::constant(op->getContext(), value);
}

Expr PoolView::lineBytes() const {
  return paddedLineBytes(graph::getDims(op->getResult(0)).back(),
                         strides.back(), kernel.back() * dilations.back());
}

Geometry PoolView::geometry(Block &body) const {
  SmallVector<Expr> dims = graph::getDims(op->getResult(0));
  MLIRContext *context = op->getContext();
  int64_t cost = std::distance(body.begin(), body.end());
  for (int64_t taps : kernel)
    cost = std::min(cost * taps, pieceElements);
  Expr row = (dims.back() * cost).max(number(1)), scratch = number(0);
  if (!channelsLast) // A line, and the counts of its means.
    scratch =
        lineBytes() + (isMax ? number(0) : (dims.back() + lineBehind) * 4);
  return {graph::product(context, ArrayRef(dims).drop_back()),
          number(pieceElements).ceilDiv(row), scratch};
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
