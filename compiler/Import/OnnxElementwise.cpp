//===- OnnxElementwise.cpp - Operators that work element by element -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

template <typename Op> Value unary(NodeConverter &node, Value x) {
  return x ? node.emit<Op>({x}, {}, x.getType()) : Value();
}

template <typename Op> LogicalResult convertUnary(NodeConverter &node) {
  if (failed(node.expectInputs(1, 1)))
    return failure();
  return node.output(unary<Op>(node, node.input(0)));
}

LogicalResult convertIsInf(NodeConverter &node) {
  return node.output(node.emit<graph::IsInfOp>(
      {node.input(0)},
      {node.flag("negative", node.flagAttr("detect_negative", true)),
       node.flag("positive", node.flagAttr("detect_positive", true))}));
}

LogicalResult convertIsNan(NodeConverter &node) {
  return node.output(node.emit<graph::IsNanOp>({node.input(0)}));
}

//===----------------------------------------------------------------------===//
// Two and more operands
//===----------------------------------------------------------------------===//

template <typename Op> LogicalResult convertBinary(NodeConverter &node) {
  if (failed(node.expectInputs(2, 2)))
    return failure();
  return node.output(node.emit<Op>({node.input(0), node.input(1)}));
}

/// Greater is Less with its operands exchanged.
template <typename Op> LogicalResult convertSwapped(NodeConverter &node) {
  if (failed(node.expectInputs(2, 2)))
    return failure();
  return node.output(node.emit<Op>({node.input(1), node.input(0)}));
}

/// Sum, Max and Min of any number of operands, from left to right.
template <typename Op> Value foldOperands(NodeConverter &node) {
  Value result;
  for (Value operand : node.inputs())
    result = result ? node.emit<Op>({result, operand}) : operand;
  if (!result)
    (void)node.invalid("it needs an input");
  return result;
}

template <typename Op> LogicalResult convertVariadic(NodeConverter &node) {
  return node.output(foldOperands<Op>(node));
}

LogicalResult convertMean(NodeConverter &node) {
  Value sum = foldOperands<graph::AddOp>(node);
  return node.output(node.div(sum, double(node.numInputs())));
}

LogicalResult convertMod(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.flagAttr("fmod", false))
    return node.output(node.emit<graph::FmodOp>({lhs, rhs}));
  if (lhs && isa<FloatType>(node.elementOf(lhs)) && node.opset() < 28)
    return node.invalid("fmod must be 1 for floating-point operands");
  return node.output(node.emit<graph::ModOp>({lhs, rhs}));
}

/// The type in which base ^ exponent loses neither operand.
Type powType(NodeConverter &node, Type base, Type exponent) {
  if (base == exponent)
    return base;
  unsigned baseBits = base.getIntOrFloatBitWidth();
  unsigned exponentBits = exponent.getIntOrFloatBitWidth();
  if (isa<FloatType>(base)) {
    if (isa<FloatType>(exponent) && exponentBits >= baseBits)
      return exponentBits == baseBits ? node.f32() : exponent;
    return base;
  }
  if (isa<FloatType>(exponent))
    return node.builder.getF64Type();
  return node.integer(64);
}

LogicalResult convertPow(NodeConverter &node) {
  Value base = node.input(0), exponent = node.input(1);
  if (node.failed())
    return failure();
  Type element = node.elementOf(base);
  Type type = powType(node, element, node.elementOf(exponent));
  Value power = node.emit<graph::PowOp>(
      {node.cast(base, type), node.cast(exponent, type)});
  return node.output(node.cast(power, element));
}

/// lhs >> rhs, where copies of a signed number's sign come in.
Value shiftRight(NodeConverter &node, Value lhs, Value rhs) {
  auto shifted = [&](Value value) {
    return node.emit<graph::ShiftRightOp>({value, rhs});
  };
  if (node.failed() || node.elementOf(lhs).isUnsignedInteger())
    return shifted(lhs);
  Value isNegative =
      node.emit<graph::LessOp>({lhs, node.scalar(node.elementOf(lhs), 0)});
  return node.select(
      isNegative,
      unary<graph::BitNotOp>(node, shifted(unary<graph::BitNotOp>(node, lhs))),
      shifted(lhs));
}

LogicalResult convertBitShift(NodeConverter &node) {
  std::string direction = node.stringAttr("direction", "");
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.failed() || (direction != "LEFT" && direction != "RIGHT"))
    return node.invalid("direction must be LEFT or RIGHT");
  Type element = node.elementOf(rhs);
  if (element.isSignlessInteger()) {
    // A negative distance is one beyond the width.
    Value isNegative = node.emit<graph::LessOp>({rhs, node.scalar(element, 0)});
    double width = element.getIntOrFloatBitWidth();
    rhs = node.select(isNegative, node.scalar(element, width), rhs);
  }
  return node.output(direction == "LEFT"
                         ? node.emit<graph::ShiftLeftOp>({lhs, rhs})
                         : shiftRight(node, lhs, rhs));
}

//===----------------------------------------------------------------------===//
// Clip
//===----------------------------------------------------------------------===//

/// A bound of Clip as a scalar; null when it is left out.
Value bound(NodeConverter &node, unsigned i) {
  Value value = node.optionalInput(i);
  if (!value)
    return {};
  for (graph::Expr dim : node.dimsOf(value))
    if (!dim.isConstant(1)) {
      (void)node.invalid("a bound must be a scalar");
      return {};
    }
  return node.reshape(value, {});
}

LogicalResult convertClip(NodeConverter &node) {
  Value x = node.input(0);
  if (node.opset() < 11) {
    if (node.hasAttr("min"))
      x = node.maximum(x, node.floatAttr("min", 0));
    if (node.hasAttr("max"))
      x = node.minimum(x, node.floatAttr("max", 0));
    return node.output(x);
  }
  // In this order, so that the upper bound wins where the bounds cross.
  if (Value low = bound(node, 1))
    x = node.maximum(x, low);
  if (Value high = bound(node, 2))
    x = node.minimum(x, high);
  return node.output(x);
}

} // namespace

ArrayRef<OpRow> elementwiseRows() {
  static constexpr OpRow rows[] = {
      {"", "Abs", {6, 13}, convertUnary<graph::AbsOp>},
      {"", "Acos", {7, 22}, convertUnary<graph::AcosOp>},
      {"", "Acosh", {9, 22}, convertUnary<graph::AcoshOp>},
      {"", "Add", {7, 13, 14}, convertBinary<graph::AddOp>},
      {"", "And", {7}, convertBinary<graph::AndOp>},
      {"", "Asin", {7, 22}, convertUnary<graph::AsinOp>},
      {"", "Asinh", {9, 22}, convertUnary<graph::AsinhOp>},
      {"", "Atan", {7, 22}, convertUnary<graph::AtanOp>},
      {"", "Atanh", {9, 22}, convertUnary<graph::AtanhOp>},
      {"", "BitShift", {11, 28}, convertBitShift},
      {"", "BitwiseAnd", {18}, convertBinary<graph::BitAndOp>},
      {"", "BitwiseNot", {18}, convertUnary<graph::BitNotOp>},
      {"", "BitwiseOr", {18}, convertBinary<graph::BitOrOp>},
      {"", "BitwiseXor", {18}, convertBinary<graph::BitXorOp>},
      {"", "Ceil", {6, 13}, convertUnary<graph::CeilOp>},
      {"", "Clip", {6, 11, 12, 13}, convertClip},
      {"", "Cos", {7, 22}, convertUnary<graph::CosOp>},
      {"", "Cosh", {9, 22}, convertUnary<graph::CoshOp>},
      {"", "Div", {7, 13, 14}, convertBinary<graph::DivOp>},
      {"", "Equal", {7, 11, 13, 19}, convertBinary<graph::EqualOp>},
      {"", "Erf", {9, 13}, convertUnary<graph::ErfOp>},
      {"", "Exp", {6, 13}, convertUnary<graph::ExpOp>},
      {"", "Floor", {6, 13}, convertUnary<graph::FloorOp>},
      {"", "Greater", {7, 9, 13}, convertSwapped<graph::LessOp>},
      {"", "GreaterOrEqual", {12, 16}, convertSwapped<graph::LessEqualOp>},
      {"", "IsInf", {10, 20}, convertIsInf},
      {"", "IsNaN", {9, 13, 20}, convertIsNan},
      {"", "Less", {7, 9, 13}, convertBinary<graph::LessOp>},
      {"", "LessOrEqual", {12, 16}, convertBinary<graph::LessEqualOp>},
      {"", "Log", {6, 13}, convertUnary<graph::LogOp>},
      {"", "Max", {6, 8, 12, 13}, convertVariadic<graph::MaxOp>},
      {"", "Mean", {6, 8, 13}, convertMean},
      {"", "Min", {6, 8, 12, 13}, convertVariadic<graph::MinOp>},
      {"", "Mod", {10, 13, 28}, convertMod},
      {"", "Mul", {7, 13, 14}, convertBinary<graph::MulOp>},
      {"", "Neg", {6, 13}, convertUnary<graph::NegOp>},
      {"", "Not", {1}, convertUnary<graph::NotOp>},
      {"", "Or", {7}, convertBinary<graph::OrOp>},
      {"", "Pow", {7, 12, 13, 15}, convertPow},
      {"", "Reciprocal", {6, 13}, convertUnary<graph::ReciprocalOp>},
      {"", "Round", {11, 22}, convertUnary<graph::RoundOp>},
      {"", "Sigmoid", {6, 13}, convertUnary<graph::SigmoidOp>},
      {"", "Sign", {9, 13}, convertUnary<graph::SignOp>},
      {"", "Sin", {7, 22}, convertUnary<graph::SinOp>},
      {"", "Sinh", {9, 22}, convertUnary<graph::SinhOp>},
      {"", "Softplus", {1, 22}, convertUnary<graph::SoftplusOp>},
      {"", "Sqrt", {6, 13}, convertUnary<graph::SqrtOp>},
      {"", "Sub", {7, 13, 14}, convertBinary<graph::SubOp>},
      {"", "Sum", {6, 8, 13}, convertVariadic<graph::AddOp>},
      {"", "Tan", {7, 22}, convertUnary<graph::TanOp>},
      {"", "Tanh", {6, 13}, convertUnary<graph::TanhOp>},
      {"", "Xor", {7}, convertBinary<graph::XorOp>},
  };
  return rows;
}

} // namespace tenon
