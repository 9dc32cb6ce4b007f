//===- FloatFunctions.cpp - Exponentials and their relatives --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 by polynomials, minimax fits over the stated ranges, without branches
// and calls, so that loops over them vectorise; f64 by calls.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/FloatTerm.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// x = n + rest, n being the nearest integer, in [-127, 128], and `power` 2^n,
/// or 0 for -127 and infinity for 128.
struct Split {
  Term n, rest, power;
};

/// Of x * scale. Adding 1.5 * 2^23 leaves the rounded integer in the low bits,
/// 127 more the field of an exponent.
Split splitOf(Term x, double scale, int extra = 0) {
  ImplicitLocOpBuilder &b = x.b;
  const double magic = 12582912 + 127 + extra;
  Term shifted =
      scale == 1 ? x + magic : x.fma(x.number(scale), x.number(magic));
  Term n = shifted - magic;
  Value bits = shifted.bits();
  bits = arith::ShLIOp::create(b, bits, constantLike(b, bits.getType(), 23));
  return {n, x - n, Term::fromBits(b, bits)};
}

/// Of x / log(2), rest being in units of x.
Split splitByLog2(Term x, int extra = 0) {
  Split split = splitOf(x, 1.4426950408889634, extra);
  Term rest = split.n.fma(x.number(-0.693359375), x);
  split.rest = split.n.fma(x.number(2.12194440e-4), rest);
  return split;
}

/// e^x = 2^(n-1) 2 e^r, |r| <= ln(2) / 2: so 2^n may lie beyond what is a
/// number when e^x does not. Results that would be denormal are 0.
Term expOf(Term x) {
  static constexpr float fit[] = {2.790340620e-03f,
                                  1.673918049e-02f,
                                  8.333237500e-02f,
                                  3.333302592e-01f,
                                  1.000000020e+00f,
                                  2.0f,
                                  2.0f};
  // Beyond these the result is 0 or infinity all the same.
  Split split = splitByLog2(x.atMost(89.3).atLeast(-87.5), /*extra=*/-1);
  return split.rest.polynomial(fit) * split.power;
}

/// sum + factor * 2^x for x in [-126, 0], where the absolute error counts: to
/// 8e-8, or 8e-5, of the power.
Term addPowerOfTwo(Term sum, Term factor, Term x, bool isRough = false) {
  static constexpr float fine[] = {1.327646680e-03f, 9.675541293e-03f,
                                   5.550713290e-02f, 2.402211972e-01f,
                                   6.931469671e-01f, 1.000000072e+00f};
  static constexpr float rough[] = {5.517169e-02f, 2.4261117e-01f,
                                    6.9326099e-01f, 9.9992807e-01f};
  ArrayRef<float> fit = isRough ? ArrayRef(rough) : ArrayRef(fine);
  Split split = splitOf(x, 1);
  return (factor * split.power).fma(split.rest.polynomial(fit), sum);
}

/// log(x) = e log(2) + log(m), m in [sqrt(1/2), sqrt(2)).
Term logOf(Term x) {
  static constexpr float fit[] = {
      -7.865377524e-02f, 1.287917280e-01f, -1.312530947e-01f, 1.418142470e-01f,
      -1.662496886e-01f, 2.000228232e-01f, -2.500079659e-01f, 3.333331679e-01f};
  ImplicitLocOpBuilder &b = x.b;
  using P = arith::CmpFPredicate;
  // Denormals are scaled into the normal range first.
  const double tiny = 1.17549435e-38;
  Term scaled = x.where(P::OLT, tiny, x * 8388608.0, x);
  Term bias = x.where(P::OLT, tiny, x.number(-23), x.number(0));
  Value bits = scaled.bits();
  Type type = bits.getType();
  // Bits of sqrt(1/2): above it the exponent's field counts up.
  Value moved =
      arith::SubIOp::create(b, bits, constantLike(b, type, 0x3F3504F3));
  Value e = arith::ShRSIOp::create(b, moved, constantLike(b, type, 23));
  Value mantissa = arith::SubIOp::create(
      b, bits, arith::ShLIOp::create(b, e, constantLike(b, type, 23)));
  Term f = Term::fromBits(b, mantissa) - 1;
  Term exponent = Term{b, arith::SIToFPOp::create(b, x.v.getType(), e)} + bias;
  Term square = f * f;
  Term result = f.polynomial(fit) * square * f;
  result = exponent.fma(x.number(-2.12194440e-4), result);
  result = square.fma(x.number(-0.5), result) + f;
  result = exponent.fma(x.number(0.693359375), result);
  result = x.where(P::OEQ, infinity, x, result);
  result = x.where(P::OEQ, 0, x.number(-infinity), result);
  return x.where(P::UGE, 0, x.where(P::UNO, 0, x, result),
                 x.number(std::nan("")));
}

/// log(1 + x) = x + x^2 f(x) for x in [0, 1], to the last digits also near 0.
Term log1pOf(Term x) {
  static constexpr float fit[] = {
      -3.244023214e-03f, 1.985145351e-02f,  -5.695951762e-02f,
      1.060365320e-01f,  -1.530559157e-01f, 1.967593891e-01f,
      -2.495413359e-01f, 3.332996241e-01f,  -4.999990242e-01f};
  return (x * x).fma(x.polynomial(fit), x);
}

/// tanh(x) = (e^2x - 1) / (e^2x + 1), e^2x - 1 being exact to the last digits
/// also near 0.
Term tanhOf(Term x) {
  static constexpr float fit[] = {1.991498457e-04f, 1.394200877e-03f,
                                  8.333271812e-03f, 4.166634269e-02f,
                                  1.666666682e-01f, 5.000000049e-01f};
  Term twice = (x.abs() * 2.0).atMost(20);
  Split split = splitByLog2(twice);
  Term r = split.rest;
  Term near = (r * r).fma(r.polynomial(fit), r);
  Term less = split.power.fma(near, split.power - 1.0);
  return (less / (less + 2.0)).signOf(x);
}

/// Below 1 an odd polynomial, above 1 - erfc(x), by the logarithm of erfc.
Term erfOf(Term x) {
  static constexpr float fitNear[] = {
      7.889119531e-05f, -8.020841279e-04f, 5.189535339e-03f, -2.685444459e-02f,
      1.128360018e-01f, -3.761262714e-01f, 1.283791659e-01f};
  static constexpr float fitFar[] = {-3.016611048e-05f, 6.236813842e-04f,
                                     -6.002371584e-03f, 3.619937779e-02f,
                                     -1.561524337e-01f, -9.137837742e-01f,
                                     -1.629517065e+00f, 2.460545539e-04f};
  Term size = x.abs();
  Term near = (x * x).polynomial(fitNear).fma(x, x);
  Term power = size.atMost(4.1).polynomial(fitFar);
  Term far = addPowerOfTwo(x.number(1), x.number(-1), power);
  return size.where(arith::CmpFPredicate::OLT, 1.0, near, far.signOf(x));
}

/// sin(x + turns pi / 2) by a polynomial of x - n pi / 2, a difference taken in
/// f64, where it is exact as long as n has less than 51 bits. NaN beyond.
Term sineOf(Term x, int turns) {
  static constexpr float fitSin[] = {2.717606865e-06f, -1.983926204e-04f,
                                     8.333329165e-03f, -1.666666664e-01f};
  static constexpr float fitCos[] = {2.443224954e-05f, -1.388731672e-03f,
                                     4.166664592e-02f};
  ImplicitLocOpBuilder &b = x.b;
  Type bitsType = sameShape(x.v.getType(), b.getI32Type());
  Type wideType = sameShape(x.v.getType(), b.getF64Type());
  const double magic = 6755399441055744; // 1.5 * 2^52
  Term wide{b, arith::ExtFOp::create(b, wideType, x.v)};
  Term shifted = wide.fma(wide.number(0.63661977236758134), wide.number(magic));
  Term n = shifted - magic;
  Term rest = n.fma(wide.number(-1.5707963267948966), wide);
  rest = n.fma(wide.number(-6.123233995736766e-17), rest);
  Value quadrant = arith::TruncIOp::create(
      b, bitsType,
      arith::BitcastOp::create(b, sameShape(x.v.getType(), b.getI64Type()),
                               shifted.v));
  auto number = [&](int64_t value) { return constantLike(b, bitsType, value); };
  quadrant = arith::AddIOp::create(b, quadrant, number(turns));

  Term r{b, arith::TruncFOp::create(b, x.v.getType(), rest.v)};
  Term square = r * r;
  Term sine = (square * r).fma(square.polynomial(fitSin), r);
  Term cosine = (square * square)
                    .fma(square.polynomial(fitCos),
                         square.fma(x.number(-0.5), x.number(1)));
  Value isOdd = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne,
      arith::AndIOp::create(b, quadrant, number(1)), number(0));
  Term either{b, arith::SelectOp::create(b, isOdd, cosine.v, sine.v)};
  Value sign = arith::ShLIOp::create(
      b, arith::AndIOp::create(b, quadrant, number(2)), number(30));
  Term result =
      Term::fromBits(b, arith::XOrIOp::create(b, either.bits(), sign));
  return x.abs().where(arith::CmpFPredicate::OLT, std::ldexp(1, 50), result,
                       x.number(std::nan("")));
}

/// x Phi(x) = max(x, 0) - |x| Phi(-|x|), for a Phi with Phi(-x) = 1 - Phi(x);
/// `fit` is of the logarithm to base 2 of Phi(-t) up to `most`, where t Phi(-t)
/// is as good as 0.
struct GeluFit {
  ArrayRef<float> fit;
  double most;
};

/// To the last digits; or where the result is rounded to bf16, and the fit is
/// for that, to 1.2e-5, or 4e-4 of what is beyond 0.01: a fifth of its
/// roundings, for four multiply-adds less of 13.
Term geluOf(Term x, const GeluFit &gelu, bool isRough) {
  Term size = x.abs().atMost(gelu.most);
  return addPowerOfTwo(x.atLeast(0), size.negated(), size.polynomial(gelu.fit),
                       isRough);
}

Value emitGeluErf(ImplicitLocOpBuilder &b, FormulaHost &host, Value value,
                  bool isRough) {
  static constexpr float fit[] = {2.992583758e-05f,
                                  -7.398867513e-04f,
                                  7.977497696e-03f,
                                  -5.323823081e-02f,
                                  -4.589156615e-01f,
                                  -1.151147087e+00f,
                                  -1.0f};
  static constexpr float rough[] = {3.74814e-03f, -4.353106e-02f,
                                    -4.6871736e-01f, -1.14719708e+00f,
                                    -1.00043633e+00f};
  Term x{b, value};
  if (!isDouble(value))
    return geluOf(x, isRough ? GeluFit{rough, 5.5} : GeluFit{fit, 12}, isRough)
        .v;
  Term scaled = x * -0.70710678118654752;
  Term tail{b, emitMathCall(b, host, TENON_MATH_ERF, scaled.v)};
  return (x * 0.5 * (x.number(1) - tail)).v;
}

Value emitGeluTanh(ImplicitLocOpBuilder &b, FormulaHost &host, Value value,
                   bool isRough) {
  static constexpr float fit[] = {
      -3.022576932e-05f, 4.811186179e-04f,  -2.613609776e-03f,
      4.159493143e-03f,  3.310642070e-03f,  -4.899827638e-02f,
      -4.599235776e-01f, -1.151030584e+00f, -1.0f};
  static constexpr float rough[] = {-1.85675e-03f,    7.88455e-03f,
                                    -4.540805e-02f,   -4.671915e-01f,
                                    -1.14777361e+00f, -1.00036278e+00f};
  Term x{b, value};
  if (!isDouble(value))
    return geluOf(x, isRough ? GeluFit{rough, 5} : GeluFit{fit, 6.5}, isRough)
        .v;
  // (1 + tanh(u)) / 2 is sigmoid(2 u).
  Term inner = (x * x).fma(x.number(0.044715), x.number(1));
  inner = inner * (x * 1.5957691216057308);
  return (x * Term{b, emitSigmoid(b, host, inner.v)}).v;
}

} // namespace

Value emitMathCall(ImplicitLocOpBuilder &b, FormulaHost &host, int function,
                   ValueRange operands) {
  auto vector = dyn_cast<VectorType>(operands[0].getType());
  if (!vector)
    return host.callMath(function, operands);
  Value result = constantLike(b, vector, 0);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    SmallVector<Value> lanes;
    for (Value operand : operands)
      lanes.push_back(vector::ExtractOp::create(b, operand, i));
    result =
        vector::InsertOp::create(b, host.callMath(function, lanes), result, i);
  }
  return result;
}

/// By a power of two, whose exponent's rounding is made up for.
static Value emitExpByPower(ImplicitLocOpBuilder &b, FormulaHost &host,
                            Value x) {
  constexpr double log2OfE = 1.4426950408889634, high = float(log2OfE);
  // Beyond these the result is 0 or infinity all the same.
  Term all(b, x);
  Value low = arith::MaximumFOp::create(b, x, all.number(-105).v);
  Term within(b, arith::MinimumFOp::create(b, low, all.number(89.3).v));
  Term exponent = within * high;
  Term error = within.fma(within.number(high), exponent.negated());
  error = within.fma(within.number(log2OfE - high), error);
  Term power(b, host.power2(exponent.v));
  return (power * error.fma(error.number(0.6931471805599453), error.number(1)))
      .v;
}

Value emitExp(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_EXP, x);
  if (host.hasPower2())
    return emitExpByPower(b, host, x);
  return expOf({b, x}).v;
}

Value emitLog(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_LOG, x);
  return logOf({b, x}).v;
}

Value emitSin(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_SIN, x);
  return sineOf({b, x}, 0).v;
}

Value emitCos(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_COS, x);
  return sineOf({b, x}, 1).v;
}

Value emitTanh(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_TANH, x);
  return tanhOf({b, x}).v;
}

Value emitErf(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_ERF, x);
  return erfOf({b, x}).v;
}

Value emitSigmoid(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  Term t{b, x};
  Term power = {b, emitExp(b, host, t.negated().v)};
  return (t.number(1) / (power + 1.0)).v;
}

Value emitGelu(ImplicitLocOpBuilder &b, FormulaHost &host, graph::GeluKind kind,
               Value x, bool isRough) {
  switch (kind) {
  case graph::GeluKind::Erf:
    return emitGeluErf(b, host, x, isRough);
  case graph::GeluKind::Tanh:
    return emitGeluTanh(b, host, x, isRough);
  case graph::GeluKind::Quick: {
    Term t{b, x};
    return (t * Term{b, emitSigmoid(b, host, (t * 1.702).v)}).v;
  }
  }
  llvm_unreachable("all kinds of gelu");
}

Value emitSoftplus(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  // max(x, 0) + log1p(e^-|x|)
  Term t{b, x};
  Term power = {b, emitExp(b, host, t.abs().negated().v)};
  Term tail = isDouble(x)
                  ? Term{b, emitMathCall(b, host, TENON_MATH_LOG1P, power.v)}
                  : log1pOf(power);
  return (t.atLeast(0) + tail).v;
}

} // namespace tenon::cpu
