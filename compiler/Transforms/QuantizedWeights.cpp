//===- QuantizedWeights.cpp - Right sides of products, made of few bits ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Transforms/Matching.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/QuantizedRhs.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

SmallVector<Expr> sizes(MLIRContext *context, ArrayRef<int64_t> values) {
  SmallVector<Expr> dims;
  for (int64_t value : values)
    dims.push_back(Expr::constant(context, value));
  return dims;
}

/// In the IR numbers of 4 bits have 8.
Type typeOf(const Weight &part) {
  auto integer = dyn_cast<IntegerType>(part.elementType);
  return integer ? IntegerType::get(integer.getContext(), 8,
                                    integer.getSignedness())
                 : part.elementType;
}

/// Smaller weights stay.
constexpr int64_t fewestElements = int64_t(1) << 12;
/// Results that a router gives a token, at most, and ops from them to the
/// choice.
constexpr int64_t mostExperts = 256, mostSteps = 6;

/// Whether the largest of a few results are picked: a mixture's router.
bool isRouter(Operation *op, int64_t steps) {
  return steps > 0 && llvm::any_of(op->getUsers(), [&](Operation *user) {
           bool keepsOrder =
               graph::isPointwise(user) || isa<graph::SoftmaxOp>(user);
           return isa<graph::TopkOp>(user) ||
                  (keepsOrder && isRouter(user, steps - 1));
         });
}

} // namespace

graph::WeightOp storedMatrixOf(Value rhs) {
  auto transpose = rhs.getDefiningOp<graph::TransposeOp>();
  bool isTurned =
      transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0};
  Value stored = isTurned ? transpose.getInput() : rhs;
  return stored.getDefiningOp<graph::WeightOp>();
}

std::string refusalOfFewBits(graph::MatmulOp op) {
  Value matrices = kernel::matricesOf(op);
  auto type = cast<RankedTensorType>(matrices.getType());
  if (!storedMatrixOf(matrices) || !type.hasStaticShape() ||
      !type.getElementType().isF32() || type.getNumElements() < fewestElements)
    return "rhs is no weight of f32 of some size";
  if (!kernel::isMatrixOrOnePerBatch(op))
    return "rhs is neither a matrix nor one for each batch";
  if (type.getRank() == 3 && kernel::columnHalvesOf(op))
    return "halves of columns meet, of a matrix for each batch";
  if (!graph::getElementType(op.getLhs()).isF32())
    return "lhs is not f32";
  if (type.getShape().back() <= mostExperts && isRouter(op, mostSteps))
    return "it chooses experts, and is small beside them";
  return "";
}

std::string refusalOfFewBits(graph::GatherOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (!op.getInput().getDefiningOp<graph::WeightOp>() ||
      !type.hasStaticShape() || type.getRank() != 2 || op.getAxis() != 0 ||
      !type.getElementType().isF32() || type.getNumElements() < fewestElements)
    return "it looks up no rows of a table of f32 of some size";
  return "";
}

Value quantizedRhs(OpBuilder &builder, Location loc,
                   const QuantizedWeight &weight, int64_t depth) {
  MLIRContext *context = builder.getContext();
  int64_t columns = weight.numbers->shape[1];
  auto stored = [&](const Weight &part) -> Value {
    auto type = RankedTensorType::get(part.shape, typeOf(part));
    return graph::WeightOp::create(builder, loc, type, part.name);
  };
  auto reshaped = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    Type type =
        graph::tensorOf(sizes(context, shape), graph::getElementType(value));
    return graph::ReshapeOp::create(builder, loc, type, value);
  };
  int64_t block = weight.block, steps = weight.blocks * block;
  int64_t blocks = std::max<int64_t>(weight.batches, 1) * weight.blocks;
  Value numbers = reshaped(stored(*weight.numbers), {blocks, block, columns});
  Value scales = reshaped(stored(*weight.scales), {blocks, 1, columns});
  Type wide = graph::tensorOf(graph::getDims(numbers), builder.getF32Type());
  auto zeroPoints = [&]() -> Value {
    if (weight.zeros)
      return reshaped(stored(*weight.zeros), {blocks, 1, columns});
    auto type = RankedTensorType::get({}, typeOf(*weight.numbers));
    APInt zero(8, uint64_t(weight.zeroPoint), /*isSigned=*/true,
               /*implicitTrunc=*/true);
    return graph::ConstantOp::create(builder, loc, type,
                                     DenseElementsAttr::get(type, zero));
  };
  auto widened = [&]() -> Value {
    if (!weight.codebook.empty())
      return graph::DecodeOp::create(builder, loc, wide, numbers, scales,
                                     weight.codebook);
    auto dequantize = graph::DequantizeOp::create(builder, loc, wide, numbers,
                                                  scales, zeroPoints());
    if (weight.bits != 8)
      dequantize->setAttr(kernel::bitsOfNumbers,
                          builder.getI64IntegerAttr(weight.bits));
    return dequantize;
  };
  Value value = widened();
  SmallVector<int64_t> shape = {steps, columns};
  if (weight.batches)
    shape.insert(shape.begin(), weight.batches);
  value = reshaped(value, shape);
  if (depth == steps)
    return value;
  shape[shape.size() - 2] = depth;
  // Without what completed the last block.
  return firstOf(builder, loc, value,
                 graph::tensorOf(sizes(context, shape), builder.getF32Type()));
}

Value quantizedLookup(OpBuilder &builder, graph::GatherOp op,
                      const QuantizedWeight &weight) {
  Location loc = op.getLoc();
  MLIRContext *context = builder.getContext();
  SmallVector<Expr> lead = graph::getDims(op.getIndices());
  auto typed = [&](ArrayRef<int64_t> behind, Type element) {
    SmallVector<Expr> dims(lead);
    llvm::append_range(dims, sizes(context, behind));
    return graph::tensorOf(dims, element);
  };
  // Rows of numbers or scales, as they are stored, in blocks.
  auto picked = [&](const Weight &part, int64_t each) -> Value {
    const Weight &rows = *part.transposed;
    Type element = typeOf(rows);
    Value table = graph::WeightOp::create(
        builder, loc, RankedTensorType::get(rows.shape, element), rows.name);
    Value row =
        graph::GatherOp::create(builder, loc, typed(rows.shape.back(), element),
                                table, op.getIndices(), op.getAxis());
    return graph::ReshapeOp::create(builder, loc,
                                    typed({weight.blocks, each}, element), row);
  };
  Value numbers = picked(*weight.numbers, weight.block);
  Value scales = picked(*weight.scales, 1);
  auto byte = RankedTensorType::get({}, typeOf(*weight.numbers));
  Value zero = graph::ConstantOp::create(
      builder, loc, byte, DenseElementsAttr::get(byte, APInt(8, 0)));
  Type f32 = builder.getF32Type();
  Value value = graph::DequantizeOp::create(
      builder, loc, typed({weight.blocks, weight.block}, f32), numbers, scales,
      zero);
  int64_t steps = weight.blocks * weight.block;
  value = graph::ReshapeOp::create(builder, loc, typed(steps, f32), value);
  return value.getType() == op.getType()
             ? value
             : firstOf(builder, loc, value, op.getType());
}

} // namespace tenon
