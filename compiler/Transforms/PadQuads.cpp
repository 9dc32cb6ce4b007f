//===- PadQuads.cpp - Images of bytes whose channels are whole quads ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels read four bytes at once. A network's first image has three channels,
// and lines of its windows would be copied byte by byte: with a fourth one they
// are read where they lie.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/QuantizedFactors.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PADQUADSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool canPad(graph::ConvOp op, const kernel::IntegerConvView &view) {
  int64_t channels =
      cast<RankedTensorType>(op.getFilter().getType()).getDimSize(1);
  // A zero point is no number of the filter: to it zeros are not nothing.
  return channels % kernel::quadSteps != 0 && !view.filter.zero &&
         canPadQuads(channels, view.input.view.base);
}

/// Whether a value holds one number per channel, as smoothing's scales do.
bool isPerChannel(Value value, ArrayRef<graph::Expr> dims) {
  return graph::getRank(value) == 1 && !graph::isOneNumber(value) &&
         graph::getDims(value)[0] == dims.back();
}

/// The one operand of a pointwise op that has its sizes, where all others are
/// one number, or factors of the channels where these are last, and nothing
/// else reads the op; null for other ops.
Value onlyInput(Operation *op, bool channelsLast) {
  if (!op || !graph::isPointwise(op) || !op->hasOneUse())
    return {};
  SmallVector<graph::Expr> dims = graph::getDims(op->getResult(0));
  Value input;
  for (Value operand : op->getOperands()) {
    if (graph::isOneNumber(operand) ||
        (channelsLast && isa<graph::MulOp>(op) && isPerChannel(operand, dims)))
      continue;
    if (input || graph::getDims(operand) != dims)
      return {};
    input = operand;
  }
  return input;
}

/// An image with zeros behind its channels, in front of what computes its
/// elements from those of another one: a kernel turns, pads and computes, but
/// none does so in another order.
Value paddedImage(OpBuilder &b, Location loc, Value image,
                  ArrayRef<graph::Expr> dims, graph::TransposeOp turn) {
  Operation *op = image.getDefiningOp();
  if (auto next = dyn_cast_if_present<graph::TransposeOp>(op);
      next && !turn && next->hasOneUse())
    return paddedImage(b, loc, next.getInput(), dims, next);
  if (Value input = onlyInput(op, /*channelsLast=*/!turn)) {
    IRMapping map;
    map.map(input, paddedImage(b, loc, input, dims, turn));
    for (Value operand : op->getOperands())
      if (operand != input && isPerChannel(operand, graph::getDims(image)))
        map.map(operand, padded(b, loc, operand, dims.back()));
    Operation *computed = b.clone(*op, map);
    computed->getResult(0).setType(
        graph::tensorOf(dims, graph::getElementType(image)));
    return computed->getResult(0);
  }
  if (turn)
    image = graph::TransposeOp::create(b, loc, image, turn.getPermutation());
  return padded(b, loc, image, dims);
}

/// The numbers behind a cast, with zeros behind their channels, as i32 less the
/// zero point.
Value widened(OpBuilder &b, Location loc, const kernel::IntegerFactor &factor,
              size_t axis, int64_t channels) {
  SmallVector<graph::Expr> dims = graph::getDims(factor.view.base);
  dims[axis] = graph::Expr::constant(b.getContext(), channels);
  Value numbers = castTo(
      b, loc, paddedImage(b, loc, factor.view.base, dims, {}), b.getI32Type());
  if (!factor.zero)
    return numbers;
  return graph::SubOp::create(b, loc, numbers.getType(), numbers, factor.zero);
}

void pad(graph::ConvOp op, const kernel::IntegerConvView &view) {
  OpBuilder b(op);
  Value image = op.getInput(), filter = op.getFilter();
  int64_t channels =
      llvm::alignTo(cast<RankedTensorType>(filter.getType()).getDimSize(1),
                    kernel::quadSteps);
  size_t last = size_t(graph::getRank(image) - 1);
  op.getInputMutable().assign(
      widened(b, op.getLoc(), view.input, last, channels));
  op.getFilterMutable().assign(
      widened(b, op.getLoc(), view.filter, /*axis=*/1, channels));
  for (Value before : {image, filter})
    eraseUnused(before.getDefiningOp());
}

struct PadQuads : impl::PadQuadsPassBase<PadQuads> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<graph::ConvOp> convs;
    getOperation().walk([&](graph::ConvOp op) { convs.push_back(op); });
    for (graph::ConvOp op : convs)
      if (auto view = kernel::integerConvViewOf(op); view && canPad(op, *view))
        pad(op, *view);
  }
};

} // namespace
} // namespace tenon
