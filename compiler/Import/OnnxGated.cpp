//===- OnnxGated.cpp - Gates and norms that onnxruntime fuses -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft between the layers of hybrid decoders.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/NormalizedRows.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// x [.., groups * width] as [.., groups, width].
Value inGroups(NodeConverter &node, Value x, Expr groups, Expr width) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return {};
  dims.back() = groups;
  dims.push_back(width);
  return node.reshape(x, dims);
}

Value normalizedGroups(NodeConverter &node, Value x) {
  return normalizedRows<graph::RmsNormOp>(node, node.cast(x, node.f32()), 1e-5);
}

Value sigmoid(NodeConverter &node, Value x) {
  return node.emit<graph::SigmoidOp>({x});
}

/// normalize(x) * scale * activation(gate), over as many elements as scale has.
LogicalResult convertGatedRmsNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.input(1), gate = node.input(2);
  std::string activation = node.stringAttr("activation", "silu");
  bool isSwish = activation == "silu" || activation == "swish";
  if (!isSwish && activation != "sigmoid")
    return node.invalid("activation must be silu, swish or sigmoid");
  if (node.failed() || failed(node.expectRank(scale, 1, "the scale")))
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  Expr width = node.dimOf(scale, 0);
  if (dims.empty() || width.isConstant(0))
    return node.invalid("it needs rows, and a scale for some elements");
  node.expectDims(gate, dims, "the gate");
  node.require(width, Relation::Divides, dims.back(),
               "the scale must fit the rows");
  Value y = normalizedGroups(
      node, inGroups(node, x, dims.back().floorDiv(width), width));
  y = node.reshape(node.mul(y, node.cast(scale, node.f32())), dims);
  Value wide = node.cast(gate, node.f32());
  Value open = isSwish ? swishOf(node, wide) : sigmoid(node, wide);
  return node.output(node.cast(node.mul(y, open), node.elementOf(x)));
}

/// A scale of each branch's elements, [branches * width], [branches, width] or
/// [width], to be broadcast.
Value scaleOfBranches(NodeConverter &node, Value scale, Expr branches,
                      Expr width) {
  Emitter::Exprs all = {branches, width}, dims = node.dimsOf(scale);
  if (node.failed())
    return {};
  if (dims.size() != 1 || dims[0] == width) {
    node.expectDims(scale, dims.size() == 1 ? Emitter::Exprs{width} : all,
                    "the scale");
    return scale;
  }
  if (!width.asConstant())
    (void)node.unsupported("whether the branches share its scale is not known",
                           "fix the size of the last axis");
  node.require(dims[0], Relation::Equal, branches * width,
               "the scale must fit the branches");
  return node.failed() ? Value() : node.reshape(scale, all);
}

/// Each branch by itself: rows are [.., branches, width], or that in one axis.
LogicalResult convertBranchwiseNorm(NodeConverter &node) {
  Value x = node.input(0), scale = node.optionalInput(1);
  int64_t count = node.intAttr("num_branches", 0);
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return failure();
  if (count < 0 || count > INT32_MAX || dims.size() < 2)
    return node.invalid("num_branches must not be negative, nor the rank less "
                        "than 2");
  Expr branches = dims[dims.size() - 2], width = dims.back();
  Value grouped = x;
  if (count > 0) {
    branches = node.size(count);
    node.require(branches, Relation::Divides, width,
                 "num_branches must divide the rows");
    width = width.floorDiv(branches);
    grouped = inGroups(node, x, branches, width);
  }
  Value y = normalizedGroups(node, grouped);
  if (scale)
    y = node.mul(y, scaleOfBranches(node, node.cast(scale, node.f32()),
                                    branches, width));
  return node.output(node.cast(node.reshape(y, dims), node.elementOf(x)));
}

/// x + y * gate, of one number per row.
LogicalResult convertGatedAdd(NodeConverter &node) {
  Value x = node.input(0), y = node.input(1), gate = node.input(2);
  if (node.hasInput(3))
    return node.unsupported("gate_weight is not multiplied",
                            "export the product and its sigmoid by themselves");
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return failure();
  if (dims.empty())
    return node.invalid("the input must have rows");
  node.expectDims(y, dims, "what is added");
  dims.back() = node.size(1);
  node.expectDims(gate, dims, "the gate");
  return node.output(node.add(x, node.mul(y, gate)));
}

/// z * sigmoid(z) with z = scale * x, each rounded to the type of x.
LogicalResult convertScaledSilu(NodeConverter &node) {
  Value x = node.input(0), scale = node.optionalInput(1);
  Type element = node.elementOf(x);
  double alpha = node.floatAttr("alpha", 1);
  if (node.failed())
    return failure();
  if (scale && !graph::elementCount(scale).isConstant(1))
    return node.invalid("its scale is no scalar");
  Value wide = node.cast(x, node.f32());
  Value scaled =
      scale ? node.mul(wide, node.reshape(node.cast(scale, node.f32()), {}))
            : node.mul(wide, alpha);
  Value z = node.cast(scaled, element);
  Value open = sigmoid(node, node.cast(z, node.f32()));
  return node.output(node.mul(z, node.cast(open, element)));
}

/// g * sigmoid(alpha * g) * (u + beta) of a gate, or of two halves of one
/// input: g at most the limit, |u| too, if it is above 0. In f32.
LogicalResult convertSwiGlu(NodeConverter &node) {
  Value gate = node.input(0), up = node.optionalInput(1);
  double alpha = node.floatAttr("activation_alpha", 1);
  double beta = node.floatAttr("activation_beta", 0);
  double limit = node.floatAttr("limit", 0);
  bool isRounded = node.flagAttr("round_activation", false);
  Emitter::Exprs dims = node.dimsOf(gate);
  if (node.failed())
    return failure();
  if (dims.empty())
    return node.invalid("the gate must have rows");
  Type element = node.elementOf(gate);
  if (up)
    node.expectDims(up, dims, "the values behind the gate");
  else
    std::tie(gate, up) = halvesOf(node, gate, "the rows");
  Type wide = node.computedType(element);
  gate = node.cast(gate, wide);
  up = node.cast(up, wide);
  if (limit > 0) {
    gate = node.minimum(gate, limit);
    up = node.maximum(node.minimum(up, limit), -limit);
  }
  Value open = swishOf(node, gate, alpha);
  if (isRounded)
    open = node.cast(node.cast(open, element), wide);
  if (beta != 0)
    up = node.add(up, beta);
  return node.output(node.cast(node.mul(open, up), element));
}

} // namespace

ArrayRef<OpRow> gatedRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "BranchwiseRMSNorm", {1}, convertBranchwiseNorm},
      {"com.microsoft", "GatedAdd", {1}, convertGatedAdd},
      {"com.microsoft", "GatedRMSNorm", {1}, convertGatedRmsNorm},
      {"com.microsoft", "ScaledSiLU", {1}, convertScaledSilu},
      {"com.microsoft", "SwiGLU", {1}, convertSwiGlu},
  };
  return rows;
}

} // namespace tenon
