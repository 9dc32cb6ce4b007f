//===- Reduction.cpp - How elements combine to one ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using graph::ReduceKind;

bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

} // namespace

Value addInAnyOrder(Emitter &e, Value x, Value y) {
  return arith::AddFOp::create(e.b, x, y, arith::FastMathFlags::reassoc);
}

Value subtract(Emitter &e, Value x, Value y) {
  return arith::SubFOp::create(e.b, x, y);
}
Value multiply(Emitter &e, Value x, Value y) {
  return arith::MulFOp::create(e.b, x, y);
}
Value inverse(Emitter &e, Value x) {
  return arith::DivFOp::create(e.b, constantLike(e.b, x.getType(), 1), x);
}

Value maximum(Emitter &e, Value x, Value y) {
  return arith::MaximumFOp::create(e.b, x, y);
}

Value extreme(Emitter &e, Type element, bool lowest) {
  Type type = computeType(element);
  double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(type))
    return constantLike(e.b, type, lowest ? -infinity : infinity);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value =
      isUnsigned(element)
          ? (lowest ? APInt::getMinValue(width) : APInt::getMaxValue(width))
          : (lowest ? APInt::getSignedMinValue(width)
                    : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(e.b, IntegerAttr::get(type, value));
}

Value isBetter(Emitter &e, Value x, Value y, Type element, bool largest) {
  if (!isa<FloatType>(element))
    return largest ? emitLess(e.b, y, x, element)
                   : emitLess(e.b, x, y, element);
  using P = arith::CmpFPredicate;
  Value holds = arith::CmpFOp::create(e.b, largest ? P::OGT : P::OLT, x, y);
  Value isNan = arith::CmpFOp::create(e.b, P::UNO, x, x);
  Value isNumber = arith::CmpFOp::create(e.b, P::ORD, y, y);
  return arith::OrIOp::create(e.b, holds,
                              arith::AndIOp::create(e.b, isNan, isNumber));
}

Type Reduction::type(Emitter &e) const {
  if (isExtremum())
    return computeType(element);
  return isa<FloatType>(element) ? Type(e.b.getF64Type())
                                 : Type(e.b.getI64Type());
}

Value Reduction::start(Emitter &e) const {
  if (isExtremum())
    return extreme(e, element, kind == ReduceKind::Max);
  return constantLike(e.b, type(e), kind == ReduceKind::Prod ? 1 : 0);
}

Value Reduction::join(Emitter &e, Value sum, Value value) const {
  if (!isExtremum())
    value = isa<FloatType>(element)
                ? emitCast(e.b, value, computeType(element), e.b.getF64Type())
                : emitCast(e.b, value, element, e.b.getI64Type());
  return joinSums(e, sum, value);
}

Value Reduction::joinSums(Emitter &e, Value x, Value y) const {
  bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReduceKind::Max:
    return isFloat ? maximum(e, x, y) : emitMax(e.b, x, y, element);
  case ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(e.b, x, y).getResult()
                   : emitMin(e.b, x, y, element);
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return isFloat ? addInAnyOrder(e, x, y) : emitAdd(e.b, x, y);
  case ReduceKind::Prod:
    return isFloat
               ? arith::MulFOp::create(e.b, x, y, arith::FastMathFlags::reassoc)
                     .getResult()
               : emitMul(e.b, x, y);
  }
  llvm_unreachable("all kinds of reductions");
}

Value Reduction::finish(Emitter &e, Value sum, Value count,
                        Operation *op) const {
  if (isExtremum())
    return sum;
  bool isMean = kind == ReduceKind::Mean;
  if (isa<FloatType>(element)) {
    if (isMean)
      sum = arith::DivFOp::create(
          e.b, sum, arith::SIToFPOp::create(e.b, e.b.getF64Type(), count));
    return emitCast(e.b, sum, e.b.getF64Type(), element);
  }
  if (isMean) {
    e.fault(e.less(count, e.number(1)), TENON_FAULT_COUNT, op);
    Value divisor = e.max(count, e.number(1));
    sum = element.isUnsignedInteger(64)
              ? arith::DivUIOp::create(e.b, sum, divisor).getResult()
              : arith::DivSIOp::create(e.b, sum, divisor).getResult();
  }
  if (element.isInteger(1)) // Modulo 2, like all sums of integers.
    return arith::TruncIOp::create(e.b, element, sum);
  return emitCast(e.b, sum, e.b.getI64Type(), element);
}

} // namespace tenon::cpu
