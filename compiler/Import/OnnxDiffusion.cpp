//===- OnnxDiffusion.cpp - Operators of com.microsoft for diffusion -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those that onnxruntime's optimizer puts into UNets and VAEs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

/// Normalizes groups of channels of x [N, C, H, W].
Value normalizeGroups(NodeConverter &node, Value x) {
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t count = node.intAttr("groups");
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (!node.failed() && (count < 1 || count > INT32_MAX || !(epsilon >= 0)))
    (void)node.invalid("it needs groups and an epsilon that is not negative");
  if (node.failed())
    return {};
  graph::Expr groups = node.size(count);
  node.require(groups, graph::Relation::Divides, dims[1],
               "groups must divide the channels");
  if (node.failed())
    return {};
  graph::Expr width = dims[1].floorDiv(groups) * dims[2] * dims[3];
  Value grouped = node.reshape(x, {dims[0], groups, width});
  Value y = node.emit<graph::LayerNormOp>(
      {grouped}, {node.i64("axis", 2), node.f64("epsilon", epsilon)});
  return node.reshape(y, dims);
}

/// activation(normalize(x) * gamma + beta), in the layout of x.
LogicalResult outputNormalized(NodeConverter &node, Value x) {
  int64_t activation = node.intAttr("activation");
  bool last = node.flagAttr("channels_last", true);
  Type element = node.elementOf(x);
  if (failed(node.expectRank(x, 4, "the input")))
    return failure();
  if (activation != 0 && activation != 1)
    return node.invalid("activation must be 0 (none) or 1 (SiLU), not " +
                        Twine(activation));
  Value planes = last ? node.transpose(x, {0, 3, 1, 2}) : x;
  auto perChannel = [&](Value vector) {
    return last ? vector : node.unsqueeze(vector, {1, 2});
  };
  Value y = normalizeGroups(node, planes);
  if (last)
    y = node.transpose(y, {0, 2, 3, 1});
  // gamma and beta are f32 beside f16, too.
  y = node.mul(node.cast(y, node.f32()), perChannel(node.input(1)));
  y = node.add(y, perChannel(node.input(2)));
  if (activation)
    y = swishOf(node, y);
  node.setOutput(0, node.cast(y, element));
  return node.result();
}

LogicalResult convertGroupNorm(NodeConverter &node) {
  return outputNormalized(node, node.input(0));
}

/// The same of x + skip + bias, a sum that is output 1. The skip is an image or
/// one number per channel.
LogicalResult convertSkipGroupNorm(NodeConverter &node) {
  Value x = node.input(0), skip = node.input(3), bias = node.optionalInput(4);
  bool last = node.flagAttr("channels_last", true);
  size_t rank = node.dimsOf(skip).size();
  if (node.failed())
    return failure();
  if (rank == 2)
    skip = node.unsqueeze(skip, last ? ArrayRef<int64_t>{1, 2}
                                     : ArrayRef<int64_t>{2, 3});
  Value sum = node.add(x, skip);
  if (bias)
    sum = node.add(sum, last ? bias : node.unsqueeze(bias, {1, 2}));
  if (node.wantsOutput(1))
    node.setOutput(1, sum);
  return outputNormalized(node, sum);
}

/// x + bias + skip
LogicalResult convertBiasAdd(NodeConverter &node) {
  return node.output(
      node.add(node.add(node.input(0), node.input(1)), node.input(2)));
}

/// left * gelu(right), of the halves of x + bias.
LogicalResult convertBiasSplitGelu(NodeConverter &node) {
  Value sum = node.add(node.input(0), node.input(1));
  if (node.failed() || failed(node.expectRank(sum, 3, "the input")))
    return failure();
  auto [left, right] = halvesOf(node, sum, "the last axis");
  return node.output(node.mul(left, geluOf(node, right, graph::GeluKind::Erf)));
}

} // namespace

ArrayRef<OpRow> diffusionRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "BiasAdd", {1}, convertBiasAdd},
      {"com.microsoft", "BiasSplitGelu", {1}, convertBiasSplitGelu},
      {"com.microsoft", "GroupNorm", {1}, convertGroupNorm},
      {"com.microsoft", "SkipGroupNorm", {1}, convertSkipGroupNorm},
  };
  return rows;
}

} // namespace tenon
