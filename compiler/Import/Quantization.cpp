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

/// The shape in which an axis is blocks of `block` each; empty when it is not
/// known to be whole ones.
Emitter::Exprs inBlocks(NodeConverter &node, Emitter::Exprs dims, int64_t axis,
                        int64_t block) {
  std::optional<int64_t> size = dims[axis].asConstant();
  if (!size || *size == 0 || *size % block != 0)
    return {};
  dims[axis] = node.size(*size / block);
  dims.insert(dims.begin() + axis + 1, node.size(block));
  return dims;
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
  // Floats of 8 or 4 bits are around 0.
  if (!node.failed() && value && scale &&
      isa<FloatType>(node.elementOf(value))) {
    Value product =
        node.mul(node.cast(value, node.f32()), node.cast(scale, node.f32()));
    return node.cast(product, element ? element : node.elementOf(scale));
  }
  zeroPoint = zeroOr(node, zeroPoint, node.elementOf(value));
  if (node.failed() || !value || !scale || !zeroPoint)
    return {};
  Type type = graph::tensorOf(node.dimsOf(value),
                              element ? element : node.elementOf(scale));
  return node.emit<graph::DequantizeOp>({value, scale, zeroPoint}, {}, type);
}

Value inFewBits(NodeConverter &node, Value value, FloatType type) {
  if (isa<Float8E8M0FNUType>(type)) {
    (void)node.unsupported("rounding to float8e8m0 is not supported",
                           "make such scales before the model runs");
    return {};
  }
  Value wide = node.cast(value, node.f32());
  Value rounded = node.emit<graph::RoundFloatOp>(
      {wide},
      {node.attr("to", TypeAttr::get(type)),
       node.flag("saturates", node.flagAttr("saturate", true))},
      graph::tensorOf(node.dimsOf(wide), node.f32()));
  Type stored = node.builder.getBF16Type();
  return node.ofFewBits(node.cast(rounded, stored), type);
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

Value blockwise(NodeConverter &node, Value value, int64_t axis, int64_t block,
                graph::Expr size) {
  Emitter::Exprs dims = node.dimsOf(value);
  if (node.failed() || !value)
    return value;
  node.require(dims[axis], graph::Relation::Equal,
               size.ceilDiv(node.size(block)),
               "there must be one scale per block");
  Value repeated = node.unsqueeze(value, axis + 1);
  Emitter::Exprs to = node.dimsOf(repeated);
  if (node.failed())
    return {};
  to[axis + 1] = node.size(block);
  dims[axis] = dims[axis] * block;
  Value all = node.reshape(node.broadcast(repeated, to), dims);
  return node.slice(all, axis, node.size(0), size);
}

Value dequantizedBlocks(NodeConverter &node, Value x, Value scale, Value zero,
                        int64_t axis, int64_t block, Type element) {
  Emitter::Exprs dims = node.dimsOf(x), own = node.dimsOf(scale);
  if (node.failed() || block <= 0 || block > INT32_MAX || dims.empty() ||
      own.size() != dims.size())
    return {};
  Emitter::Exprs split = inBlocks(node, dims, axis, block);
  Emitter::Exprs wanted = dims;
  if (split.empty())
    return {};
  wanted[axis] = split[axis];
  bool zeroPerBlock = zero && !node.dimsOf(zero).empty();
  if (own != wanted || (zeroPerBlock && node.dimsOf(zero) != wanted))
    return {};
  Value result = dequantized(
      node, node.reshape(x, split), node.unsqueeze(scale, axis + 1),
      zeroPerBlock ? node.unsqueeze(zero, axis + 1) : zero, element);
  return node.reshape(result, dims);
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
