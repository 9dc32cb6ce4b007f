//===- QuantizeFormulas.cpp - Numbers of few bits, from and to floats -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuantizeFormulas.h"
#include "dialects/Kernel/NormalScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <optional>

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Behind a sum with it a bit is worth 1: that rounds, ties to even, and leaves
/// the integer in the lower bits.
constexpr double roundingTerm = 12582912; // 1.5 * 2^23

bool isNarrow(Type element) { return element.getIntOrFloatBitWidth() <= 16; }

double lowestOf(Type element) {
  return element.isUnsignedInteger()
             ? 0
             : -std::ldexp(1, element.getIntOrFloatBitWidth() - 1);
}

double highestOf(Type element) {
  return lowestOf(element) + std::ldexp(1, element.getIntOrFloatBitWidth()) - 1;
}

/// The number of all elements of a constant; nullopt for other values.
std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (!constant || constant.getValue().empty() ||
      !constant.getValue().isSplat())
    return std::nullopt;
  Attribute all = constant.getValue().getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(all))
    return number.getValueAsDouble();
  APInt number = cast<IntegerAttr>(all).getValue();
  return graph::getElementType(value).isUnsignedInteger()
             ? double(number.getZExtValue())
             : double(number.getSExtValue());
}

/// Of f32 as integers of at most 16 bits: what divides by the scale, and the
/// elements whose quotients are the first and the last integer. A quotient of
/// one of these may be off by a few units of its last bit, which rounding takes
/// off.
struct Steps {
  Value low, high;
  Value minusScale, reciprocal; // Null where the scale is 1.
  bool isExact = false;         // Of a power of 2.
};

Steps knownSteps(ImplicitLocOpBuilder &b, Type type, Type element, float scale,
                 double zero) {
  auto number = [&](double value) { return constantLike(b, type, value); };
  Steps steps = {number(float(lowestOf(element) - zero) * scale),
                 number(float(highestOf(element) - zero) * scale),
                 {},
                 {}};
  if (scale == 1)
    return steps;
  int exponent;
  steps.isExact = std::frexp(scale, &exponent) == 0.5;
  steps.minusScale = number(-scale);
  steps.reciprocal = number(1 / scale);
  return steps;
}

/// Numbers that are the same for a whole kernel, and move out of its loops.
Steps runSteps(ImplicitLocOpBuilder &b, Type element, Value scale, Value zero,
               bool isOne) {
  Type type = scale.getType();
  zero = emitCast(b, zero, element, b.getF32Type());
  auto bound = [&](double end) -> Value {
    Value places = arith::SubFOp::create(b, constantLike(b, type, end), zero);
    return arith::MulFOp::create(b, places, scale);
  };
  Steps steps = {bound(lowestOf(element)), bound(highestOf(element)), {}, {}};
  if (isOne)
    return steps;
  steps.minusScale = arith::NegFOp::create(b, scale);
  steps.reciprocal = arith::DivFOp::create(b, constantLike(b, type, 1), scale);
  return steps;
}

/// nullopt where a step of a division might overflow or lose bits.
std::optional<Steps> stepsOf(ImplicitLocOpBuilder &b, graph::QuantizeOp op,
                             Value scale, Value zeroPoint) {
  Type element = graph::getElementType(op.getResult());
  std::optional<double> known = splatOf(op.getScale());
  std::optional<double> zero = splatOf(op.getZeroPoint());
  bool isNormal = known ? tenon::kernel::isNormalScale(float(*known))
                        : op->hasAttr(tenon::kernel::normalScaleAttr);
  if (!isNormal)
    return std::nullopt;
  return known && zero
             ? knownSteps(b, scale.getType(), element, float(*known), *zero)
             : runSteps(b, element, scale, zeroPoint, known == 1);
}

/// x / scale, rounded as a division rounds it, which takes several times as
/// long: a quotient by the rounded reciprocal is mended by its remainder, which
/// is exact, until it errs by less than a unit of its last bit; mended once
/// more it is the rounded one (Markstein's theorem).
Value emitQuotient(ImplicitLocOpBuilder &b, const Steps &by, Value x) {
  if (!by.reciprocal)
    return x;
  Value quotient = emitMul(b, x, by.reciprocal);
  for (int step = 0; step < 2 && !by.isExact; ++step) {
    Value remainder = emitMulAdd(b, quotient, by.minusScale, x);
    quotient = emitMulAdd(b, remainder, by.reciprocal, quotient);
  }
  return quotient;
}

/// An integer of at most 16 bits. What these do not hold is cut off before it
/// is rounded, which gives the same number in fewer steps.
Value quantizeNarrow(ImplicitLocOpBuilder &b, graph::QuantizeOp op, Value value,
                     Value scale, Value zeroPoint) {
  Type result = graph::getElementType(op.getResult());
  std::optional<Steps> steps = stepsOf(b, op, scale, zeroPoint);
  if (!steps)
    value = arith::DivFOp::create(b, value, scale);
  auto bound = [&](double end) -> Value {
    Value zero = emitCast(b, zeroPoint, result, b.getF32Type());
    return arith::SubFOp::create(b, constantLike(b, zero.getType(), end), zero);
  };
  auto choose = [&](arith::CmpFPredicate predicate, Value x, Value y,
                    Value then, Value otherwise) -> Value {
    Value condition = arith::CmpFOp::create(b, predicate, x, y);
    return arith::SelectOp::create(b, condition, then, otherwise);
  };
  using P = arith::CmpFPredicate;
  Value low = steps ? steps->low : bound(lowestOf(result));
  Value high = steps ? steps->high : bound(highestOf(result));
  // NaN counts as 0, which lies between the two or is the lower one.
  Value none = constantLike(b, value.getType(), 0);
  if (splatOf(op.getZeroPoint()) == lowestOf(result)) {
    value = choose(P::OGT, value, none, value, none);
  } else {
    Value above = choose(P::OGT, value, low, value, low);
    value = choose(P::UNO, value, value, none, above);
  }
  value = choose(P::OLT, value, high, value, high);
  if (steps)
    value = emitQuotient(b, *steps, value);
  Value sum = arith::AddFOp::create(
      b, value, constantLike(b, value.getType(), roundingTerm));
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, sameShape(sum.getType(), i32), sum);
  bits = arith::AddIOp::create(b, bits, emitCast(b, zeroPoint, result, i32));
  return emitCast(b, bits, i32, result);
}

/// What quantizeNarrow rounded to the integer x, less the zero point; null for
/// other integers, and those with another zero point.
Value roundedBehind(ImplicitLocOpBuilder &b, graph::DequantizeOp op, Value x) {
  auto quantize = op.getInput().getDefiningOp<graph::QuantizeOp>();
  if (!quantize || quantize.getZeroPoint() != op.getZeroPoint())
    return {};
  auto narrow = x.getDefiningOp<arith::TruncIOp>();
  auto sum =
      narrow ? narrow.getIn().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  auto bits =
      sum ? sum.getLhs().getDefiningOp<arith::BitcastOp>() : arith::BitcastOp();
  if (!bits)
    return {};
  Value term = constantLike(b, bits.getIn().getType(), roundingTerm);
  return arith::SubFOp::create(b, bits.getIn(), term);
}

/// x - zero
Value difference(ImplicitLocOpBuilder &b, Type element, Value x, Value zero,
                 Type compute) {
  unsigned width = element.getIntOrFloatBitWidth();
  Type wide = width == 64  ? Type(b.getF64Type())
              : width > 16 ? Type(b.getI64Type())
                           : Type(b.getI32Type());
  x = emitCast(b, x, element, wide);
  zero = emitCast(b, zero, element, wide);
  Value result = width == 64 ? arith::SubFOp::create(b, x, zero).getResult()
                             : arith::SubIOp::create(b, x, zero).getResult();
  return emitCast(b, result, wide, compute);
}

} // namespace

Value emitQuantize(ImplicitLocOpBuilder &b, graph::QuantizeOp op, Value x,
                   Value scale, Value zero) {
  Type element = graph::getElementType(op.getInput());
  Type compute = computeType(graph::getElementType(op.getScale()));
  Type result = graph::getElementType(op.getResult());
  Value value = emitCast(
      b, x, isa<FloatType>(element) ? computeType(element) : element, compute);
  if (compute.isF32() && isNarrow(result))
    return quantizeNarrow(b, op, value, scale, zero);
  value = arith::DivFOp::create(b, value, scale);
  // In f64 the sum with the zero point is exact where it matters.
  Type sum = b.getF64Type();
  value = math::RoundEvenOp::create(b, value);
  // NaN counts as 0.
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  value = arith::SelectOp::create(b, isNan, constantLike(b, value.getType(), 0),
                                  value);
  value = emitCast(b, value, compute, sum);
  value = arith::AddFOp::create(b, value, emitCast(b, zero, result, sum));
  return emitCast(b, value, sum, result);
}

Value emitDequantize(ImplicitLocOpBuilder &b, graph::DequantizeOp op, Value x,
                     Value scale, Value zero) {
  Type compute = computeType(graph::getElementType(op.getResult()));
  Value factor = emitCast(
      b, scale, computeType(graph::getElementType(op.getScale())), compute);
  Value number = compute.isF32() ? roundedBehind(b, op, x) : Value();
  if (!number)
    number =
        difference(b, graph::getElementType(op.getInput()), x, zero, compute);
  return arith::MulFOp::create(b, number, factor);
}

Value emitDecode(ImplicitLocOpBuilder &b, graph::DecodeOp op, Value x,
                 Value scale) {
  Type compute = computeType(graph::getElementType(op.getResult()));
  Value factor = emitCast(
      b, scale, computeType(graph::getElementType(op.getScale())), compute);
  // Bit by bit, each halves what the number may stand for.
  SmallVector<Value> left;
  for (float value : op.getCodebook())
    left.push_back(constantLike(b, factor.getType(), value));
  for (int64_t bit = 1; left.size() > 1; bit *= 2) {
    Value zero = constantLike(b, x.getType(), 0);
    Value own = arith::AndIOp::create(b, x, constantLike(b, x.getType(), bit));
    Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, own, zero);
    for (size_t i = 0; i < left.size() / 2; ++i)
      left[i] = arith::SelectOp::create(b, isSet, left[2 * i + 1], left[2 * i]);
    left.truncate(left.size() / 2);
  }
  return arith::MulFOp::create(b, left[0], factor);
}

} // namespace tenon::cpu
