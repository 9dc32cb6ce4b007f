//===- OnnxQLinear.cpp - Operators on quantized tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

/// The quantized tensor whose value, scale and zero point begin at input i.
Value readQuantized(NodeConverter &node, unsigned i) {
  Value value = node.input(i), scale = node.input(i + 1);
  Value zero = node.optionalInput(i + 2);
  return dequantized(node, value, alongAxis(node, scale, 0, 1),
                     alongAxis(node, zero, 0, 1));
}

/// Quantizes the result by the scale and zero point that begin at input i.
LogicalResult writeQuantized(NodeConverter &node, Value result, unsigned i) {
  Value scale = node.input(i), zero = node.optionalInput(i + 1);
  Type element = node.elementOf(node.input(0));
  if (node.failed())
    return failure();
  if (!zero)
    zero = node.scalar(element, 0);
  return node.output(quantized(node, result, alongAxis(node, scale, 0, 1),
                               alongAxis(node, zero, 0, 1)));
}

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
      {"com.microsoft",
       "QLinearGlobalAveragePool",
       {1},
       convertQLinearGlobalAveragePool},
      {"com.microsoft", "QLinearLeakyRelu", {1}, convertQLinearLeakyRelu},
      {"com.microsoft", "QLinearMul", {1}, convertQLinearBinary<graph::MulOp>},
      {"com.microsoft", "QLinearSigmoid", {1}, convertQLinearSigmoid},
  };
  return rows;
}

} // namespace tenon
