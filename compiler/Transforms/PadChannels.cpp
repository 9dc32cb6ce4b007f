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
// Where the stride of lines divides them, so many pixels side by side are one
// of all their channels: an even number that needs no zeros. Windows start at
// such pixels, with taps of zeros in front and behind, and ResNet's have 84
// pairs, seven steps of 12.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/Matching.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/IntegerMatmulView.h"

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

/// The last axis of a convolution whose strides are channels.
struct FoldedAxis {
  int64_t stride, before, taps; // Taps of zeros in front; all, a multiple.
  int64_t low, high;            // Pads, in pixels of `stride` ones.
};

/// nullopt where sizes or pads are no numbers, such pixels have an odd number
/// of channels, or windows would have more of them than `mostElements`.
std::optional<FoldedAxis> foldedAxisOf(graph::ConvOp op, int64_t mostElements) {
  if (op.getStrides().empty() || op.getDilations().back() != 1)
    return std::nullopt;
  SmallVector<Expr> filter = graph::getDims(op.getFilter());
  SmallVector<Expr> pads = op.getPads().exprs();
  auto numberOf = [](Expr value) { return value.asConstant().value_or(-1); };
  int64_t pixels = numberOf(graph::getDims(op.getInput()).end()[-2]);
  int64_t count = numberOf(graph::getDims(op.getResult()).end()[-2]);
  int64_t low = numberOf(pads[pads.size() / 2 - 1]);
  int64_t stride = op.getStrides().back();
  int64_t channels = stride * *filter[1].asConstant();
  if (pixels < 1 || count < 1 || low < 0 || stride == 1 ||
      pixels % stride != 0 || channels % 2 != 0)
    return std::nullopt;
  int64_t before = llvm::alignTo(low, stride) - low;
  int64_t taps = llvm::alignTo(before + *filter.back().asConstant(), stride);
  FoldedAxis axis{stride, before, taps, (low + before) / stride, 0};
  axis.high = count - 1 + taps / stride - axis.low - pixels / stride;
  if (axis.high < 0 || taps * *filter[1].asConstant() > mostElements)
    return std::nullopt;
  return axis;
}

/// Makes channels of the pixels of a stride: in the image, which stays as it
/// lies, and in the filter.
void foldStrides(graph::ConvOp op, const FoldedAxis &axis) {
  OpBuilder builder(op);
  auto number = [&](int64_t value) {
    return Expr::constant(builder.getContext(), value);
  };
  auto reshaped = [&](Value value, ArrayRef<Expr> dims) -> Value {
    auto type = graph::tensorOf(dims, graph::getElementType(value));
    return graph::ReshapeOp::create(builder, op.getLoc(), type, value);
  };
  Exprs image = graph::getDims(op.getInput());
  image.end()[-2] = image.end()[-2].floorDiv(number(axis.stride));
  image.back() = image.back() * number(axis.stride);
  op.getInputMutable().assign(reshaped(op.getInput(), image));

  Exprs filter = graph::getDims(op.getFilter());
  filter.back() = number(axis.taps);
  Exprs before(filter.size(), number(0));
  before.back() = number(axis.before);
  Value value = padded(builder, op.getLoc(), op.getFilter(), filter, before);
  filter.back() = number(axis.taps / axis.stride);
  filter.push_back(number(axis.stride));
  value = reshaped(value, filter);
  // The pixels of a stride stand before the channels.
  int64_t last = int64_t(filter.size()) - 1;
  SmallVector<int64_t> order = {0, last};
  for (int64_t i = 1; i < last; ++i)
    order.push_back(i);
  value = graph::TransposeOp::create(builder, op.getLoc(), value, order);
  filter.pop_back();
  filter[1] = image.back();
  op.getFilterMutable().assign(reshaped(value, filter));

  Exprs pads = op.getPads().exprs();
  pads[pads.size() / 2 - 1] = number(axis.low);
  pads.back() = number(axis.high);
  op.setPadsAttr(graph::DimsAttr::get(builder.getContext(), pads));
  SmallVector<int64_t> strides(op.getStrides());
  strides.back() = 1;
  op.setStrides(strides);
}

} // namespace

Value padded(OpBuilder &builder, Location loc, Value value, ArrayRef<Expr> dims,
             ArrayRef<Expr> before) {
  Type element = graph::getElementType(value);
  Value zero =
      scalarOf(builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
  Exprs low(before);
  low.resize(dims.size(), Expr::constant(builder.getContext(), 0));
  return graph::PadOp::create(builder, loc, graph::tensorOf(dims, element),
                              value, zero,
                              graph::DimsAttr::get(builder.getContext(), low),
                              graph::PadMode::Constant);
}

bool canPadImage(Value image) {
  // One channel is moved by a reshape.
  while (isa_and_present<graph::TransposeOp, graph::ReshapeOp>(
      image.getDefiningOp()))
    image = image.getDefiningOp()->getOperand(0);
  return isGiven(image) || graph::isPointwise(image.getDefiningOp());
}

bool canPadQuads(int64_t channels, Value image) {
  return channels <= mostChannels && canPadImage(image);
}

bool fitsByteTiles(graph::ConvOp op, Value image) {
  SmallVector<Expr> filter = graph::getDims(op.getFilter());
  int64_t channels = filter[1].asConstant().value_or(1);
  return op.getGroup() == 1 &&
         filter[0].asConstant().value_or(0) >= kernel::fewestTileMaps &&
         (channels % kernel::quadSteps == 0 || canPadQuads(channels, image));
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
  if (std::optional<FoldedAxis> axis =
          foldedAxisOf(op, (taps + more) * channels))
    return foldStrides(op, *axis);
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
