//===- OnnxActivation.cpp - Activations of several steps ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

/// An activation whose numbers (alpha, beta, ..) come from `number`.
using Activation = Value (*)(NodeConverter &, Value, ActivationNumber number);

/// f16 and bf16 go through f32, so that several steps round once.
Value inSinglePrecision(NodeConverter &node, Value x, Activation f,
                        ActivationNumber number) {
  Type element = node.elementOf(x);
  if (node.failed())
    return {};
  bool narrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return node.cast(f(node, narrow ? node.cast(x, node.f32()) : x, number),
                   element);
}

template <Activation f> LogicalResult convertActivation(NodeConverter &node) {
  auto number = [&](StringRef name, double missing) {
    return node.floatAttr(name, missing);
  };
  return node.output(inSinglePrecision(node, node.input(0), f, number));
}

Value less(NodeConverter &node, Value lhs, Value rhs) {
  return node.emit<graph::LessOp>({lhs, rhs});
}

Value scalarLike(NodeConverter &node, Value like, double value) {
  return like ? node.scalar(node.elementOf(like), value) : Value();
}

Value isNegative(NodeConverter &node, Value x) {
  return less(node, x, scalarLike(node, x, 0));
}

/// exp(x) - 1
Value expMinusOne(NodeConverter &node, Value x) {
  return node.sub(node.emit<graph::ExpOp>(x), 1);
}

Value relu(NodeConverter &node, Value x, ActivationNumber) {
  return node.maximum(x, 0.0);
}

Value leakyRelu(NodeConverter &node, Value x, ActivationNumber number) {
  double alpha = number("alpha", 0.01);
  return node.select(isNegative(node, x), node.mul(x, alpha), x);
}

Value thresholdedRelu(NodeConverter &node, Value x, ActivationNumber number) {
  Value alpha = scalarLike(node, x, number("alpha", 1.0));
  return node.select(less(node, alpha, x), x, scalarLike(node, x, 0));
}

Value elu(NodeConverter &node, Value x, ActivationNumber number) {
  Value curve = node.mul(expMinusOne(node, x), number("alpha", 1.0));
  return node.select(isNegative(node, x), curve, x);
}

Value selu(NodeConverter &node, Value x, ActivationNumber number) {
  double alpha = number("alpha", 1.67326319217681884765625);
  double gamma = number("gamma", 1.05070102214813232421875);
  Value curve = node.mul(expMinusOne(node, x), alpha);
  return node.mul(node.select(isNegative(node, x), curve, x), gamma);
}

Value celu(NodeConverter &node, Value x, ActivationNumber number) {
  double alpha = number("alpha", 1.0);
  if (alpha == 0)
    (void)node.invalid("alpha must not be 0");
  Value curve = node.mul(expMinusOne(node, node.div(x, alpha)), alpha);
  return node.add(node.maximum(x, 0.0), node.minimum(curve, 0.0));
}

Value mish(NodeConverter &node, Value x, ActivationNumber) {
  Value softplus = node.emit<graph::SoftplusOp>(x);
  return node.mul(x, node.emit<graph::TanhOp>(softplus));
}

Value swish(NodeConverter &node, Value x, ActivationNumber number) {
  return swishOf(node, x, number("alpha", 1.0));
}

Value hardSigmoidOf(NodeConverter &node, Value x, double alpha, double beta) {
  return node.maximum(node.minimum(node.add(node.mul(x, alpha), beta), 1.0),
                      0.0);
}

Value hardSigmoid(NodeConverter &node, Value x, ActivationNumber number) {
  double alpha = number("alpha", 0.2);
  double beta = number("beta", 0.5);
  return hardSigmoidOf(node, x, alpha, beta);
}

Value hardSwish(NodeConverter &node, Value x, ActivationNumber) {
  return node.mul(x, hardSigmoidOf(node, x, 1.0 / 6, 0.5));
}

Value softsign(NodeConverter &node, Value x, ActivationNumber) {
  return node.div(x, node.add(node.emit<graph::AbsOp>(x), 1.0));
}

Value shrink(NodeConverter &node, Value x, ActivationNumber number) {
  double lambda = number("lambd", 0.5);
  double bias = number("bias", 0.0);
  // Integers are compared with a bound that need not be one.
  if (!isa<FloatType>(node.elementOf(x)))
    x = node.cast(x, node.builder.getF64Type());
  Value positive = node.select(less(node, scalarLike(node, x, lambda), x),
                               node.sub(x, bias), scalarLike(node, x, 0));
  return node.select(less(node, x, scalarLike(node, x, -lambda)),
                     node.add(x, bias), positive);
}

Value clip(NodeConverter &node, Value x, ActivationNumber number) {
  constexpr double largest = std::numeric_limits<float>::max();
  return node.minimum(node.maximum(x, number("min", -largest)),
                      number("max", largest));
}

template <typename Op>
Value single(NodeConverter &node, Value x, ActivationNumber) {
  return node.emit<Op>({x});
}

LogicalResult convertPRelu(NodeConverter &node) {
  Value x = node.input(0), slope = node.input(1);
  Value result = node.select(isNegative(node, x), node.mul(x, slope), x);
  if (!node.failed() && node.dimsOf(result).size() != node.dimsOf(x).size())
    return node.invalid("slope does not broadcast to the input");
  return node.output(result);
}

LogicalResult convertGelu(NodeConverter &node) {
  std::string approximate = node.stringAttr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.invalid("approximate must be 'none' or 'tanh'");
  return node.output(geluOf(node, node.input(0),
                            approximate == "tanh" ? graph::GeluKind::Tanh
                                                  : graph::GeluKind::Erf));
}

/// Gelu, BiasGelu and FastGelu of com.microsoft: gelu(x + bias).
template <graph::GeluKind kind>
LogicalResult convertBiasGelu(NodeConverter &node) {
  Value x = node.input(0);
  if (Value bias = node.optionalInput(1))
    x = node.add(x, bias);
  return node.output(geluOf(node, x, kind));
}

LogicalResult convertQuickGelu(NodeConverter &node) {
  Value x = node.input(0);
  double alpha = node.floatAttr("alpha", 1.702);
  // The attribute is a float: 1.702 arrives with its rounding error.
  if (std::abs(alpha - 1.702) < 1e-6)
    return node.output(geluOf(node, x, graph::GeluKind::Quick));
  return node.output(swishOf(node, x, alpha));
}

} // namespace

Value swishOf(NodeConverter &node, Value x, double alpha) {
  Value scaled = alpha == 1.0 ? x : node.mul(x, alpha);
  return node.mul(x, node.emit<graph::SigmoidOp>(scaled));
}

std::pair<Value, Value> halvesOf(NodeConverter &node, Value x, StringRef what) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return {};
  graph::Expr two = node.size(2);
  node.require(two, graph::Relation::Divides, dims.back(),
               what + " must have two halves");
  if (node.failed())
    return {};
  int64_t last = int64_t(dims.size()) - 1;
  graph::Expr half = dims.back().floorDiv(two);
  return {node.slice(x, last, node.size(0), half),
          node.slice(x, last, half, half)};
}

Value geluOf(NodeConverter &node, Value x, graph::GeluKind kind) {
  if (!x)
    return {};
  return node.emit<graph::GeluOp>(
      {x}, {node.attr("kind", graph::GeluKindAttr::get(node.context(), kind))},
      x.getType());
}

Value activated(NodeConverter &node, Value x, StringRef name,
                ActivationNumber number) {
  auto f = llvm::StringSwitch<Activation>(name)
               .Case("Clip", clip)
               .Case("Elu", elu)
               .Case("HardSigmoid", hardSigmoid)
               .Case("HardSwish", hardSwish)
               .Case("LeakyRelu", leakyRelu)
               .Case("Relu", relu)
               .Case("Selu", selu)
               .Case("Sigmoid", single<graph::SigmoidOp>)
               .Case("Softplus", single<graph::SoftplusOp>)
               .Case("Softsign", softsign)
               .Case("Tanh", single<graph::TanhOp>)
               .Case("ThresholdedRelu", thresholdedRelu)
               .Default(nullptr);
  if (!f) {
    (void)node.unsupported("has the activation '" + name +
                               "', which is not known here",
                           "write the model without fusing activations");
    return {};
  }
  return inSinglePrecision(node, x, f, number);
}

ArrayRef<OpRow> activationRows() {
  static constexpr OpRow rows[] = {
      {"", "Celu", {12, 28}, convertActivation<celu>},
      {"", "Elu", {6, 22}, convertActivation<elu>},
      {"", "Gelu", {20}, convertGelu},
      {"", "HardSigmoid", {6, 22}, convertActivation<hardSigmoid>},
      {"", "HardSwish", {14, 22}, convertActivation<hardSwish>},
      {"", "LeakyRelu", {6, 16}, convertActivation<leakyRelu>},
      {"", "Mish", {18, 22}, convertActivation<mish>},
      {"", "PRelu", {7, 9, 16}, convertPRelu},
      {"", "Relu", {6, 13, 14}, convertActivation<relu>},
      {"", "Selu", {6, 22}, convertActivation<selu>},
      {"", "Shrink", {9}, convertActivation<shrink>},
      {"", "Softsign", {1, 22}, convertActivation<softsign>},
      {"", "Swish", {24}, convertActivation<swish>},
      {"", "ThresholdedRelu", {10, 22}, convertActivation<thresholdedRelu>},
      {"com.microsoft", "BiasGelu", {1}, convertBiasGelu<graph::GeluKind::Erf>},
      {"com.microsoft",
       "FastGelu",
       {1},
       convertBiasGelu<graph::GeluKind::Tanh>},
      {"com.microsoft", "Gelu", {1}, convertBiasGelu<graph::GeluKind::Erf>},
      {"com.microsoft", "QuickGelu", {1}, convertQuickGelu},
  };
  return rows;
}

} // namespace tenon
