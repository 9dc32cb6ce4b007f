//===- AxisOrder.cpp - Ops on tensors whose axes are in another order -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AxisOrder.h"

using namespace mlir;

namespace tenon {

AxisOrder inverse(ArrayRef<int64_t> order) {
  AxisOrder result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[order[i]] = i;
  return result;
}

AxisOrder compose(ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  AxisOrder result;
  for (int64_t axis : second)
    result.push_back(first[axis]);
  return result;
}

AxisOrder toChannelsLast(int64_t rank) {
  AxisOrder order = {0};
  for (int64_t axis = 2; axis < rank; ++axis)
    order.push_back(axis);
  order.push_back(1);
  return order;
}

bool movesNothing(ArrayRef<graph::Expr> dims, ArrayRef<int64_t> order) {
  int64_t implied = order.size() - dims.size(), previous = -1;
  for (int64_t axis : order) {
    if (axis < implied || dims[axis - implied].isConstant(1))
      continue;
    if (axis < previous)
      return false;
    previous = axis;
  }
  return true;
}

bool movesNothing(graph::TransposeOp op) {
  return movesNothing(graph::getDims(op.getInput()), op.getPermutation());
}

RankedTensorType reordered(Type type, ArrayRef<int64_t> order) {
  SmallVector<graph::Expr> dims = graph::getDims(type), result;
  for (int64_t axis : order)
    result.push_back(dims[axis]);
  return graph::tensorOf(result, cast<RankedTensorType>(type).getElementType());
}

/// As in the header; `depth` bounds the search in what is not folded yet.
static bool isStoredAt(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<graph::WeightOp, graph::ConstantOp>(op))
    return true;
  if (!op || depth == 0 ||
      !(graph::isPointwise(op) ||
        isa<graph::ReshapeOp, graph::TransposeOp>(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isStoredAt(operand, depth - 1);
  });
}

bool isStored(Value value) { return isStoredAt(value, /*depth=*/8); }

unsigned countOrdered(Operation *op) {
  if (graph::isPointwise(op) || isa<graph::ConcatOp>(op))
    return op->getNumOperands();
  return 1;
}

namespace {

/// A loop along the last axis is the fastest: an op that has it keeps it.
bool keepsLastAxis(int64_t axis, ArrayRef<int64_t> order) {
  int64_t last = order.size() - 1;
  return axis != last || order.back() == last;
}

/// Whether the axes from `axis` on stay the last ones, in any order.
bool keepsTail(int64_t axis, ArrayRef<int64_t> order) {
  return llvm::all_of(order.drop_front(axis),
                      [&](int64_t old) { return old >= axis; });
}

/// Pools know two orders.
template <typename Op> bool canReorderPool(Op op, ArrayRef<int64_t> order) {
  AxisOrder last = toChannelsLast(order.size());
  return graph::getRank(op.getInput()) >= 3 &&
         order == ArrayRef(op.getChannelsLast() ? inverse(last) : last);
}

DenseI64ArrayAttr permuted(OpBuilder &builder, ArrayRef<int64_t> axes,
                           ArrayRef<int64_t> order) {
  AxisOrder moved, place = inverse(order);
  for (int64_t axis : axes)
    moved.push_back(place[axis]);
  llvm::sort(moved);
  return builder.getDenseI64ArrayAttr(moved);
}

graph::DimsAttr permuted(graph::DimsAttr list, ArrayRef<int64_t> order) {
  SmallVector<graph::Expr> exprs;
  for (int64_t axis : order)
    exprs.push_back(list[axis]);
  return graph::DimsAttr::get(list.getContext(), exprs);
}

/// A list of numbers per axis, or several of them, or none.
DenseF64ArrayAttr permuted(OpBuilder &builder, ArrayRef<double> list,
                           ArrayRef<int64_t> order) {
  SmallVector<double> result;
  for (size_t from = 0; from < list.size(); from += order.size())
    for (int64_t axis : order)
      result.push_back(list[from + axis]);
  return builder.getDenseF64ArrayAttr(result);
}

void renameAttributes(OpBuilder &builder, Operation *op,
                      ArrayRef<int64_t> order) {
  if (isa<graph::ConcatOp, graph::SoftmaxOp, graph::LogSoftmaxOp,
          graph::CumulativeOp, graph::ArgReduceOp, graph::GatherOp>(op)) {
    int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
    op->setAttr("axis", builder.getI64IntegerAttr(inverse(order)[axis]));
  } else if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    reduce.setAxesAttr(permuted(builder, reduce.getAxes(), order));
  } else if (auto slice = dyn_cast<graph::SliceOp>(op)) {
    slice.setStartsAttr(permuted(slice.getStarts(), order));
    slice.setStepsAttr(permuted(slice.getSteps(), order));
  } else if (auto pad = dyn_cast<graph::PadOp>(op)) {
    pad.setLowAttr(permuted(pad.getLow(), order));
  } else if (auto resize = dyn_cast<graph::ResizeOp>(op)) {
    resize.setScalesAttr(permuted(builder, resize.getScales(), order));
    resize.setRoiAttr(permuted(builder, resize.getRoi(), order));
  } else if (auto pool = dyn_cast<graph::MaxPoolOp>(op)) {
    pool.setChannelsLast(!pool.getChannelsLast());
  } else if (auto pool = dyn_cast<graph::AveragePoolOp>(op)) {
    pool.setChannelsLast(!pool.getChannelsLast());
  } else if (auto conv = dyn_cast<graph::ConvOp>(op)) {
    conv.setChannelsLast(!conv.getChannelsLast());
  }
}

} // namespace

bool canReorder(Operation *op, ArrayRef<int64_t> order) {
  int64_t rank = order.size();
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      graph::getRank(op->getResult(0)) != rank)
    return false;
  if (graph::isPointwise(op))
    return true;
  if (!isa<graph::GraphDialect>(op->getDialect()) ||
      graph::getRank(op->getOperand(0)) != rank)
    return false;
  if (isa<graph::BroadcastOp, graph::ConcatOp, graph::PadOp, graph::ReduceOp,
          graph::ResizeOp, graph::SliceOp>(op))
    return true;
  if (auto pool = dyn_cast<graph::MaxPoolOp>(op))
    return canReorderPool(pool, order);
  if (auto pool = dyn_cast<graph::AveragePoolOp>(op))
    return canReorderPool(pool, order);
  if (auto gather = dyn_cast<graph::GatherOp>(op))
    return graph::getRank(gather.getIndices()) == 1;
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  if (isa<graph::LayerNormOp, graph::RmsNormOp>(op))
    return keepsTail(axis.getInt(), order);
  if (isa<graph::SoftmaxOp, graph::LogSoftmaxOp, graph::CumulativeOp,
          graph::ArgReduceOp>(op))
    return keepsLastAxis(axis.getInt(), order);
  return false;
}

Operation *reorder(OpBuilder &builder, Operation *op, ArrayRef<int64_t> order,
                   ValueRange operands) {
  OperationState state(op->getLoc(), op->getName(), operands,
                       {reordered(op->getResult(0).getType(), order)},
                       op->getAttrs());
  Operation *result = builder.create(state);
  renameAttributes(builder, result, order);
  return result;
}

Value inOrder(OpBuilder &builder, Value value, ArrayRef<int64_t> order) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  if (graph::areOnes(dims) && dims.size() < order.size())
    return value;
  Location loc = value.getLoc();
  size_t missing = order.size() - dims.size();
  if (missing != 0) {
    graph::Expr one = graph::Expr::constant(value.getContext(), 1);
    dims.insert(dims.begin(), missing, one);
    Type type = graph::tensorOf(dims, graph::getElementType(value));
    value = graph::ReshapeOp::create(builder, loc, type, value);
  }
  if (auto inner = value.getDefiningOp<graph::TransposeOp>()) {
    AxisOrder both = compose(inner.getPermutation(), order);
    value = inner.getInput();
    if (!llvm::is_sorted(both))
      value = graph::TransposeOp::create(builder, loc, value, both);
  } else {
    value = graph::TransposeOp::create(builder, loc, value, order);
  }
  if (missing == 0)
    return value;
  // A vector is the simplest operand that a kernel can read.
  dims = graph::getDims(value);
  size_t ones = 0;
  while (ones + 1 < dims.size() && dims[ones].isConstant(1))
    ++ones;
  Type type = graph::tensorOf(ArrayRef(dims).drop_front(ones),
                              graph::getElementType(value));
  return graph::ReshapeOp::create(builder, loc, type, value);
}

} // namespace tenon
