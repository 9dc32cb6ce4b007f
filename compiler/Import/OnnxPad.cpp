//===- OnnxPad.cpp - Tensors made larger: Pad, Tile -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;
using Exprs = SmallVector<Expr>;

/// Values that may be anything, bound within 32 bits.
Exprs readOffsets(NodeConverter &node, Value value) {
  if (auto known = node.knownSizes(value))
    return *known;
  Value wide = node.cast(value, node.integer(64));
  Value clamped = node.minimum(node.maximum(wide, INT32_MIN), INT32_MAX);
  return node.readSizes(clamped, INT32_MIN, INT32_MAX);
}

/// The axes that `pads` speaks of.
SmallVector<int64_t> padAxes(NodeConverter &node, int64_t rank) {
  if (!node.hasInput(3))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto axes = node.constantInts(node.input(3));
  if (!axes) {
    (void)node.unsupported("its axes are not known before the run");
    return {};
  }
  (void)node.normalizeAxes(*axes, rank); // For its checks; the order counts.
  for (int64_t &axis : *axes)
    axis += axis < 0 ? rank : 0;
  return *axes;
}

std::optional<graph::PadMode> padMode(NodeConverter &node) {
  std::string mode = node.stringAttr("mode", "constant");
  auto found = graph::symbolizePadMode(mode);
  if (!found)
    (void)node.invalid("has the unknown mode '" + mode + "'");
  return found;
}

/// The sizes of the padded axes as symbols of their own: products of sums of
/// symbols would soon be too long.
Exprs boundSizes(NodeConverter &node, ArrayRef<Expr> dims,
                 ArrayRef<int64_t> axes) {
  Value pads = node.cast(node.input(1), node.integer(64));
  Expr count = node.size(axes.size());
  Value sum = node.add(node.slice(pads, 0, node.size(0), count),
                       node.slice(pads, 0, count, count));
  Exprs from;
  for (int64_t axis : axes)
    from.push_back(dims[axis]);
  return node.readSizes(node.add(sum, node.sizesVector(from)));
}

LogicalResult convertPad(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  auto mode = padMode(node);
  Exprs pads = node.hasAttr("pads") ? node.sizes(node.intsAttr("pads"))
                                    : readOffsets(node, node.input(1));
  if (node.failed())
    return failure();
  auto axes = padAxes(node, dims.size());
  if (node.failed())
    return failure();
  if (pads.size() != 2 * axes.size())
    return node.invalid("has " + Twine(pads.size()) + " pads for " +
                        Twine(axes.size()) + " axes");
  Exprs low(dims.size(), node.size(0)), result = dims, bound;
  if (!node.hasAttr("pads") && !node.knownSizes(node.input(1)))
    bound = boundSizes(node, dims, axes);
  if (node.failed())
    return failure();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    for (Expr border : {pads[i], pads[i + axes.size()]})
      if (*mode == graph::PadMode::Reflect && !border.isConstant(0))
        node.require(border + 1, Relation::LessEqual, dims[axis],
                     "a reflected border must be narrower than its axis");
      else if (*mode != graph::PadMode::Constant && !border.isConstant(0))
        node.require(node.size(1), Relation::LessEqual, dims[axis],
                     "an empty axis has no edge to repeat");
    result[axis] =
        bound.empty() ? dims[axis] + pads[i] + pads[i + axes.size()] : bound[i];
    node.require(node.size(0), Relation::LessEqual, result[axis],
                 "a padded size must not be negative");
  }
  Value value = node.scalar(node.elementOf(input), 0);
  if (node.hasInput(2) && node.hasInput(1))
    value = node.reshape(node.input(2), {});
  else if (node.hasAttr("value"))
    value = node.scalar(node.elementOf(input), node.floatAttr("value", 0));
  if (node.failed())
    return failure();
  auto type = graph::tensorOf(result, node.elementOf(input));
  if (!type)
    return node.invalid("a padded size is negative or overflows");
  return node.output(node.emit<graph::PadOp>(
      {input, value},
      {node.dims("low", low),
       node.attr("mode", graph::PadModeAttr::get(node.context(), *mode))},
      type));
}

LogicalResult convertTile(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input), repeats = node.readSizes(node.input(1));
  if (node.failed())
    return failure();
  if (repeats.size() != dims.size())
    return node.invalid("has " + Twine(repeats.size()) +
                        " repeats for a tensor of rank " + Twine(dims.size()));
  Exprs split, repeated, result;
  for (auto [dim, repeat] : llvm::zip(dims, repeats)) {
    if (repeat.asConstant().value_or(0) < 0)
      return node.invalid("has a negative repeat");
    if (!repeat.isConstant(1)) {
      split.push_back(node.size(1));
      repeated.push_back(repeat);
    }
    split.push_back(dim);
    repeated.push_back(dim);
    result.push_back(dim * repeat);
  }
  if (split.size() > size_t(kMaxRank))
    return node.unsupported("repeats too many axes");
  Value expanded = node.broadcast(node.reshape(input, split), repeated);
  return node.output(node.reshape(expanded, result));
}

/// Crops what is too long and pads what is too short, both around the middle.
LogicalResult convertCenterCropPad(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input), wanted = node.readSizes(node.input(1));
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  if (node.hasAttr("axes")) {
    axes = node.intsAttr("axes");
    (void)node.normalizeAxes(axes, dims.size());
    for (int64_t &axis : axes)
      axis += axis < 0 ? dims.size() : 0;
  }
  if (node.failed())
    return failure();
  if (axes.size() != wanted.size())
    return node.invalid("has " + Twine(wanted.size()) + " sizes for " +
                        Twine(axes.size()) + " axes");
  Expr zero = node.size(0), two = node.size(2);
  Exprs low(dims.size(), zero), result = dims;
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    Expr extra = (dims[axis] - size).max(zero);
    Expr lacking = (size - dims[axis]).max(zero);
    input = node.slice(input, axis, extra.floorDiv(two), dims[axis].min(size));
    low[axis] = lacking.floorDiv(two);
    result[axis] = size;
  }
  if (node.failed())
    return failure();
  auto mode = graph::PadModeAttr::get(node.context(), graph::PadMode::Constant);
  auto type = graph::tensorOf(result, node.elementOf(input));
  if (!type)
    return node.invalid("a size is negative or overflows");
  return node.output(node.emit<graph::PadOp>(
      {input, node.scalar(node.elementOf(input), 0)},
      {node.dims("low", low), node.attr("mode", mode)}, type));
}

} // namespace

ArrayRef<OpRow> padRows() {
  static constexpr OpRow rows[] = {
      {"", "CenterCropPad", {18}, convertCenterCropPad},
      {"", "Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25}, convertPad},
      {"", "Tile", {6, 13}, convertTile},
  };
  return rows;
}

} // namespace tenon
