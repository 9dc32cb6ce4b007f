//===- Int8Products.cpp - Products of f32 that multiply 8 bits ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Weights/WeightBlock.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace tenon {
namespace {

/// Smaller weights stay: reading them is not what takes time.
constexpr int64_t fewestElements = int64_t(1) << 12;
constexpr float largest = 127;
/// Steps of k whose products of ui8 by i8 have a sum in 32 bits.
constexpr int64_t mostSteps = std::numeric_limits<int32_t>::max() / (255 * 127);
/// Rows of less than that are zeros: their scale has no inverse.
constexpr float smallest = 1e-30f;

/// The elements of a stored matrix of f32, each row times a power of two.
class ShiftedRows {
public:
  ShiftedRows(const Weight &weight, ArrayRef<int8_t> shifts)
      : weight(weight), shifts(shifts) {}

  template <typename Body> void forEach(Body body) const {
    int64_t columns = weight.shape[1];
    readRows(weight, [&](int64_t first, ArrayRef<float> rows) {
      for (int64_t k = first; !rows.empty(); ++k) {
        float factor = shifts.empty() ? 1 : std::ldexp(1.0f, shifts[k]);
        for (int64_t n = 0; n < columns; ++n)
          body(k * columns + n, n, rows[size_t(n)] * factor);
        rows = rows.drop_front(size_t(columns));
      }
    });
  }

private:
  const Weight &weight;
  ArrayRef<int8_t> shifts;
};

/// 2^shift for each row of a matrix, as a column.
Value factorsOf(OpBuilder &builder, Location loc, ArrayRef<int8_t> shifts) {
  SmallVector<float> factors;
  for (int8_t shift : shifts)
    factors.push_back(std::ldexp(1.0f, shift));
  auto type =
      RankedTensorType::get({int64_t(factors.size()), 1}, builder.getF32Type());
  return graph::ConstantOp::create(
      builder, loc, type, DenseElementsAttr::get(type, ArrayRef(factors)));
}

} // namespace

Value numberOf(OpBuilder &builder, Location loc, Type element, double value) {
  TypedAttr attr = isa<FloatType>(element)
                       ? TypedAttr(builder.getFloatAttr(element, value))
                       : builder.getIntegerAttr(element, int64_t(value));
  return scalarOf(builder, loc, attr);
}

Value numbersOf(OpBuilder &builder, Location loc, Value value, Value zero) {
  Type type =
      graph::tensorOf(graph::getDims(value), graph::getElementType(zero));
  return graph::QuantizeOp::create(
      builder, loc, type, value,
      numberOf(builder, loc, builder.getF32Type(), 1), zero);
}

Quantized quantizeAlong(Value value, ArrayRef<int64_t> axes, Type type,
                        int64_t zero) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  Type f32 = builder.getF32Type();
  SmallVector<graph::Expr> kept = graph::getDims(value);
  for (int64_t axis : axes)
    kept[axis] = graph::Expr::constant(value.getContext(), 1);
  Type scales = graph::tensorOf(kept, f32);
  auto f32Number = [&](double each) {
    return numberOf(builder, loc, f32, each);
  };
  Value size = graph::AbsOp::create(builder, loc, value.getType(), value);
  Value most = graph::ReduceOp::create(
      builder, loc, scales, size, builder.getDenseI64ArrayAttr(axes),
      graph::ReduceKindAttr::get(builder.getContext(), graph::ReduceKind::Max));
  Value isNone = graph::LessOp::create(
      builder, loc, graph::tensorOf(kept, builder.getI1Type()), most,
      f32Number(smallest));
  Value step =
      graph::DivOp::create(builder, loc, scales, most, f32Number(largest));
  Value scale =
      graph::SelectOp::create(builder, loc, scales, isNone, f32Number(1), step);
  // A division for each row, not for each element.
  Value inverse =
      graph::DivOp::create(builder, loc, scales, f32Number(1), scale);
  Value scaled =
      graph::MulOp::create(builder, loc, value.getType(), value, inverse);
  Value from = numberOf(builder, loc, type, double(zero));
  return {numbersOf(builder, loc, scaled, from), scale};
}

QuantizedRows quantizeRows(Value value) {
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  SmallVector<graph::Expr> dims = graph::getDims(value), kept = dims;
  kept.back() = graph::Expr::constant(value.getContext(), 1);
  Type byte = b.getIntegerType(8, /*isSigned=*/false);
  auto rows =
      graph::QuantizeRowsOp::create(b, loc, graph::tensorOf(dims, byte),
                                    graph::tensorOf(kept, b.getF32Type()),
                                    graph::tensorOf(kept, byte), value);
  return {{rows.getNumbers(), rows.getScale()},
          castTo(b, loc, rows.getZeroPoint(), b.getI32Type())};
}

std::string Int8Products::refusal(Operation *op) {
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  if (isa<graph::ConvOp>(op))
    return "convolutions multiply 8 bits of calibrated images alone";
  if (!matmul)
    return "only products by weights multiply 8 bits";
  auto type = cast<RankedTensorType>(matmul.getRhs().getType());
  if (!graph::getElementType(matmul.getLhs()).isF32())
    return "its operands are not f32";
  auto rhs = matmul.getRhs().getDefiningOp<graph::WeightOp>();
  if (!rhs || !type.hasStaticShape() || type.getRank() != 2 ||
      type.getNumElements() < fewestElements)
    return "rhs is no matrix of weights of some size";
  if (type.getDimSize(0) > mostSteps)
    return "sums over so much of k do not fit 32 bits";
  const Weight *weight = weights ? weights->lookup(rhs.getName()) : nullptr;
  if (weight && !llvm::all_of(scalesOf(*weight, {}),
                              [](float scale) { return std::isfinite(scale); }))
    return ("weight '" + rhs.getName() + "' has infinities in it").str();
  return "";
}

void Int8Products::multiply(graph::MatmulOp op, Quantized lhs, Value zero,
                            ArrayRef<int8_t> shifts) {
  Quantized rhs = weightOf(op.getRhs(), shifts);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  Value wide = castTo(builder, loc, lhs.numbers, i32);
  wide = graph::SubOp::create(builder, loc, wide.getType(), wide, zero);
  Type sums = graph::tensorOf(graph::getDims(op.getResult()), i32);
  auto product = graph::MatmulOp::create(
      builder, loc, sums, wide, castTo(builder, loc, rhs.numbers, i32));
  product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = castTo(builder, loc, product, builder.getF32Type());
  for (Value scale : {lhs.scale, rhs.scale})
    result = graph::MulOp::create(builder, loc, op.getType(), result, scale);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

Quantized Int8Products::weightOf(Value rhs, ArrayRef<int8_t> shifts) {
  auto [found, isNew] =
      made.try_emplace({rhs.getAsOpaquePointer(), shifts.vec()});
  if (!isNew)
    return found->second;
  StringRef name = rhs.getDefiningOp<graph::WeightOp>().getName();
  const Weight *weight = weights ? weights->lookup(name) : nullptr;
  if (weight)
    return found->second = quantizeStored(rhs, *weight, shifts);
  OpBuilder builder(rhs.getContext());
  builder.setInsertionPointAfterValue(rhs);
  Location loc = rhs.getLoc();
  if (!shifts.empty())
    rhs = graph::MulOp::create(builder, loc, rhs.getType(), rhs,
                               factorsOf(builder, loc, shifts));
  return found->second = quantizeAlong(rhs, {0}, builder.getI8Type(), 0);
}

Quantized Int8Products::quantizeStored(Value rhs, const Weight &weight,
                                       ArrayRef<int8_t> shifts) {
  OpBuilder builder(rhs.getContext());
  builder.setInsertionPointAfterValue(rhs);
  int64_t depth = weight.shape[0], columns = weight.shape[1];
  const Scales &scales = scalesOf(weight, shifts);
  std::vector<char> numbers(size_t(depth * columns));
  ShiftedRows(weight, shifts).forEach([&](int64_t i, int64_t n, float each) {
    float rounded = std::nearbyint(each / scales[n]);
    // What is no number is none of these.
    numbers[i] =
        char(rounded >= -largest && rounded <= largest ? int(rounded) : 0);
  });
  auto add = [&](const char *suffix, Type element, ArrayRef<int64_t> shape,
                 std::vector<char> bytes) -> Value {
    const Weight *added = llvm::cantFail(weights->addOwned(
        weight.name + suffix, element, shape, std::move(bytes)));
    return graph::WeightOp::create(builder, rhs.getLoc(),
                                   RankedTensorType::get(shape, element),
                                   added->name);
  };
  std::vector<char> scaleBytes(scales.size() * sizeof(float));
  std::memcpy(scaleBytes.data(), scales.data(), scaleBytes.size());
  return {
      add(".int8", builder.getI8Type(), {depth, columns}, std::move(numbers)),
      add(".scales", builder.getF32Type(), {columns}, std::move(scaleBytes))};
}

/// Of each column: its largest magnitude over 127, or 1 of zeros.
const Int8Products::Scales &Int8Products::scalesOf(const Weight &weight,
                                                   ArrayRef<int8_t> shifts) {
  auto [found, isNew] = scalesOfStored.try_emplace({&weight, shifts.vec()});
  Scales &scales = found->second;
  if (!isNew)
    return scales;
  scales.assign(size_t(weight.shape[1]), 0.0f);
  ShiftedRows(weight, shifts).forEach([&](int64_t, int64_t n, float each) {
    scales[n] = std::max(scales[n], std::fabs(each));
  });
  for (float &scale : scales)
    scale = scale < smallest ? 1 : scale / largest;
  return scales;
}

} // namespace tenon
