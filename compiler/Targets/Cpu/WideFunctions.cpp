//===- WideFunctions.cpp - Functions of f32 by way of f64 -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/WideFunctions.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {

/// e + log2(m), m in [sqrt(1/2), sqrt(2)), the latter by the series of artanh.
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

/// 2^n e^t, |t| <= log(2) / 2.
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

namespace {

using P = arith::CmpFPredicate;

constexpr double log2e = 1.4426950408889634, ln2 = 0.69314718055994531,
                 quarterPi = 0.78539816339744831;

/// Below this size, few terms of a function's series are exact enough, and
/// differences of logarithms or powers are not.
constexpr double small = 0.01;

Term choose(Value condition, Term then, Term otherwise) {
  return {then.b,
          arith::SelectOp::create(then.b, condition, then.v, otherwise.v)};
}

Value isBelow(Term x, Term y) {
  return arith::CmpFOp::create(x.b, P::OLT, x.v, y.v);
}

Term root(Term x) { return {x.b, math::SqrtOp::create(x.b, x.v)}; }

/// x (1 + a x^2 + b x^4) where |x| is small, else `otherwise`.
Term series(Term x, double a, double b, Term otherwise) {
  Term square = x * x;
  Term sum = square.fma(square.fma(x.number(b), x.number(a)), x.number(1));
  return x.abs().where(P::OLT, small, x * sum, otherwise);
}

Term wideExp(Term x) {
  return widePowerOfTwo((x * log2e).atMost(1000).atLeast(-1000));
}

/// Of any number: NaN below 0.
Term wideLog(Term x) {
  Term log = wideLog2(x) * ln2;
  log = x.where(P::OEQ, infinity, x, log);
  log = x.where(P::OEQ, 0, x.number(-infinity), log);
  return x.where(P::OGE, 0, log, x.number(std::nan("")));
}

/// The angle in [0, pi / 2] with tangent y / x, both at least 0: that of u with
/// |u| <= tan(pi / 8), and none, one or two eighths of a turn.
Term wideAngle(Term y, Term x) {
  Value isLow = isBelow(y, x * 0.41421356237309503);
  Value isMiddle = isBelow(y, x * 2.4142135623730949);
  Term above = choose(isLow, y, choose(isMiddle, y - x, x.negated()));
  Term under = choose(isLow, x, choose(isMiddle, y + x, y));
  Term turn =
      choose(isLow, x.number(0),
             choose(isMiddle, x.number(quarterPi), x.number(2 * quarterPi)));
  Term u = above / under, square = u * u;
  Term sum = x.number(-1 / 23.0);
  double sign = 1;
  for (int odd = 21; odd > 0; odd -= 2, sign = -sign)
    sum = sum.fma(square, x.number(sign / odd));
  return sum.fma(u, turn);
}

Term wideArctan(Term x) {
  Term size = x.abs().atMost(1e30); // Infinity by itself has no ratio.
  return wideAngle(size, x.number(1)).signOf(x);
}

Term wideSinh(Term x) {
  Term exact = (wideExp(x) - wideExp(x.negated())) * 0.5;
  return series(x, 1 / 6.0, 1 / 120.0, exact);
}

Term wideArsinh(Term x) {
  Term size = x.abs();
  Term exact = wideLog(size + root(size.fma(size, x.number(1)))).signOf(x);
  return series(x, -1 / 6.0, 3 / 40.0, exact);
}

Term wideArtanh(Term x) {
  Term exact = wideLog((x + 1.0) / (x.number(1) - x)) * 0.5;
  return series(x, 1 / 3.0, 1 / 5.0, exact);
}

Term wideOf(int function, Term x) {
  Term one = x.number(1);
  switch (function) {
  case TENON_MATH_ACOS:
    return wideAngle(root(one - x), root(one + x)) * 2.0;
  case TENON_MATH_ACOSH:
    // Far below -1, the sum is 0.
    return x.where(P::OGE, 1, wideLog(x + root((x - 1.0) * (x + 1.0))),
                   x.number(std::nan("")));
  case TENON_MATH_ASIN:
    return wideAngle(x.abs(), root((one - x) * (one + x))).signOf(x);
  case TENON_MATH_ASINH:
    return wideArsinh(x);
  case TENON_MATH_ATAN:
    return wideArctan(x);
  case TENON_MATH_ATANH:
    return wideArtanh(x);
  case TENON_MATH_COSH:
    return (wideExp(x) + wideExp(x.negated())) * 0.5;
  case TENON_MATH_SINH:
    return wideSinh(x);
  }
  llvm_unreachable("all functions that go by way of f64");
}

} // namespace

Value emitTrigonometry(ImplicitLocOpBuilder &b, FormulaHost &host, int function,
                       Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, function, x);
  if (function == TENON_MATH_TAN)
    return arith::DivFOp::create(b, emitSin(b, host, x), emitCos(b, host, x));
  Type wide = sameShape(x.getType(), b.getF64Type());
  Term result =
      wideOf(function, {b, arith::ExtFOp::create(b, wide, x).getResult()});
  Value isNan = arith::CmpFOp::create(b, P::UNO, x, x);
  Value narrow = arith::TruncFOp::create(b, x.getType(), result.v);
  return arith::SelectOp::create(b, isNan, x, narrow);
}

} // namespace tenon::cpu
