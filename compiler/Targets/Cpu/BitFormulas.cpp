//===- BitFormulas.cpp - What is done with the bits of numbers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/BitFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;

namespace tenon::cpu {
namespace {

using llvm::APFloat;

/// The bits of a number of `element` that is computed in another type.
Value bitsOf(ImplicitLocOpBuilder &b, Value x, Type element) {
  Type type = x.getType();
  auto integer = [&](unsigned width) {
    return sameShape(type, b.getIntegerType(width));
  };
  if (element.isF16()) {
    Value half = arith::TruncFOp::create(b, sameShape(type, element), x);
    return arith::BitcastOp::create(b, integer(16), half);
  }
  if (element.isBF16()) {
    Value bits = arith::BitcastOp::create(b, integer(32), x);
    bits = arith::ShRUIOp::create(b, bits, constantLike(b, integer(32), 16));
    return arith::TruncIOp::create(b, integer(16), bits);
  }
  if (isa<FloatType>(element))
    return arith::BitcastOp::create(b, integer(element.getIntOrFloatBitWidth()),
                                    x);
  return element.isInteger(1)
             ? arith::ExtUIOp::create(b, integer(8), x).getResult()
             : x;
}

} // namespace

Value emitBitcast(ImplicitLocOpBuilder &b, graph::BitcastOp op, Value x) {
  Value bits = bitsOf(b, x, graph::getElementType(op.getInput()));
  Type element = graph::getElementType(op.getResult());
  if (!isa<FloatType>(element))
    return bits;
  Type result = sameShape(bits.getType(), computeType(element));
  if (element.isF16()) {
    Type type = sameShape(bits.getType(), element);
    Value half = arith::BitcastOp::create(b, type, bits);
    return arith::ExtFOp::create(b, result, half);
  }
  if (element.isBF16()) {
    Type wide = sameShape(bits.getType(), b.getI32Type());
    bits = arith::ExtUIOp::create(b, wide, bits);
    bits = arith::ShLIOp::create(b, bits, constantLike(b, wide, 16));
  }
  return arith::BitcastOp::create(b, result, bits);
}

/// Numbers of the type that lie around x are a power of two apart. Added to 1.5
/// times 2^23 as much, f32 has no bit below that, and rounds to it.
Value emitRoundFloat(ImplicitLocOpBuilder &b, graph::RoundFloatOp op, Value x) {
  using P = arith::CmpFPredicate;
  const llvm::fltSemantics &to =
      cast<FloatType>(op.getTo()).getFloatSemantics();
  constexpr int precisionOfF32 = 24;
  double largest = APFloat::getLargest(to).convertToDouble();
  Type type = x.getType(), bitsType = sameShape(type, b.getI32Type());
  auto number = [&](double value) { return constantLike(b, type, value); };
  auto compare = [&](P predicate, Value l, Value r) -> Value {
    return arith::CmpFOp::create(b, predicate, l, r);
  };
  auto select = [&](Value condition, Value l, Value r) -> Value {
    return arith::SelectOp::create(b, condition, l, r);
  };
  auto bits = [&](Value value, int64_t mask) -> Value {
    Value all = arith::BitcastOp::create(b, bitsType, value);
    return arith::AndIOp::create(b, all, constantLike(b, bitsType, mask));
  };
  // NaN stays what it is. What is not saturated stays beyond the largest one.
  Value bound = number(op.getSaturates() ? largest : 2 * largest);
  Value least = arith::NegFOp::create(b, bound);
  Value bounded = select(compare(P::OGT, x, bound), bound, x);
  bounded = select(compare(P::OLT, x, least), least, bounded);
  Value power = arith::BitcastOp::create(b, type, bits(bounded, 0x7F800000));
  Value lowest = number(std::ldexp(1.0, APFloat::semanticsMinExponent(to)));
  power = select(compare(P::OLT, power, lowest), lowest, power);
  int drop = precisionOfF32 - int(APFloat::semanticsPrecision(to));
  Value shift = arith::MulFOp::create(b, power, number(std::ldexp(1.5, drop)));
  Value sum = arith::AddFOp::create(b, bounded, shift);
  Value rounded = arith::SubFOp::create(b, sum, shift);
  bool hasNan = APFloat::semanticsHasNaN(to);
  if (!hasNan)
    rounded = select(compare(P::UNO, x, x), number(0), rounded);
  if (op.getSaturates())
    return rounded;
  Value beyond = number(APFloat::semanticsHasInf(to)
                            ? std::numeric_limits<double>::infinity()
                            : std::nan(""));
  Value end = number(largest), start = number(-largest);
  Value below = select(compare(P::OLT, rounded, start),
                       arith::NegFOp::create(b, beyond), rounded);
  return select(compare(P::OGT, rounded, end), beyond, below);
}

} // namespace tenon::cpu
