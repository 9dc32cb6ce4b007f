//===- OnnxQuantize.cpp - To and from quantized numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

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

/// Floats of 8 or 4 bits are quantized around 0.
void expectZero(NodeConverter &node, Value zeroPoint) {
  if (node.failed() || !zeroPoint)
    return;
  auto few = node.constantFloats(zeroPoint);
  const Weight *many = node.weightOf(zeroPoint);
  bool areZero =
      few    ? llvm::all_of(*few, [](double x) { return x == 0; })
      : many ? llvm::all_of(many->bytes(), [](char byte) { return byte == 0; })
             : false;
  if (!areZero)
    (void)node.unsupported("a zero point of floats that is not known to be 0",
                           "make it a constant of zeros, or leave it out");
}

/// What a node quantizes to, if that is floats of 8 or 4 bits.
FloatType floatsOf(NodeConverter &node, Value zeroPoint) {
  return zeroPoint ? node.fewBitsOf(zeroPoint)
                   : node.fewBitsAttr("output_dtype");
}

LogicalResult convertQuantize(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  Value zeroPoint = node.optionalInput(2);
  if (node.failed())
    return failure();
  if (FloatType type = floatsOf(node, zeroPoint)) {
    expectZero(node, zeroPoint);
    Value quotient = node.div(node.cast(x, node.f32()),
                              node.cast(granular(node, scale, x), node.f32()));
    return node.output(inFewBits(node, quotient, type));
  }
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

LogicalResult convertDequantize(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  Value zeroPoint = node.optionalInput(2);
  Type element = node.intAttr("output_dtype", 0) != 0
                     ? node.typeAttr("output_dtype")
                     : Type();
  if (node.failed())
    return failure();
  bool isFloat = isa<FloatType>(node.elementOf(x));
  if (isFloat)
    expectZero(node, zeroPoint);
  if (node.fewBitsOf(scale) && !element)
    return node.unsupported("scales in 8 bits without output_dtype",
                            "name the type of the result");
  int64_t rank = node.dimsOf(x).size(), block = node.intAttr("block_size", 0);
  int64_t axis = block > 0 ? node.axisAttr("axis", 1, rank) : 0;
  if (isFloat)
    return node.output(
        dequantized(node, x, granular(node, scale, x), {}, element));
  if (Value value =
          dequantizedBlocks(node, x, scale, zeroPoint, axis, block, element))
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
