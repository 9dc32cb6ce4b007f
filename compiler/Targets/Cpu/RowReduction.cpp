//===- RowReduction.cpp - Reductions in vectors ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

using graph::ReduceKind;
using P = arith::CmpFPredicate;

Value largerOf(Emitter &e, Value x, Value y) {
  Value isLarger = arith::CmpFOp::create(e.b, P::OGT, x, y);
  return arith::SelectOp::create(e.b, isLarger, x, y);
}

RowReduction::Values RowReduction::start() const {
  Type f32 = VectorType::get({width}, e.b.getF32Type());
  Type f64 = VectorType::get({width}, e.b.getF64Type());
  double infinity = std::numeric_limits<double>::infinity();
  if (isExtremum())
    return {
        constantLike(e.b, f32, kind == ReduceKind::Max ? -infinity : infinity),
        constantLike(e.b, f32, 0)};
  return {constantLike(e.b, f64, kind == ReduceKind::Prod ? 1 : 0)};
}

/// The better of two numbers; y where either is NaN.
Value RowReduction::better(Value x, Value y) const {
  Value isBetter = arith::CmpFOp::create(
      e.b, kind == ReduceKind::Max ? P::OGT : P::OLT, x, y);
  return arith::SelectOp::create(e.b, isBetter, x, y);
}

/// NaN if either is.
Value RowReduction::either(Value x, Value y) const {
  Value isNan = arith::CmpFOp::create(e.b, P::UNO, x, x);
  return arith::SelectOp::create(e.b, isNan, x, y);
}

RowReduction::Values RowReduction::add(ValueRange sofar, Value x,
                                       Value mask) const {
  if (mask) {
    Values none = start();
    Value neutral =
        isExtremum()
            ? none[0]
            : constantLike(e.b, x.getType(), kind == ReduceKind::Prod ? 1 : 0);
    x = arith::SelectOp::create(e.b, mask, x, neutral);
  }
  // The best so far stays where x is NaN.
  if (isExtremum())
    return {better(x, sofar[0]), either(x, sofar[1])};
  Value wide = arith::ExtFOp::create(e.b, sofar[0].getType(), x);
  return {kind == ReduceKind::Prod ? emitMul(e.b, sofar[0], wide)
                                   : emitAdd(e.b, sofar[0], wide)};
}

RowReduction::Values RowReduction::join(ValueRange x, ValueRange y) const {
  if (isExtremum())
    return {better(x[0], y[0]), either(x[1], y[1])};
  return {kind == ReduceKind::Prod ? emitMul(e.b, x[0], y[0])
                                   : emitAdd(e.b, x[0], y[0])};
}

RowReduction::Values RowReduction::fold(ValueRange lanes) const {
  Values result;
  for (size_t i = 0; i < lanes.size(); ++i)
    result.push_back(foldLanes(e, lanes[i], [&](Value x, Value y) {
      if (i == 1)
        return either(x, y);
      return isExtremum() ? better(x, y) : join({x}, {y})[0];
    }));
  return result;
}

Value RowReduction::finish(ValueRange carried, Value count,
                           Type element) const {
  if (isExtremum())
    return either(carried[1], carried[0]);
  Value sum = carried[0];
  if (kind == ReduceKind::Mean) {
    Value divisor = arith::SIToFPOp::create(e.b, e.b.getF64Type(), count);
    if (isa<VectorType>(sum.getType()))
      divisor = e.spread(divisor, width);
    sum = arith::DivFOp::create(e.b, sum, divisor);
  }
  return emitCast(e.b, sum, e.b.getF64Type(), element);
}

VectorType ArgReduction::placeType() const {
  return VectorType::get({width}, e.b.getI32Type());
}

/// No place yet is behind all others, wherever those are sought.
ArgReduction::Values ArgReduction::start() const {
  double infinity = std::numeric_limits<double>::infinity();
  Type f32 = VectorType::get({width}, e.b.getF32Type());
  return {constantLike(e.b, f32, isMax ? -infinity : infinity),
          constantLike(e.b, placeType(), takesLast ? -1 : double(INT32_MAX))};
}

Value ArgReduction::isBetter(Value x, Value y) const {
  Value beats = arith::CmpFOp::create(e.b, isMax ? P::UGT : P::ULT, x, y);
  return arith::AndIOp::create(e.b, beats,
                               arith::CmpFOp::create(e.b, P::ORD, y, y));
}

ArgReduction::Values ArgReduction::add(ValueRange sofar, Value x, Value place,
                                       Value mask) const {
  // Places only grow: of equals the last one wins where that is asked for.
  Value wins = isBetter(x, sofar[0]);
  if (takesLast)
    wins = arith::XOrIOp::create(
        e.b, isBetter(sofar[0], x),
        constantLike(e.b, VectorType::get({width}, e.b.getI1Type()), -1));
  if (mask)
    wins = arith::AndIOp::create(e.b, wins, mask);
  return {arith::SelectOp::create(e.b, wins, x, sofar[0]),
          arith::SelectOp::create(e.b, wins, place, sofar[1])};
}

ArgReduction::Values ArgReduction::join(ValueRange x, ValueRange y) const {
  Value wins = isBetter(x[0], y[0]);
  // Neither is better: the place decides.
  Value loses = isBetter(y[0], x[0]);
  Value isBefore = arith::CmpIOp::create(
      e.b, takesLast ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
      x[1], y[1]);
  Value none = constantLike(e.b, loses.getType(), 0);
  wins = arith::OrIOp::create(
      e.b, wins, arith::SelectOp::create(e.b, loses, none, isBefore));
  return {arith::SelectOp::create(e.b, wins, x[0], y[0]),
          arith::SelectOp::create(e.b, wins, x[1], y[1])};
}

ArgReduction::Values ArgReduction::fold(ValueRange lanes) const {
  Values both(lanes.begin(), lanes.end());
  for (int32_t count = width; count > 1; count /= 2) {
    Values low, high;
    for (Value value : both) {
      low.push_back(LLVM::ShuffleVectorOp::create(
          e.b, value, value,
          llvm::to_vector(llvm::seq<int32_t>(0, count / 2))));
      high.push_back(LLVM::ShuffleVectorOp::create(
          e.b, value, value,
          llvm::to_vector(llvm::seq<int32_t>(count / 2, count))));
    }
    both = join(low, high);
  }
  return {vector::ExtractOp::create(e.b, both[0], 0),
          vector::ExtractOp::create(e.b, both[1], 0)};
}

Value ArgReduction::finish(Value place) const {
  // Where nothing is better than the start, it is the first of equals.
  Value none = constantLike(e.b, place.getType(), double(INT32_MAX));
  Value zero = constantLike(e.b, place.getType(), 0);
  Value isNone =
      arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, place, none);
  place = arith::SelectOp::create(e.b, isNone, zero, place);
  return arith::ExtSIOp::create(
      e.b, sameShape(place.getType(), e.b.getI64Type()), place);
}

Value ArgReduction::placesFrom(Value first) const {
  Value lanes = laneNumbers(e.b, width);
  Value narrow = arith::TruncIOp::create(e.b, e.b.getI32Type(), first);
  return arith::AddIOp::create(e.b, lanes, e.spread(narrow, width));
}

} // namespace tenon::cpu
