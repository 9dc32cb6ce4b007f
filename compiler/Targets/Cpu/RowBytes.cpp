//===- RowBytes.cpp - Rows that become bytes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowBytes.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr double steps = 255;
/// Rows of less than that are zeros: their scale has no inverse.
constexpr double smallest = 1e-30;
/// Behind a sum with it a bit is worth 1: that rounds, ties to even, and leaves
/// the integer in the lower bits.
constexpr double roundingTerm = 12582912; // 1.5 * 2^23

/// x where it is smaller, else y.
Value smallerOf(Emitter &e, Value x, Value y) {
  Value isSmaller = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OLT, x, y);
  return arith::SelectOp::create(e.b, isSmaller, x, y);
}

/// A byte in the lower bits of a float, behind the rounding term; NaN is 0.
Value roundedByte(Emitter &e, Value value) {
  auto all = [&](double number) {
    return constantLike(e.b, value.getType(), number);
  };
  Value byte = smallerOf(e, largerOf(e, value, all(0)), all(steps));
  return emitAdd(e.b, byte, all(roundingTerm));
}

} // namespace

RowEnds RowEnds::with(Emitter &e, Value element) const {
  Value nothing = constantLike(e.b, element.getType(), 0);
  return {smallerOf(e, element, low), largerOf(e, element, high),
          emitMulAdd(e.b, element, nothing, none)};
}

RowEnds RowEnds::joined(Emitter &e, const RowEnds &other) const {
  return {smallerOf(e, low, other.low), largerOf(e, high, other.high),
          emitAdd(e.b, none, other.none)};
}

RowEnds RowEnds::folded(Emitter &e) const {
  auto smaller = [&](Value x, Value y) { return smallerOf(e, x, y); };
  auto larger = [&](Value x, Value y) { return largerOf(e, x, y); };
  auto add = [&](Value x, Value y) { return emitAdd(e.b, x, y); };
  return {foldLanes(e, low, smaller), foldLanes(e, high, larger),
          foldLanes(e, none, add)};
}

RowBytes::RowBytes(Emitter &e, graph::QuantizeRowsOp op, const RowEnds &ends)
    : e(e), op(op) {
  Type f32 = e.b.getF32Type();
  auto number = [&](double value) { return constantLike(e.b, f32, value); };
  Value range = emitAdd(e.b, subtract(e, ends.high, ends.low), ends.none);
  Value isZeros = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OLT, range,
                                        number(smallest));
  Value step = arith::DivFOp::create(e.b, range, number(steps));
  scale = arith::SelectOp::create(e.b, isZeros, number(1), step);
  inverse = arith::DivFOp::create(e.b, number(1), scale);
  Value below = arith::NegFOp::create(e.b, ends.low);
  zero = subtract(e, roundedByte(e, multiply(e, below, inverse)),
                  number(roundingTerm));
}

void RowBytes::storeSides(Indices index) {
  index.back() = e.number(0);
  storeResult(op.getScale(), index, scale);
  Type byte = graph::getElementType(op.getZeroPoint());
  storeResult(op.getZeroPoint(), index,
              emitCast(e.b, zero, e.b.getF32Type(), byte));
}

void RowBytes::store(ArrayRef<Value> index, Value element) {
  auto type = dyn_cast<VectorType>(element.getType());
  auto all = [&](Value number) {
    return type ? e.spread(number, type.getDimSize(0)) : number;
  };
  Value sum = roundedByte(e, emitMulAdd(e.b, element, all(inverse), all(zero)));
  Type i32 = e.b.getI32Type();
  Value bits =
      arith::BitcastOp::create(e.b, sameShape(sum.getType(), i32), sum);
  storeResult(op.getNumbers(), index,
              emitCast(e.b, bits, i32, graph::getElementType(op.getNumbers())));
}

void RowBytes::storeResult(Value result, ArrayRef<Value> index, Value value) {
  Value position = e.linearise(index, e.dimsOf(result));
  for (auto [i, yielded] : llvm::enumerate(e.kernel.getYielded()))
    if (yielded == result)
      e.store(value, e.resultBuffer(unsigned(i)), graph::getElementType(result),
              position);
}

} // namespace tenon::cpu
