//===- Quantization.cpp - The arithmetic of quantized operators -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

bool isQuantizedType(Type type) {
  return type && isa<IntegerType>(type) && !type.isInteger(1);
}

/// A zero point of `element` where none is given.
Value zeroOr(NodeConverter &node, Value zeroPoint, Type element) {
  if (zeroPoint || !isQuantizedType(element))
    return zeroPoint;
  return node.scalar(element, 0);
}

} // namespace

Value centered(NodeConverter &node, Value value, Value zeroPoint) {
  Value wide = node.cast(value, node.integer(32));
  return zeroPoint ? node.sub(wide, node.cast(zeroPoint, node.integer(32)))
                   : wide;
}

Value quantized(NodeConverter &node, Value value, Value scale,
                Value zeroPoint) {
  if (node.failed() || !value || !scale || !zeroPoint)
    return {};
  Type type = graph::tensorOf(node.dimsOf(value), node.elementOf(zeroPoint));
  return node.emit<graph::QuantizeOp>({value, scale, zeroPoint}, {}, type);
}

Value requantize(NodeConverter &node, Value value, Value multiplier,
                 Value zeroPoint) {
  Value scaled =
      node.mul(node.cast(value, node.f32()), node.cast(multiplier, node.f32()));
  return quantized(node, scaled, node.scalar(node.f32(), 1), zeroPoint);
}

Value dequantized(NodeConverter &node, Value value, Value scale,
                  Value zeroPoint, Type element) {
  zeroPoint = zeroOr(node, zeroPoint, node.elementOf(value));
  if (node.failed() || !value || !scale || !zeroPoint)
    return {};
  Type type = graph::tensorOf(node.dimsOf(value),
                              element ? element : node.elementOf(scale));
  return node.emit<graph::DequantizeOp>({value, scale, zeroPoint}, {}, type);
}

DynamicQuantization dynamicallyQuantized(NodeConverter &node, Value x) {
  auto axes =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(node.dimsOf(x).size())));
  // The range takes in zero; of an empty tensor it is nothing but zero.
  Value low = node.minimum(
      node.reduce(x, axes, graph::ReduceKind::Min, /*keepDims=*/false), 0.0);
  Value high = node.maximum(
      node.reduce(x, axes, graph::ReduceKind::Max, /*keepDims=*/false), 0.0);
  Value range = node.sub(high, low);
  if (node.failed())
    return {};
  Value isEmpty =
      node.emit<graph::EqualOp>({range, node.scalar(node.elementOf(range), 0)});
  Value one = node.scalar(node.elementOf(range), 1);
  Value scale = node.select(isEmpty, one, node.div(range, 255.0));
  Value bytes = node.scalar(node.unsignedInteger(8), 0);
  // round(saturate(0 - low / scale)), which is a quantization by 1.
  Value place =
      node.sub(node.scalar(node.elementOf(low), 0), node.div(low, scale));
  Value zeroPoint = quantized(node, place, one, bytes);
  return {quantized(node, x, scale, zeroPoint), scale, zeroPoint};
}

Value alongAxis(NodeConverter &node, Value value, int64_t axis, int64_t rank) {
  Emitter::Exprs dims = node.dimsOf(value);
  if (node.failed() || !value || dims.size() != 1)
    return value;
  if (dims[0].isConstant(1))
    return node.reshape(value, {});
  if (axis >= rank) {
    (void)node.invalid("a scale or zero point has more numbers than its tensor "
                       "has axes to spread them on");
    return {};
  }
  Emitter::Exprs to(rank - axis, node.size(1));
  to[0] = dims[0];
  return node.reshape(value, to);
}

Value readQuantized(NodeConverter &node, unsigned i) {
  Value value = node.input(i), scale = node.input(i + 1);
  Value zero = node.optionalInput(i + 2);
  return dequantized(node, value, alongAxis(node, scale, 0, 1),
                     alongAxis(node, zero, 0, 1));
}

Value quantizedAs(NodeConverter &node, Value value, unsigned i, unsigned like) {
  Value scale = node.input(i), zero = node.optionalInput(i + 1);
  Type element = node.elementOf(node.input(like));
  if (node.failed())
    return {};
  if (!zero)
    zero = node.scalar(element, 0);
  return quantized(node, value, alongAxis(node, scale, 0, 1),
                   alongAxis(node, zero, 0, 1));
}

LogicalResult writeQuantized(NodeConverter &node, Value result, unsigned i,
                             unsigned like) {
  return node.output(quantizedAs(node, result, i, like));
}

} // namespace tenon
