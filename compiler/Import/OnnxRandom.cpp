//===- OnnxRandom.cpp - Numbers drawn at random ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of a node are a function of a key and of their places, so kernels
// draw them in any order, and the evaluator draws the same. The key is made of
// the model's seed and of how many nodes drew before, or of the attribute
// `seed` alone: equal ones draw equal numbers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/RandomBits.h"

#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;

namespace tenon {
namespace {

using Exprs = Emitter::Exprs;

/// Bits of the significand of what numbers in [0, 1) are drawn as, so that no
/// draw rounds to 1.
unsigned drawnBits(Type element) {
  return std::min(24u, cast<FloatType>(element).getFPMantissaWidth());
}

/// What a node draws for `dims`, in their order.
class Draws {
public:
  Draws(NodeConverter &node, const Exprs &dims) : node(node), dims(dims) {
    if (node.failed())
      return;
    graph::Expr count = graph::product(node.context(), dims);
    if (!count)
      (void)node.unsupported("draws more numbers than an expression can count",
                             "fix some of its sizes with --dim NAME=N");
    else
      bits = randomBits(node, keyOf(node), count);
  }

  /// In [low, high), of a float type.
  Value uniform(Type element, double low, double high) {
    if (node.failed())
      return {};
    Value unit;
    if (element.isF64()) {
      unit = node.add(node.mul(node.cast(first(32), element), 0x1p-32),
                      node.mul(node.cast(second(21), element), 0x1p-53));
    } else {
      unsigned count = drawnBits(element);
      unit = node.mul(node.cast(first(count), node.f32()),
                      std::ldexp(1.0, -int(count)));
    }
    Value value = node.add(node.mul(unit, high - low), low);
    return placed(node.cast(value, element));
  }

  /// In (0, 1), of f32 or f64: what a logarithm is taken of.
  Value open(Type element) {
    return placed(opened(first(openBits(element)), element));
  }

  /// Of mean 0 and scale 1, by Box's and Muller's method.
  Value normal(Type element) {
    if (node.failed())
      return {};
    Type wide = node.computedType(element);
    unsigned count = openBits(wide);
    Value log = node.emit<graph::LogOp>(opened(first(count), wide));
    Value radius = node.emit<graph::SqrtOp>(node.mul(log, -2));
    Value angle = node.mul(opened(second(count), wide), 2 * M_PI);
    return placed(node.mul(radius, node.emit<graph::CosOp>(angle)));
  }

private:
  /// The key of the node: its own seed's bits, or the model's and its number.
  static Value keyOf(NodeConverter &node) {
    if (!node.hasAttr("seed"))
      return nextKey(node);
    float seed = node.floatAttr("seed", 0);
    return constantKey(node, llvm::bit_cast<uint32_t>(seed));
  }

  /// The highest bits of the first word, which is the lower half, and of the
  /// second one, as numbers.
  Value first(unsigned count) { return highest(node.mul(bits, 0x1p32), count); }
  Value second(unsigned count) { return highest(bits, count); }
  Value highest(Value word, unsigned count) {
    Value dropped = node.scalar(node.unsignedInteger(64), 64 - count);
    Value number = node.emit<graph::ShiftRightOp>({word, dropped});
    // There are instructions that make floats of numbers with a sign.
    return node.cast(number, node.integer(count < 32 ? 32 : 64));
  }

  /// Bits of what is halfway between two numbers.
  static unsigned openBits(Type element) { return element.isF64() ? 32 : 23; }
  Value opened(Value number, Type element) {
    int count = openBits(element);
    return node.mul(node.add(node.cast(number, element), 0.5),
                    std::ldexp(1.0, -count));
  }

  Value placed(Value value) { return node.reshape(value, dims); }

  NodeConverter &node;
  Exprs dims;
  Value bits;
};

/// The element type of what is drawn, a float; null after a problem.
Type drawnType(NodeConverter &node, Type missing) {
  Type element = node.typeAttr("dtype", missing);
  if (!node.failed() && !isa_and_nonnull<FloatType>(element))
    (void)node.invalid("draws floats, and its dtype is no float type");
  return node.failed() ? Type() : element;
}

/// The sizes that the attribute `shape` states.
Exprs statedDims(NodeConverter &node) {
  if (!node.hasAttr("shape"))
    (void)node.invalid("has no attribute 'shape'");
  SmallVector<int64_t> shape = node.intsAttr("shape");
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    (void)node.invalid("its shape has a negative size");
  return node.failed() ? Exprs() : node.sizes(shape);
}

LogicalResult drawNormal(NodeConverter &node, const Exprs &dims, Type element) {
  double mean = node.floatAttr("mean", 0), scale = node.floatAttr("scale", 1);
  if (node.failed())
    return failure();
  Value drawn = Draws(node, dims).normal(element);
  drawn = node.add(node.mul(drawn, scale), mean);
  return node.output(node.cast(drawn, element));
}

LogicalResult drawUniform(NodeConverter &node, const Exprs &dims,
                          Type element) {
  double low = node.floatAttr("low", 0), high = node.floatAttr("high", 1);
  if (!node.failed() && !(low <= high))
    (void)node.invalid("its 'low' is not below its 'high'");
  if (node.failed())
    return failure();
  return node.output(Draws(node, dims).uniform(element, low, high));
}

using Draw = LogicalResult (*)(NodeConverter &, const Exprs &, Type);

template <Draw draw> LogicalResult convertStated(NodeConverter &node) {
  return draw(node, statedDims(node), drawnType(node, node.f32()));
}

template <Draw draw> LogicalResult convertLike(NodeConverter &node) {
  Value like = node.input(0);
  return draw(node, node.dimsOf(like), drawnType(node, node.elementOf(like)));
}

/// 1 as often as the input says.
LogicalResult convertBernoulli(NodeConverter &node) {
  Value chance = node.input(0);
  Type element = node.typeAttr("dtype", node.elementOf(chance));
  if (node.failed())
    return failure();
  Type wide = node.computedType(node.elementOf(chance));
  Value unit = Draws(node, node.dimsOf(chance)).uniform(wide, 0, 1);
  Value isOne = node.emit<graph::LessOp>({unit, node.cast(chance, wide)});
  return node.output(node.cast(isOne, element));
}

/// Indices of classes, as often as exp(input) says: where a score plus
/// Gumbel's noise is largest.
LogicalResult convertMultinomial(NodeConverter &node) {
  Value scores = node.input(0);
  int64_t samples = node.intAttr("sample_size", 1);
  Type element = node.typeAttr("dtype", node.integer(32));
  if (failed(node.expectRank(scores, 2, "its input")))
    return failure();
  if (samples < 0)
    return node.invalid("its 'sample_size' is negative");
  if (node.failed())
    return failure();
  Type wide = node.computedType(node.elementOf(scores));
  Exprs dims = node.dimsOf(scores);
  node.require(node.size(1), graph::Relation::LessEqual, dims[1],
               "it draws from no class");
  dims.insert(dims.begin() + 1, node.size(samples));
  Value unit = Draws(node, dims).open(wide);
  Value inner = node.emit<graph::LogOp>(unit);
  Value noise = node.emit<graph::LogOp>(node.emit<graph::NegOp>(inner));
  Value noisy = node.sub(node.unsqueeze(node.cast(scores, wide), 1), noise);
  auto kind =
      graph::ReduceKindAttr::get(node.context(), graph::ReduceKind::Max);
  Value index = node.emit<graph::ArgReduceOp>(
      {noisy},
      {node.i64("axis", 2), node.attr("kind", kind), node.flag("last", false)});
  return node.output(node.cast(node.squeeze(index, 2), element));
}

constexpr OpRow rows[] = {
    {"", "Bernoulli", {15, 22}, convertBernoulli},
    {"", "Multinomial", {7, 22}, convertMultinomial},
    {"", "RandomNormal", {1, 22}, convertStated<drawNormal>},
    {"", "RandomNormalLike", {1, 22}, convertLike<drawNormal>},
    {"", "RandomUniform", {1, 22}, convertStated<drawUniform>},
    {"", "RandomUniformLike", {1, 22}, convertLike<drawUniform>},
};

} // namespace

ArrayRef<OpRow> randomRows() { return rows; }

} // namespace tenon
