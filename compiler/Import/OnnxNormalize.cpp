//===- OnnxNormalize.cpp - Normalizations ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ReduceKind;
using Axes = SmallVector<int64_t>;

template <typename Op> Value unary(NodeConverter &node, Value x) {
  return x ? node.emit<Op>({x}, {}, x.getType()) : Value();
}

template <typename Op>
Value normalized(NodeConverter &node, Value x, int64_t axis, double epsilon) {
  return node.emit<Op>({x},
                       {node.i64("axis", axis), node.f64("epsilon", epsilon)});
}

Axes axesFrom(int64_t axis, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(axis, std::max(axis, rank)));
}

double epsilonAttr(NodeConverter &node, double missing) {
  double epsilon = node.floatAttr("epsilon", missing);
  if (!(epsilon >= 0))
    (void)node.invalid("epsilon must not be negative");
  return epsilon;
}

/// Statistics in f32 (f64 for f64).
Value widen(NodeConverter &node, Value x) {
  Type element = node.elementOf(x);
  bool narrow = element && isa<FloatType>(element) &&
                element.getIntOrFloatBitWidth() < 32;
  return narrow ? node.cast(x, node.f32()) : x;
}

Value mean(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return node.reduce(x, axes, ReduceKind::Mean);
}

/// 1 / sqrt(x + epsilon)
Value inverseRoot(NodeConverter &node, Value x, double epsilon) {
  Value root = unary<graph::SqrtOp>(node, node.add(x, epsilon));
  return unary<graph::ReciprocalOp>(node, root);
}

bool checkStashType(NodeConverter &node) {
  int64_t stash = node.intAttr("stash_type", 1);
  if (stash != onnx::TensorProto::FLOAT && stash != onnx::TensorProto::DOUBLE)
    (void)node.unsupported("statistics are kept in float only, not in type " +
                               Twine(stash),
                           "export with stash_type = 1");
  return !node.failed();
}

//===----------------------------------------------------------------------===//
// Over the last axes
//===----------------------------------------------------------------------===//

struct Statistics {
  Value mean, inverse;
};

/// Mean and 1 / deviation over the axes from `axis` on, which stay with size
/// one, in f32.
Statistics statistics(NodeConverter &node, Value x, int64_t axis,
                      double epsilon) {
  Value wide = widen(node, x);
  Axes axes = axesFrom(axis, node.dimsOf(x).size());
  Value average = mean(node, wide, axes);
  Value centered = node.sub(wide, average);
  Value variance = mean(node, node.mul(centered, centered), axes);
  return {average, inverseRoot(node, variance, epsilon)};
}

LogicalResult convertLayerNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  int64_t axis = node.axisAttr("axis", -1, node.dimsOf(x).size());
  double epsilon = epsilonAttr(node, 1e-5);
  if (!checkStashType(node))
    return failure();
  Value y = normalized<graph::LayerNormOp>(node, x, axis, epsilon);
  y = node.mul(node.cast(y, node.elementOf(scale)), scale);
  if (Value bias = node.optionalInput(2))
    y = node.add(y, bias);
  node.setOutput(0, y);
  if (node.wantsOutput(1) || node.wantsOutput(2)) {
    Statistics found = statistics(node, x, axis, epsilon);
    if (node.wantsOutput(1))
      node.setOutput(1, found.mean);
    if (node.wantsOutput(2))
      node.setOutput(2, found.inverse);
  }
  return node.result();
}

/// RMSNormalization, and SimplifiedLayerNormalization with a second output.
LogicalResult convertRmsNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1);
  int64_t rank = node.dimsOf(x).size();
  int64_t axis = node.axisAttr("axis", -1, rank);
  double epsilon = epsilonAttr(node, 1e-5);
  if (!checkStashType(node))
    return failure();
  Value y = normalized<graph::RmsNormOp>(node, x, axis, epsilon);
  node.setOutput(0, node.mul(node.cast(y, node.elementOf(scale)), scale));
  if (node.wantsOutput(1)) {
    Value wide = widen(node, x);
    Value square = mean(node, node.mul(wide, wide), axesFrom(axis, rank));
    node.setOutput(1, inverseRoot(node, square, epsilon));
  }
  return node.result();
}

/// Shapes a vector of channels to stand at axis 1 of a tensor of `rank`.
Value perChannel(NodeConverter &node, Value vector, int64_t rank) {
  if (node.failed() || failed(node.expectRank(vector, 1, "a channel vector")))
    return {};
  Emitter::Exprs dims(std::max<int64_t>(rank - 1, 1), node.size(1));
  dims[0] = node.dimOf(vector, 0);
  return node.reshape(vector, dims);
}

LogicalResult convertInstanceNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1), bias = node.input(2);
  int64_t rank = node.dimsOf(x).size();
  double epsilon = epsilonAttr(node, 1e-5);
  if (node.failed())
    return failure();
  if (rank < 3)
    return node.invalid("the input must have rank 3 or more");
  Value y = normalized<graph::LayerNormOp>(node, x, 2, epsilon);
  y = node.mul(y, perChannel(node, scale, rank));
  return node.output(node.add(y, perChannel(node, bias, rank)));
}

/// From 21 on scale and bias are per channel, before per group.
LogicalResult convertGroupNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1), bias = node.input(2);
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t groups = node.intAttr("num_groups"), rank = dims.size();
  double epsilon = epsilonAttr(node, 1e-5);
  if (!checkStashType(node))
    return failure();
  if (rank < 2 || groups < 1)
    return node.invalid("it needs channels and at least one group");
  Expr count = node.size(groups);
  node.require(count, graph::Relation::Divides, dims[1],
               "groups must divide the channels");
  if (node.failed())
    return failure();
  Expr width = dims[1].floorDiv(count) *
               graph::product(node.context(), ArrayRef(dims).drop_front(2));
  Value grouped = node.reshape(x, {dims[0], count, width});
  Value y = normalized<graph::LayerNormOp>(node, grouped, 2, epsilon);
  bool byGroup = node.opset() < 21;
  int64_t outerRank = byGroup ? 3 : rank;
  if (!byGroup)
    y = node.reshape(y, dims);
  y = node.mul(y, perChannel(node, scale, outerRank));
  y = node.add(y, perChannel(node, bias, outerRank));
  return node.output(node.reshape(y, dims));
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

LogicalResult convertBatchNorm(NodeConverter &node) {
  Value x = node.input(0);
  double epsilon = epsilonAttr(node, 1e-5);
  bool training = node.opset() >= 14 && node.flagAttr("training_mode", false);
  for (unsigned i = 1; i < node.numOutputs(); ++i)
    training |= node.wantsOutput(i);
  if (training)
    return node.unsupported("training mode is not for inference",
                            "export the model in evaluation mode");
  int64_t rank = node.dimsOf(x).size();
  // Without `spatial` each position has statistics of its own.
  bool spatial = node.opset() >= 9 || node.flagAttr("spatial", true);
  if (!node.failed() && rank < 2)
    return node.invalid("the input must have rank 2 or more");
  Value wide = widen(node, x), inputs[4];
  for (unsigned i = 0; i < 4; ++i) {
    Value vector = node.cast(node.input(i + 1), node.elementOf(wide));
    inputs[i] = spatial ? perChannel(node, vector, rank) : vector;
  }
  auto [scale, bias, average, variance] = inputs;
  Value factor = node.mul(scale, inverseRoot(node, variance, epsilon));
  Value y = node.add(node.mul(node.sub(wide, average), factor), bias);
  return node.output(node.cast(y, node.elementOf(x)));
}

LogicalResult convertLpNorm(NodeConverter &node) {
  Value x = node.input(0);
  int64_t axis = node.axisAttr("axis", -1, node.dimsOf(x).size());
  int64_t p = node.intAttr("p", 2);
  if (node.failed())
    return failure();
  if (p != 1 && p != 2)
    return node.invalid("p must be 1 or 2");
  Value wide = widen(node, x);
  Value term = p == 1 ? unary<graph::AbsOp>(node, wide) : node.mul(wide, wide);
  Value norm = node.reduce(term, axis, ReduceKind::Sum);
  if (p == 2)
    norm = unary<graph::SqrtOp>(node, norm);
  Value zero = node.scalar(node.elementOf(wide), 0);
  Value isZero = node.emit<graph::EqualOp>({norm, zero});
  Value y = node.select(isZero, zero, node.div(wide, norm));
  return node.output(node.cast(y, node.elementOf(x)));
}

LogicalResult convertMeanVariance(NodeConverter &node) {
  Value x = node.input(0);
  Axes given = node.intsAttr("axes");
  if (given.empty() && !node.hasAttr("axes"))
    given = {0, 2, 3};
  Axes axes = node.normalizeAxes(given, node.dimsOf(x).size());
  Value wide = widen(node, x);
  Value centered = node.sub(wide, mean(node, wide, axes));
  Value variance = mean(node, node.mul(centered, centered), axes);
  Value deviation = unary<graph::SqrtOp>(node, variance);
  Value y = node.div(centered, node.add(deviation, 1e-9));
  return node.output(node.cast(y, node.elementOf(x)));
}

/// The sum of `size` neighbours along the channels, of which (size - 1) / 2
/// come before each: of few, slices of what zeros are put around, which any
/// order of axes goes through.
Value sumOfNeighbours(NodeConverter &node, Value x, int64_t size) {
  SmallVector<Expr> dims = node.dimsOf(x), low(dims.size(), node.size(0)),
                    wide = dims;
  low[1] = node.size((size - 1) / 2);
  wide[1] = dims[1] + (size - 1);
  Type element = node.elementOf(x), type = graph::tensorOf(wide, element);
  if (!type) {
    (void)node.invalid("a padded size is negative or overflows");
    return nullptr;
  }
  Value padded = node.emit<graph::PadOp>(
      {x, node.scalar(element, 0)},
      {node.dims("low", low),
       node.attr("mode", graph::PadModeAttr::get(node.context(),
                                                 graph::PadMode::Constant))},
      type);
  Value sum;
  for (int64_t i = 0; i < size; ++i) {
    Value each = node.slice(padded, 1, node.size(i), dims[1]);
    sum = sum ? node.add(sum, each) : each;
  }
  return sum;
}

/// The mean of so many along the channels: a pool that counts its padding.
Value meanOfNeighbours(NodeConverter &node, Value x, int64_t size) {
  Emitter::Exprs dims = node.dimsOf(x);
  Expr rest = graph::product(node.context(), ArrayRef(dims).drop_front(2));
  Value planes = node.reshape(x, {dims[0], node.size(1), dims[1], rest});
  if (!planes)
    return nullptr;
  Value pooled = node.emit<graph::AveragePoolOp>(
      {planes},
      {node.i64s("kernel", {size, 1}), node.i64s("strides", {1, 1}),
       node.i64s("dilations", {1, 1}),
       node.dims("pads", node.sizes({(size - 1) / 2, 0, size / 2, 0})),
       node.flag("count_pads", true)},
      planes.getType());
  return node.reshape(pooled, dims);
}

/// x / (bias + alpha * mean of x^2 over `size` neighbouring channels)^beta
LogicalResult convertLrn(NodeConverter &node) {
  constexpr int64_t few = 9;
  Value x = node.input(0);
  int64_t size = node.intAttr("size");
  double alpha = node.floatAttr("alpha", 1e-4);
  double beta = node.floatAttr("beta", 0.75);
  double bias = node.floatAttr("bias", 1.0);
  if (node.failed())
    return failure();
  if (node.dimsOf(x).size() < 2 || size < 1 || size > INT32_MAX)
    return node.invalid("it needs a channel axis and a positive size");
  Value wide = widen(node, x), squares = node.mul(wide, wide);
  if (!squares)
    return failure();
  Value near =
      size <= few
          ? node.mul(sumOfNeighbours(node, squares, size), alpha / double(size))
          : node.mul(meanOfNeighbours(node, squares, size), alpha);
  Value base = node.add(near, bias);
  if (!base)
    return failure();
  Value power =
      node.emit<graph::PowOp>({base, node.scalar(node.elementOf(base), beta)});
  return node.output(node.cast(node.div(wide, power), node.elementOf(x)));
}

} // namespace

ArrayRef<OpRow> normalizeRows() {
  static constexpr OpRow rows[] = {
      {"", "BatchNormalization", {7, 9, 14, 15}, convertBatchNorm},
      {"", "GroupNormalization", {18, 21}, convertGroupNorm},
      {"", "InstanceNormalization", {6, 22}, convertInstanceNorm},
      {"", "LRN", {1, 13}, convertLrn},
      {"", "LayerNormalization", {1, 17}, convertLayerNorm},
      {"", "LpNormalization", {1, 22}, convertLpNorm},
      {"", "MeanVarianceNormalization", {9, 13}, convertMeanVariance},
      {"", "RMSNormalization", {23}, convertRmsNorm},
      {"", "SimplifiedLayerNormalization", {1}, convertRmsNorm},
      {"com.microsoft", "LayerNormalization", {1}, convertLayerNorm},
      {"com.microsoft", "SimplifiedLayerNormalization", {1}, convertRmsNorm},
  };
  return rows;
}

} // namespace tenon
