//===- OnnxSlice.cpp - Slice ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds that are known, as numbers or as sizes, are clamped here. Others are
// clamped by the run, on small integer tensors, before they are bound.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// The operands of a Slice; steps and axes are null when left out.
struct Bounds {
  Value starts, ends, axes, steps;
};

/// What a SliceOp needs, an entry per axis.
struct Region {
  Exprs starts, steps, sizes;
};

Bounds readBounds(NodeConverter &node) {
  if (node.hasAttr("starts") || node.hasAttr("ends")) {
    auto vector = [&](StringRef name) {
      return node.sizesVector(node.sizes(node.intsAttr(name)));
    };
    return {vector("starts"), vector("ends"),
            node.hasAttr("axes") ? vector("axes") : Value(), Value()};
  }
  return {node.input(1), node.input(2), node.optionalInput(3),
          node.optionalInput(4)};
}

/// A bound counted from the front: a negative one counts from the end.
Expr fromFront(NodeConverter &node, Expr bound, Expr size) {
  if (bound.isNonNegative())
    return bound;
  // The whole axis, even where that has no elements.
  if ((bound * -1).isPositive() || (bound + size).isConstant(0))
    return bound + size;
  // floor(bound / 2^31) is -1 for what is negative, else 0.
  return bound - bound.floorDiv(node.size(int64_t(1) << 31)) * size;
}

/// A bound clamped to lo..hi, where `hi` is the size less 0 or 1.
Expr clampBound(NodeConverter &node, Expr bound, Expr lo, Expr hi, Expr size) {
  std::optional<int64_t> number = bound.asConstant();
  // No symbolic size reaches these: "to the end", "from the start".
  if (number && !size.asConstant()) {
    if (*number >= INT32_MAX)
      return hi;
    if (*number <= -INT32_MAX)
      return lo;
  }
  Expr place = fromFront(node, bound, size).max(lo);
  // As the number of a loop's step is below the number of steps.
  return node.holds(place, graph::Relation::LessEqual, hi) ? place
                                                           : place.min(hi);
}

void knownAxis(NodeConverter &node, Region &region, int64_t axis, Expr start,
               Expr end, int64_t step, Expr size) {
  // Any longer step takes one element as well, and could overflow.
  constexpr int64_t longest = int64_t(1) << 62;
  step = std::clamp(step, -longest, longest);
  Expr zero = node.size(0);
  Expr length;
  if (step > 0) {
    start = clampBound(node, start, zero, size, size);
    end = clampBound(node, end, zero, size, size);
    length = (end - start).ceilDiv(node.size(step));
  } else {
    start = clampBound(node, start, zero, size - 1, size);
    end = clampBound(node, end, node.size(-1), size - 1, size);
    length = (start - end).ceilDiv(node.size(-step));
  }
  region.starts[axis] = start;
  region.steps[axis] = node.size(step);
  region.sizes[axis] = length ? length.max(zero) : length;
}

/// All bounds are known; false when they are not.
bool knownRegion(NodeConverter &node, const Bounds &bounds, ArrayRef<Expr> dims,
                 Region &region) {
  auto starts = node.knownSizes(bounds.starts);
  auto ends = node.knownSizes(bounds.ends);
  size_t count = starts ? starts->size() : 0;
  auto axes = bounds.axes ? node.constantInts(bounds.axes)
                          : llvm::to_vector(llvm::seq<int64_t>(0, count));
  auto steps = bounds.steps ? node.constantInts(bounds.steps)
                            : SmallVector<int64_t>(axes ? axes->size() : 0, 1);
  if (!starts || !ends || !axes || !steps)
    return false;
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    (void)node.invalid("its starts, ends, axes and steps differ in length");
    return true;
  }
  (void)node.normalizeAxes(*axes, dims.size());
  for (auto [i, given] : llvm::enumerate(*axes)) {
    if (node.failed())
      return true;
    int64_t axis = given < 0 ? given + int64_t(dims.size()) : given;
    if ((*steps)[i] == 0) {
      (void)node.invalid("its step along axis " + Twine(axis) + " is 0");
      return true;
    }
    knownAxis(node, region, axis, (*starts)[i], (*ends)[i], (*steps)[i],
              dims[axis]);
  }
  return true;
}

/// Bounds of all axes, computed by the run and bound to symbols.
void boundRegion(NodeConverter &node, const Bounds &bounds, ArrayRef<Expr> dims,
                 Region &region) {
  Type i64 = node.integer(64);
  int64_t rank = dims.size();
  Value size = node.sizesVector(dims), zero = node.scalar(i64, 0);
  Value ones = node.sizesVector(Exprs(rank, node.size(1)));
  Value zeros = node.sizesVector(Exprs(rank, node.size(0)));
  // Puts the values given for some axes in their places among all.
  auto place = [&](Value all, Value given) {
    Value wide = node.cast(given, i64);
    wide = node.minimum(node.maximum(wide, INT32_MIN), INT32_MAX);
    Value axes = bounds.axes;
    if (!axes && node.dimsOf(wide) == Exprs(1, node.size(rank)))
      return wide;
    if (!axes && !node.failed())
      axes = node.iota(graph::getDim(wide, 0), i64);
    auto kind =
        graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
    return node.emit<graph::ScatterElementsOp>(
        {all, axes, wide}, {node.i64("axis", 0), node.attr("kind", kind)});
  };
  Value step = bounds.steps ? place(ones, bounds.steps) : ones;
  Value isUp = node.emit<graph::LessOp>({zero, step});
  Value start =
      place(node.select(isUp, zeros, node.sub(size, 1.0)), bounds.starts);
  Value end = place(node.select(isUp, size, node.sub(node.mul(size, -1.0), 1)),
                    bounds.ends);
  auto clamp = [&](Value bound, Value lo) {
    Value isNegative = node.emit<graph::LessOp>({bound, zero});
    bound = node.select(isNegative, node.add(bound, size), bound);
    Value hi = node.select(isUp, size, node.sub(size, 1.0));
    return node.minimum(node.maximum(bound, lo), hi);
  };
  start = clamp(start, zeros);
  end = clamp(end, node.select(isUp, zeros, node.sub(zeros, 1.0)));
  // Truncating division of a positive span, rounded up.
  Value sign = node.emit<graph::SignOp>(step);
  Value span = node.add(node.sub(end, start), node.sub(step, sign));
  Value length = node.maximum(node.div(span, step), 0.0);
  region.starts = node.readSizes(start, -1, INT32_MAX);
  region.steps = node.readSizes(step, INT32_MIN, INT32_MAX);
  region.sizes = node.readSizes(length);
}

LogicalResult convertSlice(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  Bounds bounds = readBounds(node);
  for (Value each : {bounds.starts, bounds.ends, bounds.axes, bounds.steps})
    if (each && failed(node.expectRank(each, 1, "a list of bounds")))
      return failure();
  if (node.failed())
    return failure();
  Region region;
  region.starts.assign(dims.size(), node.size(0));
  region.steps.assign(dims.size(), node.size(1));
  region.sizes = dims;
  if (!knownRegion(node, bounds, dims, region) && !dims.empty())
    boundRegion(node, bounds, dims, region);
  if (node.failed())
    return failure();
  auto type = graph::tensorOf(region.sizes, node.elementOf(input));
  if (!type)
    return node.invalid("a size overflows or is too complex");
  return node.output(node.emit<graph::SliceOp>(
      input,
      {node.dims("starts", region.starts), node.dims("steps", region.steps)},
      type));
}

} // namespace

ArrayRef<OpRow> sliceRows() {
  static constexpr OpRow rows[] = {
      {"", "Slice", {1, 10, 11, 13}, convertSlice},
  };
  return rows;
}

} // namespace tenon
