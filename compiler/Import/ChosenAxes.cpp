//===- ChosenAxes.cpp - Axes that are chosen at run time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ChosenAxes.h"

using namespace mlir;

namespace tenon {

using graph::Expr;

ChosenAxes::ChosenAxes(NodeConverter &node, Value axes, int64_t rank)
    : node(node), rank(rank) {
  if (node.failed() || failed(node.expectRank(axes, 1, "the list of axes")))
    return;
  std::optional<int64_t> length = node.dimOf(axes, 0).asConstant();
  if (!length || *length > rank) {
    (void)node.unsupported("how many axes there are is not known before the "
                           "model runs, or more than there can be",
                           "make the axes a constant");
    return;
  }
  count = *length;
  Type index = node.integer(64);
  Value listed = node.cast(axes, index);
  Value isNegative = node.emit<graph::LessOp>({listed, node.scalar(index, 0)});
  listed = node.select(isNegative, node.add(listed, double(rank)), listed);
  Value axis = node.unsqueeze(node.iota(node.size(rank), index), 1);
  Value hits = node.emit<graph::EqualOp>({axis, listed}); // [rank, count]
  flags = node.reduce(node.cast(hits, index), 1, graph::ReduceKind::Max,
                      /*keepDims=*/false);
  isChosen = node.readSizes(flags, 0, 1);
}

Value ChosenAxes::reduce(Value value,
                         llvm::function_ref<Value(Value, int64_t)> one) {
  for (int64_t axis = 0; axis < rank && !node.failed(); ++axis) {
    // Of the axis and, behind it, its reduction, keep one or the other.
    Expr size = node.dimOf(value, axis), flag = isChosen[axis];
    Value both = node.concat({value, one(value, axis)}, axis);
    value = node.slice(both, axis, flag * size, size - flag * (size - 1));
  }
  return value;
}

Value ChosenAxes::drop(Value value, ArrayRef<Expr> dims) {
  if (node.failed() || !value)
    return {};
  // The axes that stay, in their order: those with the lowest key.
  Type index = node.integer(64);
  Value key = node.add(node.mul(flags, double(rank)),
                       node.iota(node.size(rank), index));
  Value kept =
      node.topk(key, 0, node.size(rank - count), /*largest=*/false).places;
  if (node.failed())
    return {};
  Value sizes = node.gather(node.sizesVector(dims), kept);
  return node.reshape(value, node.readSizes(sizes));
}

} // namespace tenon
