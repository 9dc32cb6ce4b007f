//===- OnnxQuantize.cpp - To and from quantized numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// Repeats each number `block` times along an axis, up to `size` of them.
Value blockwise(NodeConverter &node, Value value, int64_t axis, int64_t block,
                Expr size) {
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

/// Shapes a scale or zero point to broadcast against x, by the granularity
/// that its rank and `block_size` say.
Value granular(NodeConverter &node, Value value, Value x) {
  Emitter::Exprs dims = node.dimsOf(x), own = node.dimsOf(value);
  if (node.failed() || !value)
    return value;
  int64_t rank = dims.size(), block = node.intAttr("block_size", 0);
  if (block < 0 || block > INT32_MAX) {
    (void)node.invalid(
        "block_size must be 0 or more, and less than 2^31, not " +
        Twine(block));
    return {};
  }
  if (own.empty() || (own.size() == 1 && own[0].isConstant(1)))
    return node.reshape(value, {});
  int64_t axis = node.axisAttr("axis", 1, rank);
  if (node.failed())
    return {};
  if (block > 0) {
    if (failed(node.expectRank(value, rank, "a scale per block")))
      return {};
    return blockwise(node, value, axis, block, dims[axis]);
  }
  if (failed(node.expectRank(value, 1, "a scale per index")))
    return {};
  node.require(own[0], graph::Relation::Equal, dims[axis],
               "there must be one scale per index of the axis");
  return alongAxis(node, value, axis, rank);
}

LogicalResult convertQuantize(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  Value zeroPoint = node.optionalInput(2);
  if (node.failed())
    return failure();
  if (zeroPoint && node.isNarrow(zeroPoint))
    return node.unsupported("quantizing to fewer than 8 bits is not supported",
                            "quantize to int8 or uint8");
  if (!zeroPoint) {
    bool typed = node.intAttr("output_dtype", 0) != 0;
    Type type = typed ? node.typeAttr("output_dtype") : node.unsignedInteger(8);
    if (type && !isa<IntegerType>(type))
      return node.unsupported("quantizing to floats is not supported");
    zeroPoint = node.scalar(type, 0);
  }
  if (node.intAttr("precision", 0) != 0)
    scale = node.cast(scale, node.typeAttr("precision"));
  return node.output(quantized(node, x, granular(node, scale, x),
                               granular(node, zeroPoint, x)));
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

/// DequantizeLinear by blocks, with the blocks as an axis: no scale is
/// repeated. Null where that has no such form.
Value dequantizedBlocks(NodeConverter &node, Value x, Value scale, Value zero,
                        Type element) {
  Emitter::Exprs dims = node.dimsOf(x), own = node.dimsOf(scale);
  int64_t block = node.intAttr("block_size", 0);
  if (node.failed() || block <= 0 || block > INT32_MAX || dims.empty() ||
      own.size() != dims.size())
    return {};
  int64_t axis = node.axisAttr("axis", 1, int64_t(dims.size()));
  if (node.failed())
    return {};
  Emitter::Exprs split = inBlocks(node, dims, axis, block);
  Emitter::Exprs wanted = dims;
  if (split.empty())
    return {};
  wanted[axis] = split[axis];
  if (own != wanted || (zero && node.dimsOf(zero) != wanted))
    return {};
  Value result =
      dequantized(node, node.reshape(x, split), node.unsqueeze(scale, axis + 1),
                  zero ? node.unsqueeze(zero, axis + 1) : zero, element);
  return node.reshape(result, dims);
}

LogicalResult convertDequantize(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  Value zeroPoint = node.optionalInput(2);
  Type element = node.intAttr("output_dtype", 0) != 0
                     ? node.typeAttr("output_dtype")
                     : Type();
  if (node.failed())
    return failure();
  if (Value value = dequantizedBlocks(node, x, scale, zeroPoint, element))
    return node.output(value);
  return node.output(dequantized(node, x, granular(node, scale, x),
                                 granular(node, zeroPoint, x), element));
}

LogicalResult convertDynamicQuantize(NodeConverter &node) {
  DynamicQuantization found = dynamicallyQuantized(node, node.input(0));
  node.setOutput(0, found.value);
  node.setOutput(1, found.scale);
  node.setOutput(2, found.zeroPoint);
  return node.result();
}

} // namespace

ArrayRef<OpRow> quantizeRows() {
  static constexpr OpRow rows[] = {
      {"",
       "DequantizeLinear",
       {10, 13, 19, 21, 23, 24, 25, 28},
       convertDequantize},
      {"", "DynamicQuantizeLinear", {11}, convertDynamicQuantize},
      {"", "QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, convertQuantize},
      {"com.microsoft", "DequantizeLinear", {1}, convertDequantize},
      {"com.microsoft", "QuantizeLinear", {1}, convertQuantize},
  };
  return rows;
}

} // namespace tenon
