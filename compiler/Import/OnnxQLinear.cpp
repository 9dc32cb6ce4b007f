//===- OnnxQLinear.cpp - Operators on quantized tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

template <typename Op> LogicalResult convertQLinearBinary(NodeConverter &node) {
  Value lhs = readQuantized(node, 0), rhs = readQuantized(node, 3);
  return writeQuantized(node, node.emit<Op>({lhs, rhs}), 6);
}

LogicalResult convertQLinearSigmoid(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  return writeQuantized(node, node.emit<graph::SigmoidOp>({x}), 3);
}

LogicalResult convertQLinearLeakyRelu(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  double alpha = node.floatAttr("alpha", 0.01);
  if (node.failed())
    return failure();
  Value isNegative =
      node.emit<graph::LessOp>({x, node.scalar(node.elementOf(x), 0)});
  return writeQuantized(node, node.select(isNegative, node.mul(x, alpha), x),
                        3);
}

/// Scale and zero point of the result come first, then each operand with its
/// own. What is joined are bytes, a quarter of the floats.
LogicalResult convertQLinearConcat(NodeConverter &node) {
  unsigned count = node.numInputs();
  if (count < 5 || (count - 2) % 3 != 0)
    return node.invalid("has " + Twine(count) +
                        " inputs; it takes 2 and 3 for each operand");
  SmallVector<Value> parts;
  for (unsigned i = 2; i < count; i += 3)
    parts.push_back(quantizedAs(node, readQuantized(node, i), 0, 2));
  if (node.failed())
    return failure();
  int64_t axis =
      node.normalizeAxis(node.intAttr("axis"), node.dimsOf(parts[0]).size());
  return node.output(node.concat(parts, axis));
}

LogicalResult convertQLinearWhere(NodeConverter &node) {
  Value x = readQuantized(node, 1), y = readQuantized(node, 4);
  return writeQuantized(node, node.select(node.input(0), x, y), 7, 1);
}

/// `opset` says which Softmax it stands for: before 13, all axes from `axis`
/// on count as one.
LogicalResult convertQLinearSoftmax(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t rank = dims.size(), axis = node.axisAttr("axis", -1, rank);
  bool flattens = node.intAttr("opset", 13) < 13;
  if (node.failed())
    return failure();
  if (!flattens || axis == rank - 1)
    return writeQuantized(node, node.softmax(x, axis), 3);
  ArrayRef<graph::Expr> all = dims;
  Value rows =
      node.reshape(x, {graph::product(node.context(), all.take_front(axis)),
                       graph::product(node.context(), all.drop_front(axis))});
  return writeQuantized(node, node.reshape(node.softmax(rows, 1), dims), 3);
}

LogicalResult convertQLinearReduceMean(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  int64_t rank = node.dimsOf(x).size();
  SmallVector<int64_t> axes = node.normalizeAxes(node.intsAttr("axes"), rank);
  if (!node.hasAttr("axes"))
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  bool keeps = node.flagAttr("keepdims", true);
  return writeQuantized(
      node, node.reduce(x, axes, graph::ReduceKind::Mean, keeps), 3);
}

LogicalResult convertQLinearGlobalAveragePool(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  int64_t rank = node.dimsOf(x).size();
  bool last = node.flagAttr("channels_last", false);
  if (node.failed())
    return failure();
  if (rank < 3)
    return node.invalid("the input must have rank 3 or more");
  auto axes =
      llvm::to_vector(llvm::seq<int64_t>(last ? 1 : 2, last ? rank - 1 : rank));
  return writeQuantized(node, node.reduce(x, axes, graph::ReduceKind::Mean), 3);
}

} // namespace

ArrayRef<OpRow> qlinearRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "QLinearAdd", {1}, convertQLinearBinary<graph::AddOp>},
      {"com.microsoft", "QLinearConcat", {1}, convertQLinearConcat},
      {"com.microsoft",
       "QLinearGlobalAveragePool",
       {1},
       convertQLinearGlobalAveragePool},
      {"com.microsoft", "QLinearLeakyRelu", {1}, convertQLinearLeakyRelu},
      {"com.microsoft", "QLinearMul", {1}, convertQLinearBinary<graph::MulOp>},
      {"com.microsoft", "QLinearReduceMean", {1}, convertQLinearReduceMean},
      {"com.microsoft", "QLinearSigmoid", {1}, convertQLinearSigmoid},
      {"com.microsoft", "QLinearSoftmax", {1}, convertQLinearSoftmax},
      {"com.microsoft", "QLinearWhere", {1}, convertQLinearWhere},
  };
  return rows;
}

} // namespace tenon
