//===- PlanesView.cpp - Convolutions of each channel, plane by plane ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/PlanesView.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/PaddedLine.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Of a filter: the weights of a column wait in registers.
constexpr int64_t mostLines = 16, mostPixels = 64;

/// Lines and columns between taps.
constexpr int64_t mostDilation = 64, mostStride = 16;

/// With fewer, most of a vector would be idle.
constexpr int64_t fewestWindows = 8;

/// Products that are worth handing to a thread.
constexpr int64_t pieceProducts = 80000;

std::optional<std::string> refusalOf(graph::ConvOp op) {
  if (!graph::getElementType(op.getInput()).isF32())
    return "its operands are not f32";
  int64_t rank = graph::getRank(op.getInput());
  if (rank < 3 || rank > 4)
    return "it has neither one spatial axis nor two";
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!filter.hasStaticShape())
    return "the filter has not numbers as sizes";
  if (!isDepthwise(op))
    return "a group has several channels";
  int64_t pixels = filter.getShape().back();
  int64_t lines = rank == 4 ? filter.getDimSize(2) : 1;
  if (lines < 1 || lines > mostLines || pixels < 1 || pixels > mostPixels)
    return "its windows are large, or empty";
  if (llvm::any_of(op.getDilations(),
                   [](int64_t n) { return n > mostDilation; }) ||
      llvm::any_of(op.getStrides(), [](int64_t n) { return n > mostStride; }))
    return "its windows are wide, or far apart";
  return std::nullopt;
}

/// Those of the result, with channels first.
SmallVector<Expr> planeDims(graph::ConvOp op) {
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  if (op.getChannelsLast())
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

} // namespace

Expr PlanesView::lineBytes() const {
  return paddedLineBytes(planeDims(op).back(), pixelStride,
                         pixels * pixelDilation);
}

Geometry PlanesView::geometry(Block &body) const {
  SmallVector<Expr> dims = planeDims(op);
  MLIRContext *context = dims[0].getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr windows = dims.pop_back_val();
  Expr height = dims.size() == 3 ? dims[2].max(number(1)) : number(1);
  int64_t cost = std::distance(body.begin(), body.end()) + lines * pixels;
  Expr grain = number(pieceProducts).ceilDiv((windows * cost).max(number(1)));
  // Whole planes, or blocks of lines, as each reads others beside it.
  std::optional<int64_t> known = height.asConstant();
  if (known && *known <= 4 * blockLines)
    grain = grain.ceilDiv(height) * height;
  else
    grain = grain.max(number(blockLines));
  Expr read = (height.min(number(blockLines)) + -1) * lineStride +
              ((lines - 1) * lineDilation + 1);
  return {graph::product(context, dims), grain, lineBytes() * read};
}

std::optional<PlanesView> planesViewOf(graph::ConvOp op, std::string &why) {
  if (std::optional<std::string> refusal = refusalOf(op)) {
    why = *refusal;
    return std::nullopt;
  }
  ArrayRef<int64_t> filter =
      cast<RankedTensorType>(op.getFilter().getType()).getShape();
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  bool hasLines = strides.size() == 2;
  PlanesView view = {op,
                     hasLines ? filter[2] : 1,
                     filter.back(),
                     hasLines ? strides[0] : 1,
                     strides.back(),
                     hasLines ? dilations[0] : 1,
                     dilations.back()};
  std::optional<int64_t> windows = planeDims(op).back().asConstant();
  if (windows && *windows < fewestWindows) {
    why = "its lines are short";
    return std::nullopt;
  }
  if (!view.geometry(*op->getBlock())) {
    why = "a size is beyond what an expression holds";
    return std::nullopt;
  }
  return view;
}

} // namespace tenon::kernel
