//===- Power.cpp - Powers of floats ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 by way of f64, without branches and calls, so that loops vectorise.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Power.h"
#include "compiler/Targets/Cpu/FloatTerm.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// The logarithm to base 2 of a positive number in f64, to 2^-38: e + log2(m),
/// m in [sqrt(1/2), sqrt(2)), the latter by the series of artanh.
Term wideLog2(Term x) {
  ImplicitLocOpBuilder &b = x.b;
  Type type = sameShape(x.v.getType(), b.getI64Type());
  auto number = [&](int64_t value) -> Value {
    Attribute attribute = IntegerAttr::get(b.getI64Type(), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, cast<TypedAttr>(attribute));
  };
  Value bits = arith::BitcastOp::create(b, type, x.v);
  // From the bits of sqrt(1/2) on, the exponent's field counts up.
  Value moved = arith::AddIOp::create(b, bits, number(0x00095F619980C433));
  Value field = arith::ShRUIOp::create(b, moved, number(52));
  Value low = arith::ShLIOp::create(
      b, arith::SubIOp::create(b, field, number(1023)), number(52));
  Term m{b, arith::BitcastOp::create(b, x.v.getType(),
                                     arith::SubIOp::create(b, bits, low))};
  // The field below the bits of 2^52 is a number.
  Value wide = arith::OrIOp::create(b, field, number(0x4330000000000000));
  Term exponent = Term{b, arith::BitcastOp::create(b, x.v.getType(), wide)} -
                  (4503599627370496.0 + 1023);
  Term s = (m - 1.0) / (m + 1.0), square = s * s;
  Term sum = x.number(1 / 15.0);
  for (int odd = 13; odd > 0; odd -= 2)
    sum = sum.fma(square, x.number(1.0 / odd));
  return sum.fma(s * 2.8853900817779268, exponent);
}

/// 2^x in f64, to 2^-37, for x in [-1000, 1000].
Term widePowerOfTwo(Term x) {
  ImplicitLocOpBuilder &b = x.b;
  Type type = sameShape(x.v.getType(), b.getI64Type());
  const double magic = 6755399441055744 + 1023; // 1.5 * 2^52, and the bias.
  Term shifted = x + magic;
  Term t = (x - (shifted - magic)) * 0.69314718055994531;
  Value bits = arith::BitcastOp::create(b, type, shifted.v);
  bits = arith::ShLIOp::create(b, bits, constantLike(b, type, 52));
  Term power{b, arith::BitcastOp::create(b, x.v.getType(), bits)};
  double factor = 1 / 362880.0; // 1 / 9!
  Term sum = x.number(factor);
  for (int n = 9; n > 0; --n)
    sum = sum.fma(t, x.number(factor *= n));
  return sum * power;
}

/// |x|^y = 2^(y log2 |x|) in f64, so that one rounding is all that is lost;
/// then what negative numbers and the ends of the range make of it.
Term powerOf(Term x, Term y) {
  ImplicitLocOpBuilder &b = x.b;
  using P = arith::CmpFPredicate;
  auto compare = [&](P predicate, Term l, Term r) -> Value {
    return arith::CmpFOp::create(b, predicate, l.v, r.v);
  };
  auto both = [&](Value l, Value r) -> Value {
    return arith::AndIOp::create(b, l, r);
  };
  auto choose = [&](Value condition, Term then, Term otherwise) -> Term {
    return {b, arith::SelectOp::create(b, condition, then.v, otherwise.v)};
  };
  auto floor = [&](Term t) -> Term {
    return {b, math::FloorOp::create(b, t.v)};
  };
  Type wide = sameShape(x.v.getType(), b.getF64Type());
  auto widen = [&](Term t) -> Term {
    return {b, arith::ExtFOp::create(b, wide, t.v)};
  };
  Term size = x.abs(), wideSize = widen(size);
  Term log = wideLog2(wideSize);
  log = wideSize.where(P::OEQ, 0, log.number(-infinity), log);
  log = wideSize.where(P::OEQ, infinity, wideSize, log);
  Term scaled = (widen(y) * log).atMost(300).atLeast(-300);
  Term result{
      b, arith::TruncFOp::create(b, x.v.getType(), widePowerOfTwo(scaled).v)};

  Value isWhole = compare(P::OEQ, floor(y), y);
  Term half = y * 0.5;
  Value isOdd = both(isWhole, compare(P::UNE, floor(half), half));
  Term signedOne = choose(isOdd, x.number(1).signOf(x), x.number(1));
  result = result * signedOne;
  Value isNegative = both(compare(P::OLT, x, x.number(0)),
                          compare(P::OGT, x, x.number(-infinity)));
  Value hasNoPower = both(isNegative, compare(P::UNE, floor(y), y));
  result = choose(hasNoPower, x.number(std::nan("")), result);
  result = choose(compare(P::UNO, x, x), x, result);
  Value isUnit = both(compare(P::OEQ, size, x.number(1)),
                      compare(P::OEQ, y.abs(), x.number(infinity)));
  Value isOne = arith::OrIOp::create(b, compare(P::OEQ, x, x.number(1)),
                                     compare(P::OEQ, y, x.number(0)));
  return choose(arith::OrIOp::create(b, isOne, isUnit), x.number(1), result);
}

} // namespace

Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, Value x, Value y) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_POW, {x, y});
  return powerOf({b, x}, {b, y}).v;
}

} // namespace tenon::cpu
