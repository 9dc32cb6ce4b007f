//===- PadChannels.cpp - Convolutions whose channels lie in pairs ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images have three channels, and kernels of bf16 multiply pairs. A fourth one
// of zeros makes the products a third more, and them a fifteenth of the time.
//
// The first layer of ResNet has windows of 7 x 7 taps: with a channel more, 98
// pairs. Matrix units take 16 at a time, and another shape for what is left
// costs more than a step. With 7 x 8 taps they are 112, and a window's line is
// one of the cache.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/Matching.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Beyond these another channel would be little of a window, but copying the
/// image much.
constexpr int64_t mostChannels = 15;
/// Pairs that a step of a matrix unit takes.
constexpr int64_t pairsOfStep = 16;

/// The taps of the last axis that make windows of `pairs` pairs per tap whole
/// steps; as many as there are where it would take a quarter more.
int64_t wholeTaps(int64_t taps, int64_t pairs) {
  for (int64_t count = taps; count <= taps + taps / 4; ++count)
    if (count * pairs % pairsOfStep == 0)
      return count;
  return taps;
}

} // namespace

Value padded(OpBuilder &builder, Location loc, Value value,
             ArrayRef<Expr> dims) {
  Type element = graph::getElementType(value);
  Value zero =
      scalarOf(builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
  Exprs low(dims.size(), Expr::constant(builder.getContext(), 0));
  return graph::PadOp::create(builder, loc, graph::tensorOf(dims, element),
                              value, zero,
                              graph::DimsAttr::get(builder.getContext(), low),
                              graph::PadMode::Constant);
}

bool canPadImage(Value image) {
  while (auto move = image.getDefiningOp<graph::TransposeOp>())
    image = move.getInput();
  return isGiven(image) || graph::isPointwise(image.getDefiningOp());
}

bool canPadChannels(graph::ConvOp op) {
  std::optional<int64_t> channels =
      graph::getDims(op.getFilter())[1].asConstant();
  if (!op.getChannelsLast() || op.getGroup() != 1 || !channels ||
      *channels % 2 == 0 || *channels > mostChannels)
    return false;
  return canPadImage(op.getInput());
}

void padChannels(graph::ConvOp op) {
  OpBuilder builder(op);
  auto number = [&](int64_t value) {
    return Expr::constant(builder.getContext(), value);
  };
  SmallVector<Expr> filter = graph::getDims(op.getFilter());
  int64_t channels = *filter[1].asConstant() + 1;
  filter[1] = number(channels);
  int64_t pairs = channels / 2;
  for (Expr taps : ArrayRef(filter).drop_front(2).drop_back())
    pairs *= *taps.asConstant();
  int64_t taps = *filter.back().asConstant(), more = 0;
  if (filter.size() > 2)
    more = wholeTaps(taps, pairs) - taps;
  filter.back() = number(taps + more);
  SmallVector<Expr> image = graph::getDims(op.getInput());
  image.back() = number(channels);
  SmallVector<Expr> pads = op.getPads().exprs();
  pads.back() = pads.back() + number(more * op.getDilations().back());
  if (!pads.back())
    return;
  op.getInputMutable().assign(
      padded(builder, op.getLoc(), op.getInput(), image));
  op.getFilterMutable().assign(
      padded(builder, op.getLoc(), op.getFilter(), filter));
  op.setPadsAttr(graph::DimsAttr::get(builder.getContext(), pads));
}

} // namespace tenon
