//===- OnnxSqueeze.cpp - Squeeze, Unsqueeze and ExpandDims ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// The axes: an attribute before opset 13, an input since.
struct Axes {
  bool given = false;
  std::optional<SmallVector<int64_t>> known;
  Value chosen; // By the run, when not known.
};

Axes axesOf(NodeConverter &node) {
  if (node.hasAttr("axes"))
    return {true, node.intsAttr("axes"), {}};
  Value axes = node.optionalInput(1);
  // One axis comes as a number from JAX's exporter, too.
  if (axes && !node.failed() && graph::getRank(axes) == 0)
    axes = node.reshape(axes, {node.size(1)});
  if (!axes || failed(node.expectRank(axes, 1, "the list of axes")))
    return {};
  return {true, node.constantInts(axes), axes};
}

//===----------------------------------------------------------------------===//
// Axes that are chosen by the run
//===----------------------------------------------------------------------===//

/// How many axes are chosen; a problem when not known or impossible.
int64_t countOf(NodeConverter &node, Value axes, int64_t most) {
  Expr count = graph::getDim(axes, 0);
  if (count.asConstant() && *count.asConstant() <= most)
    return *count.asConstant();
  (void)node.unsupported("does not say before the run how many axes it names");
  return 0;
}

/// A vector of `all`, with `marked` at the places that `axes` lists.
Value mark(NodeConverter &node, int64_t length, int64_t all, int64_t marked,
           Value axes) {
  auto vector = [&](int64_t count, int64_t value) {
    return node.sizesVector(Exprs(count, node.size(value)));
  };
  auto kind =
      graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
  int64_t count = *graph::getDim(axes, 0).asConstant();
  return node.emit<graph::ScatterElementsOp>(
      {vector(length, all), axes, vector(count, marked)},
      {node.i64("axis", 0), node.attr("kind", kind)});
}

/// For each entry of `flags`, how many before it are 1; at most `limit`.
Value placesOf(NodeConverter &node, Value flags, int64_t limit) {
  auto kind =
      graph::ReduceKindAttr::get(node.context(), graph::ReduceKind::Sum);
  Value places = node.emit<graph::CumulativeOp>(
      flags, {node.i64("axis", 0), node.attr("kind", kind),
              node.flag("exclusive", true), node.flag("reverse", false)});
  return node.minimum(places, double(limit));
}

LogicalResult squeezeChosen(NodeConverter &node, Value input, Value axes) {
  Exprs dims = node.dimsOf(input);
  int64_t left = dims.size() - countOf(node, axes, dims.size());
  if (node.failed())
    return failure();
  if (left == 0)
    return node.output(node.reshape(input, {}));
  // What goes has size 1, so multiplying it into a neighbour does no harm.
  Value kept = mark(node, dims.size(), 1, 0, axes);
  auto kind =
      graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Mul);
  Value sizes = node.emit<graph::ScatterElementsOp>(
      {node.sizesVector(Exprs(left, node.size(1))),
       placesOf(node, kept, left - 1), node.sizesVector(dims)},
      {node.i64("axis", 0), node.attr("kind", kind)});
  return node.output(node.reshape(input, node.readSizes(sizes)));
}

LogicalResult unsqueezeChosen(NodeConverter &node, Value input, Value axes) {
  Exprs dims = node.dimsOf(input);
  int64_t rank = dims.size() + countOf(node, axes, kMaxRank - dims.size());
  if (node.failed())
    return failure();
  if (dims.empty())
    return node.output(node.reshape(input, Exprs(rank, node.size(1))));
  Value old = mark(node, rank, 1, 0, axes);
  Value sizes =
      node.gather(node.sizesVector(dims), placesOf(node, old, dims.size() - 1));
  Value isOld = node.cast(old, node.boolean());
  sizes = node.select(isOld, sizes, node.scalar(node.integer(64), 1));
  return node.output(node.reshape(input, node.readSizes(sizes)));
}

//===----------------------------------------------------------------------===//
// Converters
//===----------------------------------------------------------------------===//

LogicalResult convertSqueeze(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  Axes axes = axesOf(node);
  if (node.failed())
    return failure();
  if (axes.known)
    return node.output(
        node.squeeze(input, node.normalizeAxes(*axes.known, dims.size())));
  if (axes.given)
    return squeezeChosen(node, input, axes.chosen);
  SmallVector<int64_t> ones;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim.isConstant(1))
      ones.push_back(i);
    else if (!dim.asConstant() && !(dim - 2).isNonNegative())
      return node.unsupported(
          "names no axes, and the size of axis " + Twine(i) +
              " is not known before the run",
          "name the axes to remove, or fix that size with --dim NAME=N");
  }
  return node.output(node.squeeze(input, ones));
}

LogicalResult convertUnsqueeze(NodeConverter &node) {
  Value input = node.input(0);
  Axes axes = axesOf(node);
  if (node.failed())
    return failure();
  if (!axes.given)
    return node.invalid("names no axes");
  if (!axes.known)
    return unsqueezeChosen(node, input, axes.chosen);
  int64_t rank = node.dimsOf(input).size() + axes.known->size();
  if (rank > kMaxRank)
    return node.unsupported("makes a tensor of rank " + Twine(rank));
  return node.output(
      node.unsqueeze(input, node.normalizeAxes(*axes.known, rank)));
}

/// Inserts the axis that input 1 names.
LogicalResult convertExpandDims(NodeConverter &node) {
  Value x = node.input(0), axis = node.input(1);
  auto known = node.constantInts(axis);
  if (node.failed())
    return failure();
  if (!known || known->size() != 1)
    return node.unsupported("its axis is not known before the run",
                            "make the axis a constant");
  int64_t rank = node.dimsOf(x).size() + 1;
  return node.output(
      node.unsqueeze(x, node.normalizeAxis(known->front(), rank)));
}

} // namespace

ArrayRef<OpRow> squeezeRows() {
  static constexpr OpRow rows[] = {
      {"", "Squeeze", {1, 11, 13, 21, 23, 24, 25}, convertSqueeze},
      {"", "Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, convertUnsqueeze},
      {"com.microsoft", "ExpandDims", {1}, convertExpandDims},
  };
  return rows;
}

} // namespace tenon
