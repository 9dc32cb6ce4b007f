//===- TrimTaps.cpp - Taps that no window reads the image by --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks that get smaller images than they were drawn for end in convolutions
// whose borders are larger than what they are around: 3x3 taps over one pixel
// are one tap, and eight of nine weights are read for nothing. So are taps of
// dilated windows that reach beyond an image.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/DirectConvView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_TRIMTAPSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;
using kernel::DirectConvAxis;

/// Taps [first, end) of an axis.
struct Taps {
  int64_t first, end;
};

/// Whether an output reads the image by a tap.
bool isRead(const DirectConvAxis &axis, int64_t tap) {
  int64_t start = tap * axis.dilation - axis.low;
  int64_t output = start < 0 ? llvm::divideCeil(-start, axis.stride) : 0;
  return output < axis.count && output * axis.stride + start < axis.size;
}

/// Those that are left when borders go with the taps that alone read them.
/// nullopt where none reads the image.
std::optional<Taps> readTaps(const DirectConvAxis &axis, int64_t high) {
  Taps read = {0, axis.taps};
  auto canTrim = [&](int64_t tap, int64_t border) {
    return border >= axis.dilation && !isRead(axis, tap);
  };
  for (int64_t low = axis.low;
       read.first < read.end && canTrim(read.first, low); low -= axis.dilation)
    ++read.first;
  for (; read.first < read.end && canTrim(read.end - 1, high);
       high -= axis.dilation)
    --read.end;
  if (read.first == read.end)
    return std::nullopt;
  return read;
}

void trim(graph::ConvOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!op.getChannelsLast() || !filter.hasStaticShape() ||
      filter.getNumElements() > mostFoldedElements ||
      !isWeightOrConstant(op.getFilter()))
    return;
  OpBuilder b(op);
  auto number = [&](int64_t n) { return Expr::constant(b.getContext(), n); };
  size_t axes = op.getStrides().size();
  SmallVector<Expr> pads = op.getPads().exprs();
  SmallVector<Expr> dims = graph::getDims(op.getFilter());
  SmallVector<Expr> starts(dims.size(), number(0)),
      steps(dims.size(), number(1));
  bool trims = false;
  for (size_t i = 0; i < axes; ++i) {
    std::optional<DirectConvAxis> axis = kernel::directConvAxisOf(op, i);
    if (!axis || axis->count < 1)
      continue;
    int64_t high = *pads[axes + i].asConstant();
    std::optional<Taps> read = readTaps(*axis, high);
    if (!read)
      return;
    int64_t behind = axis->taps - read->end;
    trims |= read->first + behind > 0;
    dims[2 + i] = number(read->end - read->first);
    starts[2 + i] = number(read->first);
    pads[i] = number(axis->low - read->first * axis->dilation);
    pads[axes + i] = number(high - behind * axis->dilation);
  }
  if (!trims)
    return;
  op.getFilterMutable().assign(graph::SliceOp::create(
      b, op.getLoc(), graph::tensorOf(dims, filter.getElementType()),
      op.getFilter(), graph::DimsAttr::get(b.getContext(), starts),
      graph::DimsAttr::get(b.getContext(), steps)));
  op.setPadsAttr(graph::DimsAttr::get(b.getContext(), pads));
}

struct TrimTaps : impl::TrimTapsPassBase<TrimTaps> {
  void runOnOperation() override { getOperation().walk(trim); }
};

} // namespace
} // namespace tenon
