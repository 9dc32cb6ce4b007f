//===- QuantizeFormulas.cpp - Numbers of few bits, from and to floats -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuantizeFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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

/// Whether numbers count from the lowest one.
bool startsAtZeroPoint(graph::QuantizeOp op, Type element) {
  auto constant = op.getZeroPoint().getDefiningOp<graph::ConstantOp>();
  auto zeros = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                        : DenseIntElementsAttr();
  if (!zeros || !zeros.isSplat())
    return false;
  APInt zero = zeros.getSplatValue<APInt>();
  double number = element.isUnsignedInteger() ? double(zero.getZExtValue())
                                              : double(zero.getSExtValue());
  return number == lowestOf(element);
}

/// A quotient as an integer of at most 16 bits. What these do not hold is cut
/// off before it is rounded, which gives the same number in fewer steps.
Value quantizeNarrow(ImplicitLocOpBuilder &b, graph::QuantizeOp op, Value value,
                     Value zeroPoint) {
  Type result = graph::getElementType(op.getResult());
  Value zero = emitCast(b, zeroPoint, result, b.getF32Type());
  auto bound = [&](double end) -> Value {
    return arith::SubFOp::create(b, constantLike(b, zero.getType(), end), zero);
  };
  auto choose = [&](arith::CmpFPredicate predicate, Value x, Value y,
                    Value then, Value otherwise) -> Value {
    Value condition = arith::CmpFOp::create(b, predicate, x, y);
    return arith::SelectOp::create(b, condition, then, otherwise);
  };
  using P = arith::CmpFPredicate;
  Value low = bound(lowestOf(result)), high = bound(highestOf(result));
  // NaN counts as 0, which lies between the two or is the lower one.
  Value none = constantLike(b, value.getType(), 0);
  if (startsAtZeroPoint(op, result)) {
    value = choose(P::OGT, value, none, value, none);
  } else {
    Value above = choose(P::OGT, value, low, value, low);
    value = choose(P::UNO, value, value, none, above);
  }
  value = choose(P::OLT, value, high, value, high);
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
  value = arith::DivFOp::create(b, value, scale);
  if (compute.isF32() && isNarrow(result))
    return quantizeNarrow(b, op, value, zero);
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

} // namespace tenon::cpu
