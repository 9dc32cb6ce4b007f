//===- OnnxDetection.cpp - Boxes in images --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ReduceKind;
using graph::Relation;
using Exprs = SmallVector<Expr>;

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

/// Boxes by two corners; the operator may also give centre and size.
Value cornersOf(NodeConverter &node, Value boxes) {
  if (!node.flagAttr("center_point_box", false))
    return boxes;
  Value centre = node.slice(boxes, 2, node.size(0), node.size(2));
  Value half = node.mul(node.slice(boxes, 2, node.size(2), node.size(2)), 0.5);
  return node.concat({node.sub(centre, half), node.add(centre, half)}, 2);
}

/// An input that may be left out, as a scalar.
Value scalarInput(NodeConverter &node, unsigned i, Type element) {
  Value value = node.optionalInput(i);
  return value ? node.reshape(value, {}) : node.scalar(element, 0);
}

/// Which boxes [batch, classes, n] are kept, given them best first.
Value keptBoxes(NodeConverter &node, Value boxes, Value scores, Value order) {
  Exprs dims = node.dimsOf(scores);
  if (node.failed())
    return {};
  Expr all = dims[1] * dims[2], four = node.size(4);
  Value places = node.broadcast(
      node.reshape(order, {dims[0], all, node.size(1)}), {dims[0], all, four});
  Value sorted = node.emit<graph::GatherElementsOp>(
      {cornersOf(node, boxes), places}, node.i64("axis", 1));
  sorted = node.reshape(sorted, {dims[0], dims[1], dims[2], four});
  Value candidates =
      node.broadcast(node.scalar(node.boolean(), 1), node.dimsOf(scores));
  if (Value least = node.optionalInput(4))
    candidates = node.emit<graph::LessOp>({node.reshape(least, {}), scores});
  return node.emit<graph::SuppressOp>({sorted, candidates,
                                       scalarInput(node, 3, node.f32()),
                                       scalarInput(node, 2, node.integer(64))});
}

/// How many of a row are to be looked at: where scores must be above some least
/// number, the most that are so in any row, or are no numbers, which sort
/// first.
Expr mostCandidates(NodeConverter &node, Value scores) {
  Value least = node.optionalInput(4);
  if (!least)
    return node.dimOf(scores, 2);
  Value isOpen = node.emit<graph::OrOp>(
      {node.emit<graph::LessOp>({node.reshape(least, {}), scores}),
       node.emit<graph::IsNanOp>({scores})});
  Value counts = node.reduce(node.cast(isOpen, node.integer(64)), {2},
                             ReduceKind::Sum, /*keepDims=*/false);
  if (node.failed())
    return {};
  // There may be no row.
  Value rows = node.reshape(counts, {graph::elementCount(counts)});
  rows = node.concat({rows, node.sizesVector(node.size(0))}, 0);
  Exprs most = node.readSizes(node.reduce(rows, 0, ReduceKind::Max));
  return node.failed() ? Expr() : most[0];
}

LogicalResult convertNonMaxSuppression(NodeConverter &node) {
  Value boxes = node.input(0), scores = node.input(1);
  if (failed(node.expectRank(boxes, 3, "the boxes")) ||
      failed(node.expectRank(scores, 3, "the scores")))
    return failure();
  Exprs from = node.dimsOf(boxes), dims = node.dimsOf(scores);
  node.require(from[0], Relation::Equal, dims[0],
               "boxes and scores must have the same batches");
  node.require(from[1], Relation::Equal, dims[2],
               "boxes and scores must be equally many");
  node.require(from[2], Relation::Equal, node.size(4),
               "a box must have four numbers");
  Emitter::Sorted best = node.topk(scores, 2, mostCandidates(node, scores));
  if (node.failed())
    return failure();
  // Rows of [batch, class, place in the order]: as the operator lists them.
  Value found = node.nonzero(keptBoxes(node, boxes, best.values, best.places));
  Value rows = node.transpose(found, {1, 0});
  Value chosen = node.emit<graph::GatherNdOp>({best.places, rows},
                                              node.i64("batch_dims", 0));
  return node.output(
      node.concat({node.slice(rows, 1, node.size(0), node.size(2)),
                   node.unsqueeze(chosen, {1})},
                  1));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// The two pixels beside each sample along one axis, and their weights.
struct Neighbours {
  Value low, high;             // i64 [rois, samples]
  Value lowWeight, highWeight; // f32, 0 outside of the image
};

/// Samples of a region that reaches from `start` to `end` [rois, 1], `steps`
/// in each of `cells`, on an axis of `size` pixels.
Neighbours samplesAlong(NodeConverter &node, Value start, Value end,
                        int64_t cells, int64_t steps, Expr size, bool isHalf) {
  Value length = node.sub(end, start);
  if (!isHalf)
    length = node.maximum(length, 1.0);
  Value places = node.cast(
      node.iota(node.size(cells * steps), node.integer(64)), node.f32());
  Value at = node.add(
      start, node.mul(node.add(places, 0.5), node.div(length, cells * steps)));
  Value pixels = node.sizeScalar(size, node.f32());
  // Up to one pixel outside of the image counts as its edge, beyond as 0.
  Value isOut = node.emit<graph::OrOp>(
      {node.emit<graph::LessOp>({at, node.scalar(node.f32(), -1)}),
       node.emit<graph::LessOp>({pixels, at})});
  Value last = node.sub(pixels, 1.0);
  at = node.minimum(node.maximum(at, 0.0), last);
  Value low = node.emit<graph::FloorOp>(at);
  Value share = node.sub(at, low), zero = node.scalar(node.f32(), 0);
  Value high = node.minimum(node.add(low, 1.0), last);
  Value rest = node.sub(node.scalar(node.f32(), 1), share);
  return {node.cast(low, node.integer(64)), node.cast(high, node.integer(64)),
          node.select(isOut, zero, rest), node.select(isOut, zero, share)};
}

/// Images x whose pixels are read one by one.
struct Pixels {
  Value rows;  // [batch * height * width, channels]
  Value first; // Of each region's image: i64 [rois, 1, 1]
  Value width; // i64 scalar

  Pixels(NodeConverter &node, Value x, Value images) {
    Exprs dims = node.dimsOf(x);
    if (node.failed())
      return;
    rows = node.reshape(node.transpose(x, {0, 2, 3, 1}),
                        {dims[0] * dims[2] * dims[3], dims[1]});
    Value area = node.sizesVector(dims[2] * dims[3]);
    first = node.unsqueeze(node.mul(node.cast(images, node.integer(64)), area),
                           {1, 2});
    width = node.sizeScalar(dims[3]);
  }

  /// Where down [rois, m] and across [rois, n] meet: [rois, m, n, channels].
  Value at(NodeConverter &node, Value down, Value across) const {
    Value row = node.mul(node.unsqueeze(down, {2}), width);
    return node.gather(
        rows, node.add(node.add(first, row), node.unsqueeze(across, {1})));
  }
};

/// How the regions lie, and what they read.
struct Regions {
  Pixels pixels;
  Neighbours down, across;
};

/// One of the four pixels around each sample, times its weight:
/// [rois, samples down, samples across, channels].
Value weighted(NodeConverter &node, const Regions &regions, bool isLow,
               bool isLeft) {
  const Neighbours &down = regions.down, &across = regions.across;
  Value picked = regions.pixels.at(node, isLow ? down.low : down.high,
                                   isLeft ? across.low : across.high);
  Value weight = node.mul(
      node.unsqueeze(isLow ? down.lowWeight : down.highWeight, {2}),
      node.unsqueeze(isLeft ? across.lowWeight : across.highWeight, {1}));
  return node.mul(picked, node.unsqueeze(weight, {3}));
}

/// Samples of all four pixels; `max` keeps the largest of the products.
Value sampled(NodeConverter &node, const Regions &regions, bool isMax) {
  Value all;
  for (bool isLow : {true, false})
    for (bool isLeft : {true, false}) {
      Value part = weighted(node, regions, isLow, isLeft);
      all = !all ? part : isMax ? node.maximum(all, part) : node.add(all, part);
    }
  return all;
}

/// Column `i` of the regions [rois, 4] in pixels, [rois, 1].
Value edge(NodeConverter &node, Value rois, int64_t i, bool isHalf) {
  Value at = node.mul(node.slice(rois, 1, node.size(i), node.size(1)),
                      node.floatAttr("spatial_scale", 1.0));
  return isHalf ? node.sub(at, 0.5) : at;
}

LogicalResult convertRoiAlign(NodeConverter &node) {
  Value x = node.input(0), rois = node.input(1), images = node.input(2);
  if (failed(node.expectRank(x, 4, "the image")) ||
      failed(node.expectRank(rois, 2, "the regions")) ||
      failed(node.expectRank(images, 1, "the list of images")))
    return failure();
  int64_t steps = node.intAttr("sampling_ratio", 0);
  if (steps <= 0)
    return node.unsupported(
        "sampling_ratio is 0, so how many samples there are depends on the "
        "regions",
        "export the model with a sampling_ratio, such as 2");
  int64_t height = node.intAttr("output_height", 1);
  int64_t width = node.intAttr("output_width", 1);
  std::string mode = node.stringAttr("mode", "avg");
  bool isMax = mode == "max";
  if ((!isMax && mode != "avg") || height <= 0 || width <= 0 ||
      std::max({steps, height, width}) > 4096)
    return node.invalid("its mode or sizes are not allowed");
  bool isHalf =
      node.opset() >= 16 && node.stringAttr("coordinate_transformation_mode",
                                            "half_pixel") == "half_pixel";
  Exprs dims = node.dimsOf(x);
  Expr count = node.dimOf(rois, 0);
  node.require(count, Relation::Equal, node.dimOf(images, 0),
               "each region must name its image");
  Regions regions = {
      Pixels(node, x, images),
      samplesAlong(node, edge(node, rois, 1, isHalf),
                   edge(node, rois, 3, isHalf), height, steps, dims[2], isHalf),
      samplesAlong(node, edge(node, rois, 0, isHalf),
                   edge(node, rois, 2, isHalf), width, steps, dims[3], isHalf)};
  Exprs cells = {count,
                 node.size(height),
                 node.size(steps),
                 node.size(width),
                 node.size(steps),
                 dims[1]};
  Value cell = node.reduce(node.reshape(sampled(node, regions, isMax), cells),
                           {2, 4}, isMax ? ReduceKind::Max : ReduceKind::Mean,
                           /*keepDims=*/false);
  return node.output(node.transpose(cell, {0, 3, 1, 2}));
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

/// What regions read along one axis.
struct Spans {
  Value places;   // i64 [rois, cells * most]: as many as the longest cell has
  Value isInside; // bool [rois, cells * most]
  Value isFilled; // bool [rois, cells]: a cell outside of the image is empty.
  Expr most;
};

/// To the nearest whole number, halves away from 0.
Value rounded(NodeConverter &node, Value x) {
  Value size =
      node.emit<graph::FloorOp>(node.add(node.emit<graph::AbsOp>({x}), 0.5));
  return node.mul(size, node.emit<graph::SignOp>({x}));
}

/// Of regions from pixel `start` to pixel `end` [rois, 1] in so many cells,
/// which share the pixels that they cut, on an axis of `size` pixels.
Spans spansAlong(NodeConverter &node, Value start, Value end, int64_t cells,
                 Expr size) {
  Type element = node.elementOf(start), i64 = node.integer(64);
  Value pixels = node.sizeScalar(size, element);
  auto bound = [&](Value at) {
    return node.cast(
        node.minimum(node.maximum(node.add(at, start), 0.0), pixels), i64);
  };
  Value length = node.maximum(node.add(node.sub(end, start), 1.0), 1.0);
  Value step = node.div(length, double(cells));
  Value cell = node.cast(node.iota(node.size(cells), i64), element);
  Value low = bound(node.emit<graph::FloorOp>(node.mul(step, cell)));
  Value high =
      bound(node.emit<graph::CeilOp>(node.mul(step, node.add(cell, 1.0))));
  if (node.failed())
    return {};
  // There may be no region.
  Value counts = node.sub(high, low);
  counts = node.concat({node.reshape(counts, graph::elementCount(counts)),
                        node.sizesVector(node.size(1))},
                       0);
  Exprs most =
      node.readSizes(node.reduce(counts, 0, ReduceKind::Max), /*lo=*/1);
  if (node.failed())
    return {};
  Value places = node.add(node.unsqueeze(low, {2}), node.iota(most[0], i64));
  Value isInside =
      node.emit<graph::LessOp>({places, node.unsqueeze(high, {2})});
  Exprs flat = {node.dimOf(start, 0), most[0] * cells};
  places = node.minimum(places, node.sub(node.sizeScalar(size), 1.0));
  return {node.reshape(places, flat), node.reshape(isInside, flat),
          node.emit<graph::LessOp>({low, high}), most[0]};
}

/// Whether both hold, of [rois, m] and [rois, n]: [rois, m, n, 1].
Value bothHold(NodeConverter &node, Value down, Value across) {
  return node.emit<graph::AndOp>(
      {node.unsqueeze(down, {2, 3}), node.unsqueeze(across, {1, 3})});
}

LogicalResult convertMaxRoiPool(NodeConverter &node) {
  Value x = node.input(0), rois = node.input(1);
  if (failed(node.expectRank(x, 4, "the image")) ||
      failed(node.expectRank(rois, 2, "the regions")))
    return failure();
  SmallVector<int64_t> shape = node.intsAttr("pooled_shape");
  auto isSize = [](int64_t size) { return size > 0 && size <= 4096; };
  if (shape.size() != 2 || !llvm::all_of(shape, isSize))
    return node.invalid("pooled_shape must be two sizes from 1 to 4096");
  Exprs dims = node.dimsOf(x);
  node.require(node.dimOf(rois, 1), Relation::Equal, node.size(5),
               "a region must have five numbers");
  for (int64_t axis : {2, 3})
    node.require(node.size(1), Relation::LessEqual, dims[axis],
                 "an image must have pixels");
  Type element = node.elementOf(x);
  Value wide = node.cast(rois, node.computedType(element));
  auto column = [&](int64_t i) {
    return node.slice(wide, 1, node.size(i), node.size(1));
  };
  double scale = node.floatAttr("spatial_scale", 1.0);
  auto edge = [&](int64_t i) {
    return rounded(node, node.mul(column(i), scale));
  };
  Spans down = spansAlong(node, edge(2), edge(4), shape[0], dims[2]);
  Spans across = spansAlong(node, edge(1), edge(3), shape[1], dims[3]);
  if (node.failed())
    return failure();
  Pixels pixels(node, x, node.squeeze(column(0), {1}));
  Value read = node.select(bothHold(node, down.isInside, across.isInside),
                           pixels.at(node, down.places, across.places),
                           node.scalar(element, -infinity));
  Value cell = node.reduce(
      node.reshape(read, {node.dimOf(rois, 0), node.size(shape[0]), down.most,
                          node.size(shape[1]), across.most, dims[1]}),
      {2, 4}, ReduceKind::Max, /*keepDims=*/false);
  cell = node.select(bothHold(node, down.isFilled, across.isFilled), cell,
                     node.scalar(element, 0));
  return node.output(node.transpose(cell, {0, 3, 1, 2}));
}

} // namespace

ArrayRef<OpRow> detectionRows() {
  static constexpr OpRow rows[] = {
      {"", "MaxRoiPool", {1, 22}, convertMaxRoiPool},
      {"", "NonMaxSuppression", {10, 11}, convertNonMaxSuppression},
      {"", "RoiAlign", {10, 16, 22}, convertRoiAlign},
  };
  return rows;
}

} // namespace tenon
