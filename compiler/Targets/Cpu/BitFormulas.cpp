//===- BitFormulas.cpp - What is done with the bits of numbers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/BitFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;

namespace tenon::cpu {
using llvm::APFloat;

Type memoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  if (isa<IntegerType>(element))
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

Value fromMemory(ImplicitLocOpBuilder &b, Value value, Type element) {
  Type shape = value.getType();
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value,
                                 constantLike(b, shape, 0));
  if (element.isF16())
    return arith::ExtFOp::create(b, sameShape(shape, b.getF32Type()), value);
  if (element.isBF16()) {
    Type bits = sameShape(shape, b.getI32Type());
    Value wide = arith::ExtUIOp::create(b, bits, value);
    wide = arith::ShLIOp::create(b, wide, constantLike(b, bits, 16));
    return arith::BitcastOp::create(b, sameShape(shape, b.getF32Type()), wide);
  }
  return value;
}

Value toMemory(ImplicitLocOpBuilder &b, Value value, Type element) {
  Type shape = value.getType();
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, sameShape(shape, b.getI8Type()), value);
  if (element.isF16())
    return arith::TruncFOp::create(b, sameShape(shape, element), value);
  if (element.isBF16()) {
    // The value is one that bf16 holds: no rounding is left to do.
    Type wide = sameShape(shape, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, wide, value);
    bits = arith::ShRUIOp::create(b, bits, constantLike(b, wide, 16));
    return arith::TruncIOp::create(b, sameShape(shape, b.getI16Type()), bits);
  }
  return value;
}

Value emitBitcast(ImplicitLocOpBuilder &b, graph::BitcastOp op, Value x) {
  Type from = graph::getElementType(op.getInput());
  Type to = graph::getElementType(op.getResult());
  Value bits = toMemory(b, x, from);
  Type type = sameShape(bits.getType(), memoryType(to));
  if (bits.getType() != type)
    bits = arith::BitcastOp::create(b, type, bits);
  return fromMemory(b, bits, to);
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

Value emitRandomBits(ImplicitLocOpBuilder &b, Value counter, Value key) {
  constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  Type wide = counter.getType(), type = sameShape(wide, b.getI32Type());
  auto number = [&](double value) { return constantLike(b, type, value); };
  auto add = [&](Value lhs, Value rhs) {
    return arith::AddIOp::create(b, lhs, rhs).getResult();
  };
  auto exclusiveOr = [&](Value lhs, Value rhs) {
    return arith::XOrIOp::create(b, lhs, rhs).getResult();
  };
  auto low = [&](Value bits) {
    return arith::TruncIOp::create(b, type, bits).getResult();
  };
  auto high = [&](Value bits) {
    return low(arith::ShRUIOp::create(b, bits, constantLike(b, wide, 32)));
  };
  auto rotated = [&](Value word, int by) {
    Value up = arith::ShLIOp::create(b, word, number(by));
    Value down = arith::ShRUIOp::create(b, word, number(32 - by));
    return arith::OrIOp::create(b, up, down).getResult();
  };
  Value keys[3] = {low(key), high(key), {}};
  keys[2] = exclusiveOr(exclusiveOr(keys[0], keys[1]), number(0x1bd11bda));
  Value x = add(low(counter), keys[0]), y = add(high(counter), keys[1]);
  for (int round = 0; round < 20; ++round) {
    x = add(x, y);
    y = exclusiveOr(rotated(y, rotations[round % 8]), x);
    if (round % 4 != 3)
      continue;
    int group = round / 4 + 1;
    x = add(x, keys[group % 3]);
    y = add(y, add(keys[(group + 1) % 3], number(group)));
  }
  Value upper = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, wide, y),
                                      constantLike(b, wide, 32));
  return arith::OrIOp::create(b, upper, arith::ExtUIOp::create(b, wide, x));
}

} // namespace tenon::cpu
