//===- SplitConvGroups.cpp - Groups that no kernel convolves at once ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU's kernel for groups keeps lines of an image in cache, whose sizes it
// has to know. Where it does not suit, each group is a convolution by itself,
// of its channels and by its filter; the maps of all are joined behind.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/DirectConvView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SPLITCONVGROUPSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Groups of fewer maps, or channels, would leave most of a panel empty; more
/// groups would be as many kernels.
constexpr int64_t fewestMaps = 8, fewestChannels = 4, mostGroups = 64;

std::string refusal(graph::ConvOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (!op.getChannelsLast() || !filter.getElementType().isF32() ||
      !graph::getElementType(op.getInput()).isF32())
    return "it is not of f32 with channels last";
  if (!isStored(op.getFilter()) || !filter.hasStaticShape())
    return "its filter is no weight";
  if (filter.getDimSize(0) / op.getGroup() < fewestMaps ||
      filter.getDimSize(1) < fewestChannels || op.getGroup() > mostGroups)
    return "its groups are small, or many";
  std::string why;
  if (kernel::directConvViewOf(op, why))
    return "a kernel convolves its groups at once";
  return "";
}

/// `count` elements along an axis, from `first` on.
Value part(OpBuilder &b, Location loc, Value value, int64_t axis, int64_t first,
           int64_t count) {
  auto number = [&](int64_t n) {
    return graph::Expr::constant(b.getContext(), n);
  };
  SmallVector<graph::Expr> dims = graph::getDims(value);
  SmallVector<graph::Expr> starts(dims.size(), number(0)),
      steps(dims.size(), number(1));
  dims[axis] = number(count);
  starts[axis] = number(first);
  return graph::SliceOp::create(
      b, loc, graph::tensorOf(dims, graph::getElementType(value)), value,
      graph::DimsAttr::get(b.getContext(), starts),
      graph::DimsAttr::get(b.getContext(), steps));
}

void split(graph::ConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  int64_t channels = filter.getDimSize(1);
  int64_t maps = filter.getDimSize(0) / op.getGroup();
  int64_t last = graph::getRank(op.getInput()) - 1;
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  dims.back() = graph::Expr::constant(b.getContext(), maps);
  SmallVector<Value> results;
  for (int64_t i = 0, end = int64_t(op.getGroup()); i < end; ++i)
    results.push_back(graph::ConvOp::create(
        b, loc, graph::tensorOf(dims, b.getF32Type()),
        part(b, loc, op.getInput(), last, i * channels, channels),
        part(b, loc, op.getFilter(), 0, i * maps, maps), op.getStrides(),
        op.getDilations(), op.getPads(), /*group=*/1, /*channels_last=*/true));
  Value all = graph::ConcatOp::create(b, loc, op.getType(), results, last);
  op.replaceAllUsesWith(all);
  op.erase();
}

struct SplitConvGroups : impl::SplitConvGroupsPassBase<SplitConvGroups> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<graph::ConvOp> convs;
    getOperation().walk([&](graph::ConvOp op) {
      if (op.getGroup() > 1)
        convs.push_back(op);
    });
    for (graph::ConvOp op : convs) {
      std::string why = refusal(op);
      if (why.empty())
        split(op);
      else if (explain)
        op.emitRemark("groups stay together: ") << why;
    }
  }
};

} // namespace
} // namespace tenon
