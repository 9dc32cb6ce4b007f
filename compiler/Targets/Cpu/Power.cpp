//===- Power.cpp - Powers -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 by way of f64, without branches and calls, so that loops vectorise.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Power.h"
#include "compiler/Targets/Cpu/WideFunctions.h"
#include "dialects/Graph/Constants.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using P = arith::CmpFPredicate;

/// |x|^y = 2^(y log2 |x|) in f64, so that one rounding is all that is lost;
/// then what negative numbers and the ends of the range make of it.
Term powerOf(Term x, Term y) {
  ImplicitLocOpBuilder &b = x.b;
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

/// Whether a few products, square roots and a quotient make x^exponent.
bool hasRoots(double exponent) {
  double quarters = exponent * 4;
  return std::abs(quarters) <= 16 && quarters == std::floor(quarters);
}

Term powerByRoots(Term x, double exponent) {
  auto rootOf = [](Term y) -> Term {
    return {y.b, math::SqrtOp::create(y.b, y.v)};
  };
  double size = std::abs(exponent), whole = std::floor(size);
  double part = size - whole;
  if (part != 0) // Powers of -0 and -infinity have no sign, roots have.
    x = x.where(P::OEQ, -infinity, x.number(infinity), x + 0.0);
  SmallVector<Term> factors(unsigned(whole), x);
  if (part != 0) {
    Term root = rootOf(x);
    if (part >= 0.5)
      factors.push_back(root);
    if (part != 0.5)
      factors.push_back(rootOf(root));
  }
  if (factors.empty())
    return x.number(1);
  Term product = factors.front();
  for (Term factor : ArrayRef(factors).drop_front())
    product = product * factor;
  return exponent < 0 ? x.number(1) / product : product;
}

Value powerOfFloats(ImplicitLocOpBuilder &b, FormulaHost &host, Value x,
                    Value y) {
  if (isDouble(x))
    return emitMathCall(b, host, TENON_MATH_POW, {x, y});
  return powerOf({b, x}, {b, y}).v;
}

/// Squares of the base, multiplied where the exponent has a bit.
Value powerOfInts(ImplicitLocOpBuilder &b, Value x, Value y, Type element) {
  Type type = x.getType();
  auto number = [&](int64_t value) { return constantLike(b, type, value); };
  Value lower = arith::ConstantIntOp::create(b, 0, 64);
  Value upper =
      arith::ConstantIntOp::create(b, element.getIntOrFloatBitWidth(), 64);
  Value step = arith::ConstantIntOp::create(b, 1, 64);
  auto loop =
      scf::ForOp::create(b, lower, upper, step, ValueRange{number(1), x, y},
                         [](OpBuilder &, Location, Value, ValueRange) {});
  using P = arith::CmpIPredicate;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value result = loop.getRegionIterArg(0), base = loop.getRegionIterArg(1),
          exponent = loop.getRegionIterArg(2);
    Value bit = arith::AndIOp::create(b, exponent, number(1));
    Value isSet = arith::CmpIOp::create(b, P::eq, bit, number(1));
    Value product = arith::MulIOp::create(b, result, base);
    result = arith::SelectOp::create(b, isSet, product, result);
    base = arith::MulIOp::create(b, base, base);
    exponent = arith::ShRUIOp::create(b, exponent, number(1));
    scf::YieldOp::create(b, ValueRange{result, base, exponent});
  }
  Value result = loop.getResult(0);
  if (element.isUnsignedInteger() || element.isInteger(1))
    return result;
  // Negative exponents: 1 and -1 have a power, all others truncate to 0.
  Value isUnit =
      arith::OrIOp::create(b, arith::CmpIOp::create(b, P::eq, x, number(1)),
                           arith::CmpIOp::create(b, P::eq, x, number(-1)));
  Value isNegative = arith::CmpIOp::create(b, P::slt, y, number(0));
  Value vanishes = arith::AndIOp::create(
      b, isNegative,
      arith::XOrIOp::create(b, isUnit, constantLike(b, isUnit.getType(), -1)));
  return arith::SelectOp::create(b, vanishes, number(0), result);
}

} // namespace

Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, graph::PowOp op,
              Value x, Value y) {
  Type element = graph::getElementType(op.getLhs());
  if (!isa<FloatType>(element))
    return powerOfInts(b, x, y, element);
  if (std::optional<double> known = graph::splatOf(op.getRhs()))
    return emitPow(b, host, x, *known);
  return powerOfFloats(b, host, x, y);
}

Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, Value x,
              double exponent) {
  if (hasRoots(exponent))
    return powerByRoots({b, x}, exponent).v;
  return powerOfFloats(b, host, x, constantLike(b, x.getType(), exponent));
}

} // namespace tenon::cpu
