//===- OnnxFewBits.cpp - Weights of few bits ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/BlockedWeight.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

/// Which of a byte's numbers is the first.
enum class FirstBits { Low, High };

/// Bytes [.., n] as numbers of `bits` bits [.., n * 8 / bits].
Value unpacked(NodeConverter &node, Value bytes, int64_t bits,
               FirstBits first = FirstBits::Low) {
  if (bits == 8 || node.failed())
    return bytes;
  Type byte = node.unsignedInteger(8);
  int64_t rank = node.dimsOf(bytes).size(), perByte = 8 / bits;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < perByte; ++i) {
    int64_t place = first == FirstBits::Low ? i : perByte - 1 - i;
    Value shifted = node.emit<graph::ShiftRightOp>(
        {bytes, node.scalar(byte, double(place * bits))});
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
  const Weight *weight = node.weightOf(value);
  return weight && !weight->isMade() &&
                 elementBytes(weight->elementType) == 1 &&
                 weight->bytes().size() == uint64_t(count)
             ? weight
             : nullptr;
}

std::vector<char> withTurnedNibbles(ArrayRef<char> bytes) {
  std::vector<char> turned(bytes.begin(), bytes.end());
  for (char &both : turned)
    both = char(uint8_t(both) << 4 | uint8_t(both) >> 4);
  return turned;
}

/// The numbers of 4 bits of a weight's bytes, which stay as they are where the
/// first is in the low bits. Null where `bytes` is something else.
Value nibblesOf(NodeConverter &node, Value bytes, ArrayRef<int64_t> shape,
                FirstBits first = FirstBits::Low) {
  int64_t count = *elementCount(shape);
  const Weight *weight = bytesOfWeight(node, bytes, count / 2);
  if (!weight)
    return {};
  WeightStore &weights = node.state.weights;
  Type nibble = node.unsignedInteger(4);
  auto added = first == FirstBits::Low
                   ? weights.add(weight->name, nibble, shape, weight->bytes(),
                                 weight->owner())
                   : weights.addOwned(weight->name, nibble, shape,
                                      withTurnedNibbles(weight->bytes()));
  return node.weight(std::move(added),
                     RankedTensorType::get(shape, node.unsignedInteger(8)));
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
  Type byte = node.unsignedInteger(8);
  auto added = node.state.weights.addOwned(weight->name, byte, {rows, count},
                                           std::move(numbers));
  return node.weight(std::move(added),
                     RankedTensorType::get({rows, count}, byte));
}

/// Products of two of them fit 64 bits.
bool isSize(int64_t value) { return value > 0 && value <= INT32_MAX; }

std::optional<BlockedWeight> readBlockedWeight(NodeConverter &node) {
  BlockedWeight shape;
  shape.rows = node.intAttr("N");
  shape.columns = node.intAttr("K");
  shape.bits = node.intAttr("bits", 4);
  shape.block = node.intAttr("block_size");
  if (node.failed())
    return std::nullopt;
  if (!isSize(shape.rows) || !isSize(shape.columns) || !isSize(shape.block) ||
      shape.block % 8 != 0) {
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

/// A as accuracy_level lets products round it: to bf16 (3), or to 8 bits (4)
/// with a scale for each block, which errs more than bf16 does.
Value roundedRows(NodeConverter &node, Value rows) {
  bool mayRound = node.intAttr("accuracy_level", 0) >= 3;
  if (node.failed() || !mayRound || !node.elementOf(rows).isF32())
    return rows;
  Type f32 = node.elementOf(rows);
  return node.cast(node.cast(rows, BFloat16Type::get(f32.getContext())), f32);
}

/// y = A * W^T
LogicalResult convertMatmulNBits(NodeConverter &node) {
  Value lhs = node.input(0), packed = node.input(1), scale = node.input(2);
  if (node.hasInput(4))
    return node.unsupported("reordered columns (g_idx) are not supported",
                            "quantize without act_order");
  std::optional<BlockedWeight> shape = readBlockedWeight(node);
  if (!shape)
    return failure();
  Value weight =
      blockedRows(node, *shape, packed, scale, node.optionalInput(3));
  weight = node.slice(weight, 1, node.size(0), node.size(shape->columns));
  Value y = node.matmul(roundedRows(node, lhs), node.transpose(weight, {1, 0}));
  if (Value bias = node.optionalInput(5))
    y = node.add(y, bias);
  return node.output(y);
}

//===----------------------------------------------------------------------===//
// MatMulBnb4
//===----------------------------------------------------------------------===//

/// What bitsandbytes' numbers of 4 bits stand for, in parts of the largest of
/// their block. FP4 has a sign, two bits of an exponent and one of a fraction;
/// NF4 the quantiles of a normal distribution.
constexpr float valuesOfFp4[] = {
    0.0f,         0.0052083333f,  0.66666667f,  1.0f,
    0.33333333f,  0.5f,           0.16666667f,  0.25f,
    -0.0f,        -0.0052083333f, -0.66666667f, -1.0f,
    -0.33333333f, -0.5f,          -0.16666667f, -0.25f};
constexpr float valuesOfNf4[] = {
    -1.0f,        -0.69619280f, -0.52507305f,  -0.39491749f,
    -0.28444139f, -0.18477343f, -0.091050036f, 0.0f,
    0.079580300f, 0.16093020f,  0.24611230f,   0.33791524f,
    0.44070983f,  0.56261700f,  0.72295684f,   1.0f};

/// W [N, K]: numbers of 4 bits, the first of a byte in its high bits, in blocks
/// that follow each other across rows.
struct Bnb4Weight {
  int64_t rows, columns, block;
  ArrayRef<float> values; // Of the sixteen numbers.
};

std::optional<Bnb4Weight> readBnb4Weight(NodeConverter &node) {
  Bnb4Weight weight;
  weight.rows = node.intAttr("N");
  weight.columns = node.intAttr("K");
  weight.block = node.intAttr("block_size");
  int64_t type = node.intAttr("quant_type");
  if (node.failed())
    return std::nullopt;
  if (!isSize(weight.rows) || !isSize(weight.columns) ||
      !isSize(weight.block) || weight.block < 16 ||
      !llvm::isPowerOf2_64(uint64_t(weight.block))) {
    (void)node.invalid("N and K must be positive, and block_size a power of "
                       "two of at least 16");
    return std::nullopt;
  }
  if (type != 0 && type != 1) {
    (void)node.invalid("quant_type must be 0 (FP4) or 1 (NF4), not " +
                       Twine(type));
    return std::nullopt;
  }
  weight.values = type == 0 ? ArrayRef(valuesOfFp4) : ArrayRef(valuesOfNf4);
  return weight;
}

/// values[number] * absmax of its block, [rows, columns] in absmax's type.
Value bnb4Matrix(NodeConverter &node, const Bnb4Weight &weight, Value packed,
                 Value absmax) {
  int64_t count = weight.rows * weight.columns;
  int64_t blocks = int64_t(llvm::divideCeil(count, weight.block));
  // Else a block ends within a row.
  bool isOfRows = weight.columns % weight.block == 0;
  SmallVector<int64_t> shape = {count};
  if (isOfRows)
    shape = {weight.rows, weight.columns / weight.block, weight.block};
  Value numbers =
      isOfRows ? nibblesOf(node, packed, shape, FirstBits::High) : Value();
  if (!numbers) {
    packed = node.reshape(packed, node.sizes({(count + 1) / 2}));
    numbers = unpacked(node, packed, 4, FirstBits::High);
    numbers = node.slice(numbers, 0, node.size(0), node.size(count));
    numbers = node.reshape(numbers, node.sizes(shape));
  }
  Value scale = isOfRows
                    ? node.reshape(absmax, node.sizes({shape[0], shape[1], 1}))
                    : blockwise(node, node.reshape(absmax, node.size(blocks)),
                                0, weight.block, node.size(count));
  if (node.failed() || !numbers || !scale)
    return {};
  Value matrix = node.emit<graph::DecodeOp>(
      {numbers, scale},
      {node.attr("codebook", node.builder.getDenseF32ArrayAttr(weight.values))},
      graph::tensorOf(node.dimsOf(numbers), node.elementOf(scale)));
  return node.reshape(matrix, node.sizes({weight.rows, weight.columns}));
}

/// y = A * W^T, or with transB = 0 A * W
LogicalResult convertMatmulBnb4(NodeConverter &node) {
  Value lhs = node.input(0), packed = node.input(1), absmax = node.input(2);
  bool turns = node.intAttr("transB", 1) != 0;
  std::optional<Bnb4Weight> weight = readBnb4Weight(node);
  if (!weight)
    return failure();
  Value matrix = bnb4Matrix(node, *weight, packed, absmax);
  return node.output(
      node.matmul(lhs, turns ? node.transpose(matrix, {1, 0}) : matrix));
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

/// How a table lies whose rows are gathered.
struct BlockedTable {
  int64_t gatherAxis, quantizeAxis, block;
  int64_t bits; // Of the numbers of a byte along the last axis.
};

std::optional<BlockedTable> readBlockedTable(NodeConverter &node, Value data) {
  int64_t rank = node.dimsOf(data).size();
  BlockedTable table;
  table.gatherAxis = node.axisAttr("gather_axis", 0, rank);
  table.quantizeAxis = node.axisAttr("quantize_axis", 1, rank);
  table.block = node.intAttr("block_size", 128);
  table.bits = node.intAttr("bits", 4);
  if (node.failed())
    return std::nullopt;
  Type element = node.elementOf(data);
  if (node.isNarrow(data) || !element.isUnsignedInteger(8))
    table.bits = 8; // The type says how they lie.
  if (!isa<IntegerType>(element)) {
    (void)node.unsupported("only tables of integers are supported");
    return std::nullopt;
  }
  if (table.block < 1 || table.block > INT32_MAX) {
    (void)node.invalid("block_size must be positive");
    return std::nullopt;
  }
  if (table.bits != 2 && table.bits != 4 && table.bits != 8) {
    (void)node.unsupported("only 2, 4 and 8 bits are supported, not " +
                           Twine(table.bits));
    return std::nullopt;
  }
  if (table.bits < 8 && table.gatherAxis == rank - 1) {
    (void)node.invalid("numbers that share a byte cannot be gathered from");
    return std::nullopt;
  }
  return table;
}

/// The zero points that stand for one left out: the middle of unsigned bytes
/// that hold numbers, zero of the types of few bits.
Value middleOf(NodeConverter &node, Value data, int64_t bits) {
  Type element = node.elementOf(data);
  bool isBytes = element.isUnsignedInteger(8) && !node.isNarrow(data);
  return node.scalar(element, isBytes ? double(1 << (bits - 1)) : 0.0);
}

/// The rows of a table of numbers in blocks that have a scale each: gathered
/// first, then dequantized.
LogicalResult convertGatherBlocks(NodeConverter &node) {
  Value data = node.input(0), indices = node.input(1), scale = node.input(2);
  Value zero = node.optionalInput(3);
  if (node.failed())
    return failure();
  auto table = readBlockedTable(node, data);
  if (!table)
    return failure();
  auto [gatherAxis, axis, block, bits] = *table;
  int64_t rank = node.dimsOf(data).size();
  if (failed(node.expectRank(scale, rank, "the scale")))
    return failure();
  Value middle = middleOf(node, data, bits);
  auto gathered = [&](Value value) {
    return node.gather(value, indices, gatherAxis);
  };
  // Blocks of what is gathered would be torn apart.
  bool first = gatherAxis != axis;
  if (first) {
    node.require(node.dimOf(scale, gatherAxis), graph::Relation::Equal,
                 node.dimOf(data, gatherAxis),
                 "there must be one scale per block");
    data = gathered(data);
    scale = gathered(scale);
    zero = zero ? gathered(zero) : zero;
    if (axis > gatherAxis)
      axis += int64_t(node.dimsOf(indices).size()) - 1;
  }
  data = unpacked(node, data, bits);
  Emitter::Exprs dims = node.dimsOf(data);
  if (node.failed())
    return failure();
  if (zero) {
    zero = unpacked(node, zero, bits);
    graph::Expr blocks = dims[axis].ceilDiv(node.size(block));
    zero = node.slice(zero, axis, node.size(0), blocks);
  }
  Value result =
      dequantizedBlocks(node, data, scale, zero ? zero : middle, axis, block);
  if (!result) {
    auto each = [&](Value value) {
      return blockwise(node, value, axis, block, dims[axis]);
    };
    result = dequantized(node, data, each(scale), zero ? each(zero) : middle);
  }
  return node.output(first ? result : gathered(result));
}

} // namespace

Value blockedRows(NodeConverter &node, const BlockedWeight &shape, Value packed,
                  Value scale, Value zeroPoint) {
  int64_t bytes = shape.blocks * shape.block * shape.bits / 8;
  int64_t sizes[] = {shape.rows, shape.blocks, shape.block};
  Value numbers = shape.bits == 4 ? nibblesOf(node, packed, sizes) : Value();
  if (!numbers) {
    packed = node.reshape(packed, node.sizes({shape.rows, bytes}));
    numbers =
        node.reshape(unpacked(node, packed, shape.bits), node.sizes(sizes));
  }
  scale = node.reshape(scale, node.sizes({shape.rows, shape.blocks, 1}));
  Value zero = blockZeroPoints(node, shape, zeroPoint);
  if (node.failed())
    return {};
  Value weight =
      isa<FloatType>(node.elementOf(zero))
          ? node.mul(node.sub(node.cast(numbers, node.elementOf(zero)), zero),
                     scale)
          : dequantized(node, numbers, scale, zero);
  return node.reshape(weight,
                      node.sizes({shape.rows, shape.blocks * shape.block}));
}

ArrayRef<OpRow> fewBitsRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "GatherBlockQuantized", {1}, convertGatherBlocks},
      {"com.microsoft", "MatMulBnb4", {1}, convertMatmulBnb4},
      {"com.microsoft", "MatMulNBits", {1}, convertMatmulNBits},
  };
  return rows;
}

} // namespace tenon
