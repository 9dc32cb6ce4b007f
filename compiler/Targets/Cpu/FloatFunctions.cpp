//===- FloatFunctions.cpp - Exponentials and their relatives --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 by polynomials, minimax fits over the stated ranges, without branches
// and calls, so that loops over them vectorise; f64 by calls.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Formulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// f32 expressions over scalars or vectors, short to write.
struct Term {
  ImplicitLocOpBuilder &b;
  Value v;

  Term(ImplicitLocOpBuilder &b, Value v) : b(b), v(v) {}
  Term(const Term &) = default;
  Term &operator=(const Term &other) {
    v = other.v; // There is one builder.
    return *this;
  }
  Term number(double value) const {
    return {b, constantLike(b, v.getType(), value)};
  }
  Term operator+(Term y) const { return {b, arith::AddFOp::create(b, v, y.v)}; }
  Term operator-(Term y) const { return {b, arith::SubFOp::create(b, v, y.v)}; }
  Term operator*(Term y) const { return {b, arith::MulFOp::create(b, v, y.v)}; }
  Term operator/(Term y) const { return {b, arith::DivFOp::create(b, v, y.v)}; }
  Term operator+(double y) const { return *this + number(y); }
  Term operator-(double y) const { return *this - number(y); }
  Term operator*(double y) const { return *this * number(y); }
  Term abs() const { return {b, math::AbsFOp::create(b, v)}; }
  Term signOf(Term y) const { return {b, math::CopySignOp::create(b, v, y.v)}; }
  /// this * y + z
  Term fma(Term y, Term z) const {
    return {b, math::FmaOp::create(b, v, y.v, z.v)};
  }
  /// condition(this, y) ? then : otherwise
  Term where(arith::CmpFPredicate condition, double y, Term then,
             Term otherwise) const {
    Value holds = arith::CmpFOp::create(b, condition, v, number(y).v);
    return {b, arith::SelectOp::create(b, holds, then.v, otherwise.v)};
  }
  Term atMost(double y) const { // NaN stays.
    return where(arith::CmpFPredicate::OGT, y, number(y), *this);
  }
  Term atLeast(double y) const {
    return where(arith::CmpFPredicate::OLT, y, number(y), *this);
  }
  /// Coefficients from the highest power down.
  Term polynomial(ArrayRef<float> coefficients) const {
    Term sum = number(coefficients[0]);
    for (float c : coefficients.drop_front())
      sum = sum.fma(*this, number(c));
    return sum;
  }
  Value bits() const {
    return arith::BitcastOp::create(b, sameShape(v.getType(), b.getI32Type()),
                                    v);
  }
  static Term fromBits(ImplicitLocOpBuilder &b, Value bits) {
    return {b, arith::BitcastOp::create(
                   b, sameShape(bits.getType(), b.getF32Type()), bits)};
  }
};

bool isDouble(Value x) { return getElementTypeOrSelf(x.getType()).isF64(); }

/// 2^n for integers n in [-126, 127].
Term powerOfTwo(ImplicitLocOpBuilder &b, Value n) {
  Type type = n.getType();
  n = arith::AddIOp::create(b, n, constantLike(b, type, 127));
  return Term::fromBits(b,
                        arith::ShLIOp::create(b, n, constantLike(b, type, 23)));
}

/// e^x = 2^n e^r, |r| <= ln(2) / 2.
Term expOf(Term x) {
  static constexpr float fit[] = {1.395170310e-03f, 8.369590246e-03f,
                                  4.166618750e-02f, 1.666651296e-01f,
                                  5.000000101e-01f};
  ImplicitLocOpBuilder &b = x.b;
  // Beyond these the result is 0 or infinity all the same.
  x = x.atMost(90).atLeast(-106);
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits.
  const double magic = 12582912;
  Term shifted = x.fma(x.number(1.4426950408889634), x.number(magic));
  Value n = arith::SubIOp::create(
      b, shifted.bits(), constantLike(b, shifted.bits().getType(), 0x4B400000));
  Term whole = shifted - magic;
  Term r = whole.fma(x.number(-0.693359375), x);
  r = whole.fma(x.number(2.12194440e-4), r);
  Term result = r.polynomial(fit).fma(r * r, r) + 1;
  // In two steps, which reach denormal results and infinity.
  Type type = n.getType();
  Value half = arith::ShRSIOp::create(b, n, constantLike(b, type, 1));
  Value rest = arith::SubIOp::create(b, n, half);
  return result * powerOfTwo(b, half) * powerOfTwo(b, rest);
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

Term tanhOf(Term x) {
  static constexpr float fit[] = {-5.721629893e-03f, 2.065521841e-02f,
                                  -5.374514459e-02f, 1.333151517e-01f,
                                  -3.333328508e-01f};
  Term size = x.abs();
  Term square = x * x;
  Term near = square.polynomial(fit).fma(square * x, x);
  Term far = x.number(1) - x.number(2) / (expOf(size * 2.0) + 1.0);
  return size.where(arith::CmpFPredicate::OLT, 0.625, near, far.signOf(x));
}

Term erfOf(Term x) {
  static constexpr float fitNear[] = {
      7.889119531e-05f, -8.020841279e-04f, 5.189535339e-03f, -2.685444459e-02f,
      1.128360018e-01f, -3.761262714e-01f, 1.283791659e-01f};
  // Of -log(1 - erf(x)) up to 4.1, where erf is 1.
  static constexpr float fitFar[] = {
      -9.105387962e-08f, 2.299558338e-05f,  -4.493984049e-04f,
      4.232370143e-03f,  -2.526701972e-02f, 1.084965086e-01f,
      6.331565199e-01f,  1.129607331e+00f,  -1.937062677e-04f};
  Term size = x.abs();
  Term near = (x * x).polynomial(fitNear).fma(x, x);
  Term power = size.atMost(4.1).polynomial(fitFar) * -1.0;
  Term far = x.number(1) - expOf(power);
  return size.where(arith::CmpFPredicate::OLT, 1.0, near, far.signOf(x));
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

Value emitExp(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_EXP, x);
  return expOf({b, x}).v;
}

Value emitLog(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_LOG, x);
  return logOf({b, x}).v;
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
  Term power = {b, emitExp(b, host, (t * -1.0).v)};
  return (t.number(1) / (power + 1.0)).v;
}

Value emitSoftplus(ImplicitLocOpBuilder &b, FormulaHost &host, Value x) {
  // max(x, 0) + log1p(e^-|x|)
  Term t{b, x};
  Term power = {b, emitExp(b, host, (t.abs() * -1.0).v)};
  Term tail = power;
  if (isDouble(x)) {
    tail = {b, emitMathCall(b, host, TENON_MATH_LOG1P, power.v)};
  } else {
    // The factor repairs what 1 + e^-|x| lost by rounding.
    Term sum = power + 1.0;
    Term scaled = logOf(sum) * (power / (sum - 1.0));
    tail = sum.where(arith::CmpFPredicate::OEQ, 1, power, scaled);
  }
  return (t.atLeast(0) + tail).v;
}

} // namespace tenon::cpu
