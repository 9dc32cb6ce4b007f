//===- Formulas.cpp - One formula per pointwise op ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/BitFormulas.h"
#include "compiler/Targets/Cpu/Power.h"
#include "compiler/Targets/Cpu/QuantizeFormulas.h"
#include "compiler/Targets/Cpu/WideFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// One pointwise op on the elements x, y, z.
struct Formula {
  ImplicitLocOpBuilder &b;
  FormulaHost &host;
  Operation *op;
  Type element; // Of the first operand.
  Value x, y, z;

  bool isFloat() const { return isa<FloatType>(element); }
  bool isUnsigned() const {
    return element.isUnsignedInteger() || element.isInteger(1);
  }
  Value number(double value) const {
    return constantLike(b, x.getType(), value);
  }
  Value compare(arith::CmpFPredicate predicate, Value l, Value r) const {
    return arith::CmpFOp::create(b, predicate, l, r);
  }
  Value compare(arith::CmpIPredicate predicate, Value l, Value r) const {
    return arith::CmpIOp::create(b, predicate, l, r);
  }
  Value select(Value condition, Value l, Value r) const {
    return arith::SelectOp::create(b, condition, l, r);
  }
};

template <typename FloatOp, typename IntOp> Value either(const Formula &f) {
  if (f.isFloat())
    return FloatOp::create(f.b, f.x, f.y);
  return IntOp::create(f.b, f.x, f.y);
}
template <typename Op> Value unary(const Formula &f) {
  return Op::create(f.b, f.x);
}
template <typename Op> Value binary(const Formula &f) {
  return Op::create(f.b, f.x, f.y);
}
template <int function> Value trigonometric(const Formula &f) {
  return emitTrigonometry(f.b, f.host, function, f.x);
}
template <Value (*function)(ImplicitLocOpBuilder &, FormulaHost &, Value)>
Value smooth(const Formula &f) {
  return function(f.b, f.host, f.x);
}

Value absolute(const Formula &f) {
  if (f.isFloat())
    return math::AbsFOp::create(f.b, f.x);
  if (f.isUnsigned())
    return f.x;
  Value negated = arith::SubIOp::create(f.b, f.number(0), f.x);
  return arith::MaxSIOp::create(f.b, f.x, negated);
}

Value negation(const Formula &f) {
  if (f.isFloat())
    return arith::NegFOp::create(f.b, f.x);
  return arith::SubIOp::create(f.b, f.number(0), f.x);
}

Value reciprocal(const Formula &f) {
  return arith::DivFOp::create(f.b, f.number(1), f.x);
}

Value sign(const Formula &f) {
  Value positive = emitLess(f.b, f.number(0), f.x, f.element);
  if (f.isUnsigned())
    return f.select(positive, f.number(1), f.x);
  Value negative = emitLess(f.b, f.x, f.number(0), f.element);
  return f.select(positive, f.number(1), f.select(negative, f.number(-1), f.x));
}

Value complement(const Formula &f) {
  return arith::XOrIOp::create(f.b, f.x, f.number(-1));
}

Value isNan(const Formula &f) {
  return f.compare(arith::CmpFPredicate::UNO, f.x, f.x);
}

Value isInf(const Formula &f) {
  auto op = cast<graph::IsInfOp>(f.op);
  double infinity = std::numeric_limits<double>::infinity();
  auto is = [&](double value) {
    return f.compare(arith::CmpFPredicate::OEQ, f.x, f.number(value));
  };
  if (op.getNegative() && op.getPositive())
    return arith::OrIOp::create(f.b, is(infinity), is(-infinity));
  if (op.getNegative() || op.getPositive())
    return is(op.getNegative() ? -infinity : infinity);
  return constantLike(f.b, sameShape(f.x.getType(), f.b.getI1Type()), 0);
}

/// Whether nothing but a rounding to bf16 sees what an op makes of f32.
bool isForBf16(Operation *op) {
  return graph::getElementType(op->getResult(0)).isF32() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<graph::CastOp>(user) &&
                  graph::getElementType(user->getResult(0)).isBF16();
         });
}

Value gelu(const Formula &f) {
  return emitGelu(f.b, f.host, cast<graph::GeluOp>(f.op).getKind(), f.x,
                  isForBf16(f.op));
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

void faultWhere(const Formula &f, Value bad) {
  if (auto vector = dyn_cast<VectorType>(bad.getType()))
    bad = vector::ReductionOp::create(f.b, vector::CombiningKind::OR, bad);
  f.host.fault(bad, TENON_FAULT_DIVIDE, f.op);
}

/// Quotient or remainder of integers; a divisor of 0 is a fault, and of -1 no
/// overflow.
Value divideInts(const Formula &f, bool wantRest) {
  using P = arith::CmpIPredicate;
  Value isZero = f.compare(P::eq, f.y, f.number(0));
  faultWhere(f, isZero);
  if (f.isUnsigned()) {
    Value divisor = f.select(isZero, f.number(1), f.y);
    if (wantRest)
      return arith::RemUIOp::create(f.b, f.x, divisor);
    return arith::DivUIOp::create(f.b, f.x, divisor);
  }
  Value isMinusOne = f.compare(P::eq, f.y, f.number(-1));
  Value isTrivial = arith::OrIOp::create(f.b, isZero, isMinusOne);
  Value divisor = f.select(isTrivial, f.number(1), f.y);
  if (wantRest) // By 1 as by -1, nothing is left.
    return arith::RemSIOp::create(f.b, f.x, divisor);
  Value quotient = arith::DivSIOp::create(f.b, f.x, divisor);
  return f.select(isMinusOne, negation(f), quotient);
}

Value quotient(const Formula &f) {
  if (f.isFloat())
    return arith::DivFOp::create(f.b, f.x, f.y);
  return divideInts(f, /*wantRest=*/false);
}

Value remainder(const Formula &f) {
  if (f.isFloat())
    return emitMathCall(f.b, f.host, TENON_MATH_FMOD, {f.x, f.y});
  return divideInts(f, /*wantRest=*/true);
}

Value modulo(const Formula &f) {
  Value rest = remainder(f);
  if (f.isUnsigned())
    return rest;
  Value zero = f.number(0);
  Value isLeft = f.isFloat() ? f.compare(arith::CmpFPredicate::UNE, rest, zero)
                             : f.compare(arith::CmpIPredicate::ne, rest, zero);
  Value differ =
      arith::XOrIOp::create(f.b, emitLess(f.b, rest, zero, f.element),
                            emitLess(f.b, f.y, zero, f.element));
  return f.select(arith::AndIOp::create(f.b, isLeft, differ),
                  emitAdd(f.b, rest, f.y), rest);
}

Value power(const Formula &f) {
  return emitPow(f.b, f.host, cast<graph::PowOp>(f.op), f.x, f.y);
}

template <typename Op> Value shift(const Formula &f) {
  Value width = f.number(f.element.getIntOrFloatBitWidth());
  Value inside = f.compare(arith::CmpIPredicate::ult, f.y, width);
  Value amount = f.select(inside, f.y, f.number(0));
  return f.select(inside, Op::create(f.b, f.x, amount), f.number(0));
}

//===----------------------------------------------------------------------===//
// Comparison and conversion
//===----------------------------------------------------------------------===//

Value equal(const Formula &f) {
  if (f.isFloat())
    return f.compare(arith::CmpFPredicate::OEQ, f.x, f.y);
  return f.compare(arith::CmpIPredicate::eq, f.x, f.y);
}

Value less(const Formula &f) { return emitLess(f.b, f.x, f.y, f.element); }

Value lessEqual(const Formula &f) {
  if (f.isFloat())
    return f.compare(arith::CmpFPredicate::OLE, f.x, f.y);
  return f.compare(f.isUnsigned() ? arith::CmpIPredicate::ule
                                  : arith::CmpIPredicate::sle,
                   f.x, f.y);
}

Value larger(const Formula &f) { return emitMax(f.b, f.x, f.y, f.element); }
Value smaller(const Formula &f) { return emitMin(f.b, f.x, f.y, f.element); }

Value conversion(const Formula &f) {
  return emitCast(f.b, f.x, f.element,
                  graph::getElementType(f.op->getResult(0)));
}

Value choice(const Formula &f) { return f.select(f.x, f.y, f.z); }

Value quantization(const Formula &f) {
  return emitQuantize(f.b, cast<graph::QuantizeOp>(f.op), f.x, f.y, f.z);
}
Value dequantization(const Formula &f) {
  return emitDequantize(f.b, cast<graph::DequantizeOp>(f.op), f.x, f.y, f.z);
}
Value decoding(const Formula &f) {
  return emitDecode(f.b, cast<graph::DecodeOp>(f.op), f.x, f.y);
}
Value sameBits(const Formula &f) {
  return emitBitcast(f.b, cast<graph::BitcastOp>(f.op), f.x);
}
Value randomBits(const Formula &f) { return emitRandomBits(f.b, f.x, f.y); }
Value narrowFloat(const Formula &f) {
  return emitRoundFloat(f.b, cast<graph::RoundFloatOp>(f.op), f.x);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Row {
  StringLiteral name;
  Value (*formula)(const Formula &);
};

constexpr Row rows[] = {
    {"graph.abs", absolute},
    {"graph.acos", trigonometric<TENON_MATH_ACOS>},
    {"graph.acosh", trigonometric<TENON_MATH_ACOSH>},
    {"graph.add", either<arith::AddFOp, arith::AddIOp>},
    {"graph.and", binary<arith::AndIOp>},
    {"graph.asin", trigonometric<TENON_MATH_ASIN>},
    {"graph.asinh", trigonometric<TENON_MATH_ASINH>},
    {"graph.atan", trigonometric<TENON_MATH_ATAN>},
    {"graph.atanh", trigonometric<TENON_MATH_ATANH>},
    {"graph.bit_and", binary<arith::AndIOp>},
    {"graph.bit_not", complement},
    {"graph.bit_or", binary<arith::OrIOp>},
    {"graph.bit_xor", binary<arith::XOrIOp>},
    {"graph.bitcast", sameBits},
    {"graph.cast", conversion},
    {"graph.ceil", unary<math::CeilOp>},
    {"graph.cos", smooth<emitCos>},
    {"graph.cosh", trigonometric<TENON_MATH_COSH>},
    {"graph.decode", decoding},
    {"graph.dequantize", dequantization},
    {"graph.div", quotient},
    {"graph.equal", equal},
    {"graph.erf", smooth<emitErf>},
    {"graph.exp", smooth<emitExp>},
    {"graph.floor", unary<math::FloorOp>},
    {"graph.fmod", remainder},
    {"graph.gelu", gelu},
    {"graph.is_inf", isInf},
    {"graph.is_nan", isNan},
    {"graph.less", less},
    {"graph.less_equal", lessEqual},
    {"graph.log", smooth<emitLog>},
    {"graph.max", larger},
    {"graph.min", smaller},
    {"graph.mod", modulo},
    {"graph.mul", either<arith::MulFOp, arith::MulIOp>},
    {"graph.neg", negation},
    {"graph.not", complement},
    {"graph.or", binary<arith::OrIOp>},
    {"graph.pow", power},
    {"graph.quantize", quantization},
    {"graph.random_bits", randomBits},
    {"graph.reciprocal", reciprocal},
    {"graph.round", unary<math::RoundEvenOp>},
    {"graph.round_float", narrowFloat},
    {"graph.select", choice},
    {"graph.shift_left", shift<arith::ShLIOp>},
    {"graph.shift_right", shift<arith::ShRUIOp>},
    {"graph.sigmoid", smooth<emitSigmoid>},
    {"graph.sign", sign},
    {"graph.sin", smooth<emitSin>},
    {"graph.sinh", trigonometric<TENON_MATH_SINH>},
    {"graph.softplus", smooth<emitSoftplus>},
    {"graph.sqrt", unary<math::SqrtOp>},
    {"graph.sub", either<arith::SubFOp, arith::SubIOp>},
    {"graph.tan", trigonometric<TENON_MATH_TAN>},
    {"graph.tanh", smooth<emitTanh>},
    {"graph.xor", binary<arith::XOrIOp>},
};

/// Ops whose result is an operand or needs no rounding.
bool isExact(Operation *op) {
  return isa<graph::AbsOp, graph::BitcastOp, graph::CastOp, graph::MaxOp,
             graph::MinOp, graph::NegOp, graph::SelectOp, graph::SignOp>(op);
}

} // namespace

Value emitFormula(ImplicitLocOpBuilder &b, FormulaHost &host, Operation *op,
                  ValueRange operands) {
  StringRef name = op->getName().getStringRef();
  const Row *row = llvm::find_if(rows, [&](const Row &r) { // By name.
    return r.name == name;
  });
  if (row == std::end(rows))
    return {};
  Formula formula{b,
                  host,
                  op,
                  graph::getElementType(op->getOperand(0)),
                  operands[0],
                  operands.size() > 1 ? operands[1] : Value(),
                  operands.size() > 2 ? operands[2] : Value()};
  Value value = row->formula(formula);
  Type result = graph::getElementType(op->getResult(0));
  return isExact(op) ? value : roundTo(b, value, result);
}

} // namespace tenon::cpu
