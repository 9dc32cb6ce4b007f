//===- Power.cpp - Powers of floats ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 by way of f64, without branches and calls, so that loops vectorise.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Power.h"
#include "compiler/Targets/Cpu/WideFunctions.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

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
