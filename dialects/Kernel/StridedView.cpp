//===- StridedView.cpp - Tensors that are a view of memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/StridedView.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

using Exprs = SmallVector<Expr>;

std::optional<Exprs> rowMajorStrides(MLIRContext *context,
                                     ArrayRef<Expr> dims) {
  Exprs strides(dims.size());
  Expr stride = Expr::constant(context, 1);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    if (stride = stride * dims[i]; !stride)
      return std::nullopt;
  }
  return strides;
}

/// Axes of one shape that hold the same elements as axes of another.
struct AxisGroup {
  SmallVector<size_t> from, to;
};

/// Pairs axes of equal product from the left; axes of size 1 are in no group.
std::optional<SmallVector<AxisGroup>> groupAxes(ArrayRef<Expr> from,
                                                ArrayRef<Expr> to) {
  auto axesOf = [](ArrayRef<Expr> dims) {
    SmallVector<size_t> axes;
    for (auto [i, dim] : llvm::enumerate(dims))
      if (!dim.isConstant(1))
        axes.push_back(i);
    return axes;
  };
  SmallVector<size_t> fromAxes = axesOf(from), toAxes = axesOf(to);
  SmallVector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < fromAxes.size() && j < toAxes.size()) {
    AxisGroup group;
    Expr left = from[fromAxes[i]], right = to[toAxes[j]];
    group.from.push_back(fromAxes[i++]);
    group.to.push_back(toAxes[j++]);
    while (left != right) {
      // The side that divides the other one takes its next axis.
      if (i < fromAxes.size() && right.exactDiv(left)) {
        left = left * from[fromAxes[i]];
        group.from.push_back(fromAxes[i++]);
      } else if (j < toAxes.size() && left.exactDiv(right)) {
        right = right * to[toAxes[j]];
        group.to.push_back(toAxes[j++]);
      } else {
        return std::nullopt;
      }
      if (!left || !right)
        return std::nullopt;
    }
    groups.push_back(std::move(group));
  }
  if (i < fromAxes.size() || j < toAxes.size())
    return std::nullopt;
  return groups;
}

/// Strides under the dims `to` of memory that has `strides` under `from`.
std::optional<Exprs> reshapeStrides(ArrayRef<Expr> from, ArrayRef<Expr> strides,
                                    ArrayRef<Expr> to) {
  std::optional<SmallVector<AxisGroup>> groups = groupAxes(from, to);
  if (!groups)
    return std::nullopt;
  MLIRContext *context = nullptr;
  for (Expr dim : llvm::concat<const Expr>(from, to))
    context = dim.getContext();
  Exprs result(to.size());
  for (const AxisGroup &group : *groups) {
    for (size_t i = 1; i < group.from.size(); ++i) {
      size_t outer = group.from[i - 1], inner = group.from[i];
      if (strides[outer] != strides[inner] * from[inner])
        return std::nullopt;
    }
    Expr stride = strides[group.from.back()];
    for (size_t axis : llvm::reverse(group.to)) {
      result[axis] = stride;
      if (stride = stride * to[axis]; !stride)
        return std::nullopt;
    }
  }
  for (Expr &stride : result)
    if (!stride)
      stride = Expr::constant(context, 0);
  return result;
}

/// One step of the walk: the view of an op's operand under that of its result.
class Step {
public:
  Step(StridedView operand) : view(std::move(operand)) {}

  std::optional<StridedView> through(graph::TransposeOp op) {
    Exprs strides;
    for (int64_t axis : op.getPermutation())
      strides.push_back(view.strides[axis]);
    view.strides = std::move(strides);
    return view;
  }
  std::optional<StridedView> through(graph::ReshapeOp op) {
    std::optional<Exprs> strides =
        reshapeStrides(graph::getDims(op.getInput()), view.strides,
                       graph::getDims(op.getResult()));
    if (!strides)
      return std::nullopt;
    view.strides = std::move(*strides);
    return view;
  }
  std::optional<StridedView> through(graph::SliceOp op) {
    for (auto [i, stride] : llvm::enumerate(view.strides)) {
      Expr start = op.getStarts()[i] * stride;
      view.offset = start ? view.offset + start : Expr();
      stride = stride * op.getSteps()[i];
      if (!view.offset || !stride)
        return std::nullopt;
    }
    return view;
  }
  std::optional<StridedView> through(graph::WindowsOp op) {
    int64_t axis = op.getAxis();
    Expr stride = view.strides[axis];
    view.strides[axis] = stride * static_cast<int64_t>(op.getStride());
    view.strides.insert(view.strides.begin() + axis + 1,
                        stride * static_cast<int64_t>(op.getStep()));
    if (!view.strides[axis] || !view.strides[axis + 1])
      return std::nullopt;
    return view;
  }
  std::optional<StridedView> through(graph::BroadcastOp op) {
    Exprs input = graph::getDims(op.getInput());
    Exprs result = graph::getDims(op.getResult());
    size_t added = result.size() - input.size();
    Exprs strides(result.size(), Expr::constant(op.getContext(), 0));
    for (auto [i, dim] : llvm::enumerate(input)) {
      if (dim == result[added + i])
        strides[added + i] = view.strides[i];
      else if (!dim.isConstant(1))
        return std::nullopt;
    }
    view.strides = std::move(strides);
    return view;
  }

private:
  StridedView view;
};

std::optional<StridedView> wholeView(Value value) {
  MLIRContext *context = value.getContext();
  std::optional<Exprs> strides =
      rowMajorStrides(context, graph::getDims(value));
  if (!strides)
    return std::nullopt;
  return StridedView{value, Expr::constant(context, 0), std::move(*strides)};
}

} // namespace

bool isViewOp(Operation *op) {
  return isa<graph::TransposeOp, graph::ReshapeOp, graph::SliceOp,
             graph::BroadcastOp, graph::WindowsOp>(op);
}

std::optional<StridedView>
farthestView(Value value, function_ref<bool(const StridedView &)> suits) {
  // The longest chain of ops that can be seen through, tried from its far end:
  // what is no view from there may be one from nearer by.
  SmallVector<Operation *> chain;
  for (Operation *op = value.getDefiningOp(); op && isViewOp(op);
       op = op->getOperand(0).getDefiningOp())
    chain.push_back(op);
  for (size_t length = chain.size(); length > 0; --length) {
    std::optional<StridedView> view =
        wholeView(chain[length - 1]->getOperand(0));
    for (size_t i = length; view && i-- > 0;) {
      Step step(std::move(*view));
      view = llvm::TypeSwitch<Operation *, std::optional<StridedView>>(chain[i])
                 .Case<graph::TransposeOp, graph::ReshapeOp, graph::SliceOp,
                       graph::BroadcastOp, graph::WindowsOp>(
                     [&](auto op) { return step.through(op); });
    }
    if (view && suits(*view))
      return view;
  }
  return wholeView(value);
}

std::optional<StridedView> stridedViewOf(Value value) {
  return farthestView(value, [](const StridedView &) { return true; });
}

std::optional<StridedView> rowViewOf(Value value) {
  return farthestView(value, [](const StridedView &view) {
    return !view.strides.empty() && view.strides.back().isConstant(1);
  });
}

SmallVector<Operation *> viewOpsOf(Value value, const StridedView &view) {
  SmallVector<Operation *> ops;
  for (; value != view.base; value = ops.back()->getOperand(0))
    ops.push_back(value.getDefiningOp());
  return ops;
}

std::optional<SmallVector<Expr>> stridesInside(Value value, Value yielded) {
  std::optional<Exprs> strides =
      rowMajorStrides(yielded.getContext(), graph::getDims(yielded));
  while (strides && yielded != value) {
    Operation *op = yielded.getDefiningOp();
    if (auto transpose = dyn_cast_if_present<graph::TransposeOp>(op)) {
      Exprs before(strides->size());
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        before[axis] = (*strides)[i];
      strides = std::move(before);
    } else if (auto reshape = dyn_cast_if_present<graph::ReshapeOp>(op)) {
      strides = reshapeStrides(graph::getDims(yielded), *strides,
                               graph::getDims(reshape.getInput()));
    } else {
      return std::nullopt;
    }
    yielded = op->getOperand(0);
  }
  return strides;
}

} // namespace tenon::kernel
