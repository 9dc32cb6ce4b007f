//===- Arithmetic.cpp - Sums, comparisons and conversions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions avoid what LLVM lowers to library calls: f64 -> f16 and
// everything that has bf16 in it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/FloatTerm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

bool isFloat(Value x) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType()));
}

bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

/// True for a float constant other than NaN.
bool isNumber(Value x) {
  APFloat value(0.0);
  return matchPattern(x, m_ConstantFloat(&value)) && !value.isNaN();
}

Value larger(ImplicitLocOpBuilder &b, Value x, Value y, bool wantSmaller) {
  using P = arith::CmpFPredicate;
  if (isNumber(x))
    std::swap(x, y);
  // True also when x is NaN, and stays. In the other order, a convolution of
  // CUDA's that ends in this spills.
  if (isNumber(y)) {
    Value holds = arith::CmpFOp::create(b, wantSmaller ? P::ULT : P::UGT, x, y);
    return arith::SelectOp::create(b, holds, x, y);
  }
  // False also when one is NaN: x stays if it is the one. In this order it is
  // one instruction of x86.
  Value holds = arith::CmpFOp::create(b, wantSmaller ? P::OLT : P::OGT, y, x);
  Value result = arith::SelectOp::create(b, holds, y, x);
  Value isNan = arith::CmpFOp::create(b, P::UNO, y, y);
  return arith::SelectOp::create(b, isNan, y, result);
}

/// Bits of f32 after rounding to the upper 16, to nearest even.
Value roundToUpperHalf(ImplicitLocOpBuilder &b, Value value) {
  Type bitsType = sameShape(value.getType(), b.getI32Type());
  auto number = [&](double n) { return constantLike(b, bitsType, n); };
  Value bits = arith::BitcastOp::create(b, bitsType, value);
  Value odd = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, bits, number(16)), number(1));
  Value sum = arith::AddIOp::create(
      b, arith::AddIOp::create(b, bits, number(0x7FFF)), odd);
  sum = arith::AndIOp::create(b, sum, number(-0x10000));
  Value result = arith::BitcastOp::create(b, value.getType(), sum);
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(
      b, isNan, constantLike(b, value.getType(), std::nan("")), result);
}

/// f64 -> f32 such that a second rounding, to a narrower type, is right:
/// towards zero, with the lowest bit set when something was cut off.
Value roundToOdd(ImplicitLocOpBuilder &b, Value value) {
  Type single = sameShape(value.getType(), b.getF32Type());
  Type bitsType = sameShape(value.getType(), b.getI32Type());
  Value near = arith::TruncFOp::create(b, single, value);
  Value back = arith::ExtFOp::create(b, value.getType(), near);
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y).getResult();
  };
  Value tooLarge =
      compare(arith::CmpFPredicate::OGT, math::AbsFOp::create(b, back),
              math::AbsFOp::create(b, value));
  Value inexact = compare(arith::CmpFPredicate::ONE, back, value);
  Value bits = arith::BitcastOp::create(b, bitsType, near);
  bits = arith::SubIOp::create(b, bits,
                               arith::ExtUIOp::create(b, bitsType, tooLarge));
  bits = arith::OrIOp::create(b, bits,
                              arith::ExtUIOp::create(b, bitsType, inexact));
  return arith::BitcastOp::create(b, single, bits);
}

Value floatToFloat(ImplicitLocOpBuilder &b, Value value, Type to) {
  bool fromDouble = getElementTypeOrSelf(value.getType()).isF64();
  if (to.isF64())
    return fromDouble
               ? value
               : arith::ExtFOp::create(b, sameShape(value.getType(), to), value)
                     .getResult();
  if (!fromDouble)
    return roundTo(b, value, to);
  if (to.isF32())
    return arith::TruncFOp::create(b, sameShape(value.getType(), to), value);
  return roundTo(b, roundToOdd(b, value), to);
}

/// Saturating, NaN as 0, to at most 16 bits: what is within the bounds before
/// it is converted is cut off in fewer instructions than what is chosen
/// afterwards.
Value floatToNarrowInt(ImplicitLocOpBuilder &b, Value value, Type to) {
  using P = arith::CmpFPredicate;
  unsigned width = to.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(to);
  double low = isSigned ? -std::ldexp(1, width - 1) : 0;
  double high = std::ldexp(1, isSigned ? width - 1 : width) - 1;
  Term x(b, value);
  if (isSigned)
    x = x.where(P::ORD, 0, x, x.number(0));
  x = x.where(P::OGT, low, x, x.number(low)).atMost(high); // NaN is the lowest.
  Type wide = sameShape(value.getType(), b.getI32Type());
  return arith::TruncIOp::create(b, sameShape(value.getType(), computeType(to)),
                                 arith::FPToSIOp::create(b, wide, x.v));
}

/// Saturating, NaN as 0: by selects, which vectorise, about a conversion whose
/// result is not used where it would be undefined.
Value floatToInt(ImplicitLocOpBuilder &b, Value value, Type to) {
  using P = arith::CmpFPredicate;
  Type from = value.getType();
  if (to.isInteger(1))
    return arith::CmpFOp::create(b, P::UNE, value, constantLike(b, from, 0));
  unsigned width = to.getIntOrFloatBitWidth();
  if (width <= 16)
    return floatToNarrowInt(b, value, to);
  bool isSigned = !isUnsigned(to);
  Type type = sameShape(from, computeType(to));
  double low = isSigned ? -std::ldexp(1, width - 1) : 0;
  double high = std::ldexp(1, isSigned ? width - 1 : width);
  Value lowest = constantLike(b, type, low);
  Value highest = constantLike(b, type, -1);
  if (isSigned)
    highest = arith::ShRUIOp::create(b, highest, constantLike(b, type, 1));
  Value result = isSigned ? arith::FPToSIOp::create(b, type, value).getResult()
                          : arith::FPToUIOp::create(b, type, value).getResult();
  auto where = [&](P predicate, double bound, Value instead) {
    Value holds = arith::CmpFOp::create(b, predicate, value,
                                        constantLike(b, from, bound));
    result = arith::SelectOp::create(b, holds, instead, result);
  };
  where(P::OGE, high, highest);
  where(P::OLT, low, lowest);
  where(P::UNO, 0, constantLike(b, type, 0));
  return result;
}

Value intToFloat(ImplicitLocOpBuilder &b, Value value, Type from, Type to) {
  // Narrow integers are exact in f32; wide ones take one detour.
  bool detour = !to.isF32() && !to.isF64() && from.getIntOrFloatBitWidth() > 16;
  Type type = sameShape(value.getType(),
                        detour ? Type(b.getF64Type()) : computeType(to));
  Value result = isUnsigned(from)
                     ? arith::UIToFPOp::create(b, type, value).getResult()
                     : arith::SIToFPOp::create(b, type, value).getResult();
  return floatToFloat(b, result, to);
}

Value intToInt(ImplicitLocOpBuilder &b, Value value, Type from, Type to) {
  Type type = sameShape(value.getType(), computeType(to));
  if (to.isInteger(1))
    return from.isInteger(1)
               ? value
               : arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value,
                                       constantLike(b, value.getType(), 0))
                     .getResult();
  unsigned source = from.getIntOrFloatBitWidth();
  unsigned target = to.getIntOrFloatBitWidth();
  if (source == target)
    return value;
  if (source > target)
    return arith::TruncIOp::create(b, type, value);
  if (isUnsigned(from))
    return arith::ExtUIOp::create(b, type, value);
  return arith::ExtSIOp::create(b, type, value);
}

} // namespace

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (isa<IntegerType>(element))
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

Type sameShape(Type shape, Type scalar) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return VectorType::get(vector.getShape(), scalar);
  return scalar;
}

Value constantLike(ImplicitLocOpBuilder &b, Type like, double value) {
  Type element = getElementTypeOrSelf(like);
  TypedAttr attr;
  if (auto type = dyn_cast<FloatType>(element))
    attr = FloatAttr::get(type, value);
  else
    attr = IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                           static_cast<int64_t>(value),
                                           /*isSigned=*/true,
                                           /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(like))
    attr = SplatElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

Value roundTo(ImplicitLocOpBuilder &b, Value value, Type element) {
  if (element.isBF16())
    return roundToUpperHalf(b, value);
  if (!element.isF16())
    return value;
  Value narrow =
      arith::TruncFOp::create(b, sameShape(value.getType(), element), value);
  return arith::ExtFOp::create(b, value.getType(), narrow);
}

Value emitCast(ImplicitLocOpBuilder &b, Value value, Type from, Type to) {
  if (from == to)
    return value;
  if (isa<FloatType>(from))
    return isa<FloatType>(to) ? floatToFloat(b, value, to)
                              : floatToInt(b, value, to);
  return isa<FloatType>(to) ? intToFloat(b, value, from, to)
                            : intToInt(b, value, from, to);
}

Value emitLess(ImplicitLocOpBuilder &b, Value x, Value y, Type element) {
  if (isFloat(x))
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  return arith::CmpIOp::create(b,
                               isUnsigned(element) ? arith::CmpIPredicate::ult
                                                   : arith::CmpIPredicate::slt,
                               x, y);
}

Value emitMax(ImplicitLocOpBuilder &b, Value x, Value y, Type element) {
  if (isFloat(x))
    return larger(b, x, y, /*wantSmaller=*/false);
  if (isUnsigned(element))
    return arith::MaxUIOp::create(b, x, y);
  return arith::MaxSIOp::create(b, x, y);
}

Value emitMin(ImplicitLocOpBuilder &b, Value x, Value y, Type element) {
  if (isFloat(x))
    return larger(b, x, y, /*wantSmaller=*/true);
  if (isUnsigned(element))
    return arith::MinUIOp::create(b, x, y);
  return arith::MinSIOp::create(b, x, y);
}

Value emitAdd(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::AddFOp::create(b, x, y);
  return arith::AddIOp::create(b, x, y);
}

Value emitMul(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MulFOp::create(b, x, y);
  return arith::MulIOp::create(b, x, y);
}

Value emitMulAdd(ImplicitLocOpBuilder &b, Value x, Value y, Value z) {
  if (isFloat(x))
    return math::FmaOp::create(b, x, y, z);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, x, y), z);
}

} // namespace tenon::cpu
