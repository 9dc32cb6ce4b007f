//===- RowReduction.cpp - Reductions in vectors ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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

} // namespace tenon::cpu
