//===- OnnxQuantize.cpp - To and from quantized numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// com.microsoft: weights of few bits
//===----------------------------------------------------------------------===//

/// Bytes [.., n] as numbers of `bits` bits [.., n * 8 / bits], low bits first.
Value unpacked(NodeConverter &node, Value bytes, int64_t bits) {
  if (bits == 8 || node.failed())
    return bytes;
  Type byte = node.unsignedInteger(8);
  int64_t rank = node.dimsOf(bytes).size(), perByte = 8 / bits;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < perByte; ++i) {
    Value shifted = node.emit<graph::ShiftRightOp>(
        {bytes, node.scalar(byte, double(i * bits))});
    Value part = node.emit<graph::BitAndOp>(
        {shifted, node.scalar(byte, double((1 << bits) - 1))});
    parts.push_back(node.unsqueeze(part, rank));
  }
  Emitter::Exprs to = node.dimsOf(bytes);
  if (node.failed() || to.empty())
    return {};
  to.back() = to.back() * perByte;
  return node.reshape(node.concat(parts, rank), to);
}

/// The bytes of a weight, exactly so many; null for other values.
const Weight *bytesOfWeight(NodeConverter &node, Value value, int64_t count) {
  auto op = value ? value.getDefiningOp<graph::WeightOp>() : graph::WeightOp();
  const Weight *weight = op ? node.state.weights.lookup(op.getName()) : nullptr;
  return weight && !weight->isMade() &&
                 elementBytes(weight->elementType) == 1 &&
                 weight->bytes().size() == uint64_t(count)
             ? weight
             : nullptr;
}

Value weightOf(NodeConverter &node, llvm::Expected<const Weight *> weight,
               ArrayRef<int64_t> shape) {
  if (!weight) {
    (void)node.invalid(llvm::toString(weight.takeError()));
    return {};
  }
  return node.emit<graph::WeightOp>(
      {}, node.text("name", (*weight)->name),
      RankedTensorType::get(shape, node.unsignedInteger(8)));
}

/// The numbers of 4 bits of a weight's bytes, which stay as they are. Null
/// where `bytes` is something else.
Value nibblesOf(NodeConverter &node, Value bytes, ArrayRef<int64_t> shape) {
  int64_t count = *elementCount(shape);
  const Weight *weight = bytesOfWeight(node, bytes, count / 2);
  if (!weight)
    return {};
  return weightOf(node,
                  node.state.weights.add(weight->name, node.unsignedInteger(4),
                                         shape, weight->bytes(),
                                         weight->owner()),
                  shape);
}

/// The first `count` numbers of 4 bits of each row of a weight's bytes, a byte
/// each. Null where `bytes` is something else.
Value widenedNibbles(NodeConverter &node, Value bytes, int64_t rows,
                     int64_t count) {
  int64_t stride = (count + 1) / 2;
  const Weight *weight = bytesOfWeight(node, bytes, rows * stride);
  if (!weight)
    return {};
  std::vector<char> numbers;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(char(
          weight->bytes()[size_t(row * stride + i / 2)] >> (i % 2 * 4) & 15));
  return weightOf(
      node,
      node.state.weights.addOwned(weight->name, node.unsignedInteger(8),
                                  {rows, count}, std::move(numbers)),
      {rows, count});
}

/// The shape of a weight of MatMulNBits.
struct BlockedWeight {
  int64_t rows, columns, bits, block, blocks;
};

std::optional<BlockedWeight> readBlockedWeight(NodeConverter &node) {
  BlockedWeight shape;
  shape.rows = node.intAttr("N");
  shape.columns = node.intAttr("K");
  shape.bits = node.intAttr("bits", 4);
  shape.block = node.intAttr("block_size");
  if (node.failed())
    return std::nullopt;
  auto inRange = [](int64_t value) { return value > 0 && value <= INT32_MAX; };
  if (!inRange(shape.rows) || !inRange(shape.columns) ||
      !inRange(shape.block) || shape.block % 8 != 0) {
    (void)node.invalid("N, K and block_size must be positive, and block_size a "
                       "multiple of 8");
    return std::nullopt;
  }
  if (shape.bits != 2 && shape.bits != 4 && shape.bits != 8) {
    (void)node.unsupported("only 2, 4 and 8 bits are supported, not " +
                           Twine(shape.bits));
    return std::nullopt;
  }
  shape.blocks = (shape.columns + shape.block - 1) / shape.block;
  return shape;
}

/// Zero points [rows, blocks, 1]: numbers like the scales, or packed like the
/// weight with each row padded to a byte.
Value blockZeroPoints(NodeConverter &node, const BlockedWeight &shape,
                      Value given) {
  Emitter::Exprs to = node.sizes({shape.rows, shape.blocks, 1});
  if (!given)
    return node.scalar(node.unsignedInteger(8), double(1 << (shape.bits - 1)));
  if (node.failed() || isa<FloatType>(node.elementOf(given)))
    return node.reshape(given, to);
  if (shape.bits == 4)
    if (Value all = widenedNibbles(node, given, shape.rows, shape.blocks))
      return node.reshape(all, to);
  int64_t bytes = (shape.blocks * shape.bits + 7) / 8;
  Value packed = node.reshape(given, node.sizes({shape.rows, bytes}));
  Value all = unpacked(node, packed, shape.bits);
  return node.reshape(node.slice(all, 1, node.size(0), node.size(shape.blocks)),
                      to);
}

/// y = A * W^T with W[n, k] = (B[n, k] - zero point) * scale, by block of k.
LogicalResult convertMatmulNBits(NodeConverter &node) {
  Value lhs = node.input(0), packed = node.input(1), scale = node.input(2);
  if (node.hasInput(4))
    return node.unsupported("reordered columns (g_idx) are not supported",
                            "quantize without act_order");
  std::optional<BlockedWeight> shape = readBlockedWeight(node);
  if (!shape)
    return failure();
  int64_t bytes = shape->blocks * shape->block * shape->bits / 8;
  int64_t sizes[] = {shape->rows, shape->blocks, shape->block};
  Value numbers = shape->bits == 4 ? nibblesOf(node, packed, sizes) : Value();
  if (!numbers) {
    packed = node.reshape(packed, node.sizes({shape->rows, bytes}));
    numbers =
        node.reshape(unpacked(node, packed, shape->bits), node.sizes(sizes));
  }
  scale = node.reshape(scale, node.sizes({shape->rows, shape->blocks, 1}));
  Value zero = blockZeroPoints(node, *shape, node.optionalInput(3));
  if (node.failed())
    return failure();
  Value weight =
      isa<FloatType>(node.elementOf(zero))
          ? node.mul(node.sub(node.cast(numbers, node.elementOf(zero)), zero),
                     scale)
          : dequantized(node, numbers, scale, zero);
  weight = node.reshape(
      weight, node.sizes({shape->rows, shape->blocks * shape->block}));
  weight = node.slice(weight, 1, node.size(0), node.size(shape->columns));
  Value y = node.matmul(lhs, node.transpose(weight, {1, 0}));
  if (Value bias = node.optionalInput(5))
    y = node.add(y, bias);
  return node.output(y);
}

//===----------------------------------------------------------------------===//
// com.microsoft: ops on quantized tensors
//===----------------------------------------------------------------------===//

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

ArrayRef<OpRow> quantizeRows() {
  static constexpr OpRow rows[] = {
      {"",
       "DequantizeLinear",
       {10, 13, 19, 21, 23, 24, 25, 28},
       convertDequantize},
      {"", "DynamicQuantizeLinear", {11}, convertDynamicQuantize},
      {"", "QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, convertQuantize},
      {"com.microsoft", "DequantizeLinear", {1}, convertDequantize},
      {"com.microsoft", "MatMulNBits", {1}, convertMatmulNBits},
      {"com.microsoft", "QLinearAdd", {1}, convertQLinearBinary<graph::AddOp>},
      {"com.microsoft",
       "QLinearGlobalAveragePool",
       {1},
       convertQLinearGlobalAveragePool},
      {"com.microsoft", "QLinearLeakyRelu", {1}, convertQLinearLeakyRelu},
      {"com.microsoft", "QLinearMul", {1}, convertQLinearBinary<graph::MulOp>},
      {"com.microsoft", "QLinearSigmoid", {1}, convertQLinearSigmoid},
      {"com.microsoft", "QuantizeLinear", {1}, convertQuantize},
  };
  return rows;
}

} // namespace tenon
