//===- FloatTerm.h - Expressions of floats, short to write ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_FLOATTERM_H
#define TENON_COMPILER_TARGETS_CPU_FLOATTERM_H

#include "compiler/Targets/Cpu/Formulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tenon::cpu {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Expressions over scalars or vectors, short to write.
struct Term {
  ImplicitLocOpBuilder &b;
  mlir::Value v;

  Term(ImplicitLocOpBuilder &b, mlir::Value v) : b(b), v(v) {}
  Term(const Term &) = default;
  Term &operator=(const Term &other) {
    v = other.v; // There is one builder.
    return *this;
  }
  Term number(double value) const {
    return {b, constantLike(b, v.getType(), value)};
  }
  Term operator+(Term y) const {
    return {b, mlir::arith::AddFOp::create(b, v, y.v)};
  }
  Term operator-(Term y) const {
    return {b, mlir::arith::SubFOp::create(b, v, y.v)};
  }
  Term operator*(Term y) const {
    return {b, mlir::arith::MulFOp::create(b, v, y.v)};
  }
  Term operator/(Term y) const {
    return {b, mlir::arith::DivFOp::create(b, v, y.v)};
  }
  Term operator+(double y) const { return *this + number(y); }
  Term operator-(double y) const { return *this - number(y); }
  Term operator*(double y) const { return *this * number(y); }
  Term negated() const { return {b, mlir::arith::NegFOp::create(b, v)}; }
  Term abs() const { return {b, mlir::math::AbsFOp::create(b, v)}; }
  /// What is not below 0 with the sign of y. Of f32 by its bits: LLVM 22 takes
  /// a copied sign from what was rounded to y, and behind a cast to f16 brings
  /// that there from f64, by a call that nobody defines.
  Term signOf(Term y) const {
    if (!mlir::getElementTypeOrSelf(v.getType()).isF32())
      return {b, mlir::math::CopySignOp::create(b, v, y.v)};
    mlir::Value sign = y.bits();
    sign = mlir::arith::AndIOp::create(
        b, sign, constantLike(b, sign.getType(), -0x1p31));
    return fromBits(b, mlir::arith::XOrIOp::create(b, bits(), sign));
  }
  /// this * y + z
  Term fma(Term y, Term z) const {
    return {b, mlir::math::FmaOp::create(b, v, y.v, z.v)};
  }
  /// condition(this, y) ? then : otherwise
  Term where(mlir::arith::CmpFPredicate condition, double y, Term then,
             Term otherwise) const {
    mlir::Value holds =
        mlir::arith::CmpFOp::create(b, condition, v, number(y).v);
    return {b, mlir::arith::SelectOp::create(b, holds, then.v, otherwise.v)};
  }
  Term atMost(double y) const { // NaN stays.
    return where(mlir::arith::CmpFPredicate::OGT, y, number(y), *this);
  }
  Term atLeast(double y) const {
    return where(mlir::arith::CmpFPredicate::OLT, y, number(y), *this);
  }
  /// Coefficients from the highest power down.
  Term polynomial(llvm::ArrayRef<float> coefficients) const {
    Term sum = number(coefficients[0]);
    for (float c : coefficients.drop_front())
      sum = sum.fma(*this, number(c));
    return sum;
  }
  mlir::Value bits() const {
    return mlir::arith::BitcastOp::create(
        b, sameShape(v.getType(), b.getI32Type()), v);
  }
  static Term fromBits(ImplicitLocOpBuilder &b, mlir::Value bits) {
    return {b, mlir::arith::BitcastOp::create(
                   b, sameShape(bits.getType(), b.getF32Type()), bits)};
  }
};

inline bool isDouble(mlir::Value x) {
  return mlir::getElementTypeOrSelf(x.getType()).isF64();
}

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_FLOATTERM_H
