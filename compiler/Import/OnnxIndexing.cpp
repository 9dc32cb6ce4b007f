//===- OnnxIndexing.cpp - Gathers and scatters ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;
using Exprs = SmallVector<Expr>;

/// Indices as i32 or i64; a problem for other types.
Value indices(NodeConverter &node, Value value) {
  Type type = node.elementOf(value);
  if (!type || type.isSignlessInteger(32) || type.isSignlessInteger(64))
    return value;
  (void)node.invalid("its indices are neither int32 nor int64");
  return {};
}

/// Numbers that are known and lie outside of -size..size-1 are an error now.
LogicalResult checkIndices(NodeConverter &node, Value values, Expr size) {
  auto known = node.constantInts(values);
  std::optional<int64_t> limit = size.asConstant();
  if (!known || !limit)
    return success();
  for (int64_t index : *known)
    if (index < -*limit || index >= *limit)
      return node.invalid("its index " + Twine(index) +
                          " lies outside an axis of size " + Twine(*limit));
  return success();
}

LogicalResult convertGather(NodeConverter &node) {
  Value input = node.input(0), picked = indices(node, node.input(1));
  Exprs dims = node.dimsOf(input);
  int64_t axis = node.axisAttr("axis", 0, dims.size());
  if (node.failed() || failed(checkIndices(node, picked, dims[axis])))
    return failure();
  return node.output(node.gather(input, picked, axis));
}

LogicalResult convertGatherElements(NodeConverter &node) {
  Value input = node.input(0), picked = indices(node, node.input(1));
  Exprs dims = node.dimsOf(input);
  int64_t axis = node.axisAttr("axis", 0, dims.size());
  if (node.failed() || failed(checkIndices(node, picked, dims[axis])))
    return failure();
  return node.output(node.emit<graph::GatherElementsOp>(
      {input, picked}, node.i64("axis", axis)));
}

LogicalResult convertGatherNd(NodeConverter &node) {
  Value input = node.input(0), picked = indices(node, node.input(1));
  int64_t batch = node.intAttr("batch_dims", 0);
  return node.output(node.emit<graph::GatherNdOp>(
      {input, picked}, node.i64("batch_dims", batch)));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

std::optional<NamedAttribute> scatterKind(NodeConverter &node) {
  std::string reduction = node.stringAttr("reduction", "none");
  auto kind = reduction == "none" ? graph::ScatterKind::Assign
                                  : graph::symbolizeScatterKind(reduction);
  if (!kind || reduction == "assign") {
    (void)node.invalid("has the unknown reduction '" + reduction + "'");
    return std::nullopt;
  }
  return node.attr("kind", graph::ScatterKindAttr::get(node.context(), *kind));
}

LogicalResult convertScatterElements(NodeConverter &node) {
  Value input = node.input(0), places = indices(node, node.input(1));
  Exprs dims = node.dimsOf(input);
  int64_t axis = node.axisAttr("axis", 0, dims.size());
  auto kind = scatterKind(node);
  if (node.failed() || failed(checkIndices(node, places, dims[axis])))
    return failure();
  return node.output(node.emit<graph::ScatterElementsOp>(
      {input, places, node.input(2)}, {node.i64("axis", axis), *kind}));
}

LogicalResult convertScatterNd(NodeConverter &node) {
  Value places = indices(node, node.input(1));
  auto kind = scatterKind(node);
  if (node.failed())
    return failure();
  return node.output(node.emit<graph::ScatterNdOp>(
      {node.input(0), places, node.input(2)}, *kind));
}

/// Writes `update` into a cache at a position per batch, along one axis; in
/// mode circular, positions wrap around.
LogicalResult convertTensorScatter(NodeConverter &node) {
  Value past = node.input(0), update = node.input(1);
  Exprs dims = node.dimsOf(past), fresh = node.dimsOf(update);
  int64_t rank = dims.size(), axis = node.axisAttr("axis", -2, rank);
  std::string mode = node.stringAttr("mode", "linear");
  if (failed(node.expectRank(update, rank, "the update")))
    return failure();
  if (axis == 0 || (mode != "linear" && mode != "circular"))
    return node.invalid("has an axis or mode that is not allowed");
  Type i64 = node.integer(64);
  Exprs along(rank, node.size(1)), perBatch(rank, node.size(1));
  along[axis] = fresh[axis];
  Value place = node.reshape(node.iota(fresh[axis], i64), along);
  if (Value first = node.optionalInput(2)) {
    perBatch[0] = dims[0];
    place = node.add(place, node.reshape(node.cast(first, i64), perBatch));
  }
  if (mode == "circular") {
    Value size = node.sizeScalar(dims[axis]);
    place = node.emit<graph::ModOp>({place, size});
  }
  auto kind =
      graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
  return node.output(node.emit<graph::ScatterElementsOp>(
      {past, node.broadcast(place, fresh), update},
      {node.i64("axis", axis), node.attr("kind", kind)}));
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

LogicalResult convertOneHot(NodeConverter &node) {
  Value picked = node.input(0), values = node.input(2);
  int64_t rank = node.dimsOf(picked).size();
  int64_t axis = node.normalizeAxis(node.intAttr("axis", -1), rank + 1);
  Value given = node.cast(node.input(1), node.integer(64));
  if (failed(node.expectRank(values, 1, "the pair of values")))
    return failure();
  if (!graph::elementCount(given).isConstant(1))
    return node.invalid("its depth is no scalar");
  Exprs depth = node.readSizes(node.reshape(given, {}));
  if (node.failed())
    return failure();
  // Indices may be of any numeric type; fractions do not occur.
  Value index = node.unsqueeze(node.cast(picked, node.integer(64)), axis);
  Value size = node.reshape(node.sizesVector(depth), {});
  Value isNegative =
      node.emit<graph::LessOp>({index, node.scalar(node.integer(64), 0)});
  index = node.select(isNegative, node.add(index, size), index);
  Exprs along(rank + 1, node.size(1));
  along[axis] = depth[0];
  Value position = node.reshape(node.iota(depth[0], node.integer(64)), along);
  Value isHit = node.emit<graph::EqualOp>({index, position});
  Value off = node.slice(values, 0, node.size(0), node.size(1));
  Value on = node.slice(values, 0, node.size(1), node.size(1));
  return node.output(
      node.select(isHit, node.reshape(on, {}), node.reshape(off, {})));
}

LogicalResult convertNonZero(NodeConverter &node) {
  Value input = node.input(0);
  Value found = node.nonzero(input);
  if (found && graph::getRank(input) == 0)
    found = node.reshape(found, {node.size(0), graph::getDim(found, 1)});
  return node.output(found);
}

LogicalResult convertCompress(NodeConverter &node) {
  Value input = node.input(0), condition = node.input(1);
  Exprs dims = node.dimsOf(input);
  if (failed(node.expectRank(condition, 1, "the condition")))
    return failure();
  int64_t axis = 0;
  if (node.hasAttr("axis")) {
    axis = node.axisAttr("axis", 0, dims.size());
  } else {
    input = node.reshape(input, graph::elementCount(input));
    dims = node.dimsOf(input);
  }
  if (node.failed())
    return failure();
  node.require(graph::getDim(condition, 0), Relation::LessEqual, dims[axis],
               "the condition must not be longer than the axis");
  Value found = node.nonzero(condition);
  if (node.failed())
    return failure();
  Value places = node.reshape(found, graph::getDim(found, 1));
  return node.output(node.gather(input, places, axis));
}

} // namespace

ArrayRef<OpRow> indexingRows() {
  static constexpr OpRow rows[] = {
      {"", "Compress", {9, 11, 28}, convertCompress},
      {"", "Gather", {1, 11, 13}, convertGather},
      {"", "GatherElements", {11, 13}, convertGatherElements},
      {"", "GatherND", {11, 12, 13}, convertGatherNd},
      {"", "NonZero", {9, 13}, convertNonZero},
      {"", "OneHot", {9, 11, 28}, convertOneHot},
      {"", "Scatter", {9}, convertScatterElements},
      {"", "ScatterElements", {11, 13, 16, 18}, convertScatterElements},
      {"", "ScatterND", {11, 13, 16, 18}, convertScatterNd},
      {"", "TensorScatter", {24}, convertTensorScatter},
  };
  return rows;
}

} // namespace tenon
