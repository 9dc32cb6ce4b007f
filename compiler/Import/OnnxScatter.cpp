//===- OnnxScatter.cpp - Elements picked and placed by index --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ScatterKind;

LogicalResult convertGatherElements(NodeConverter &node) {
  Value x = node.input(0);
  int64_t axis = node.axisAttr("axis", 0, node.dimsOf(x).size());
  return node.output(node.emit<graph::GatherElementsOp>(
      {x, node.input(1)}, node.i64("axis", axis)));
}

LogicalResult convertGatherNd(NodeConverter &node) {
  int64_t batch = node.opset() < 12 ? 0 : node.intAttr("batch_dims", 0);
  return node.output(node.emit<graph::GatherNdOp>(
      {node.input(0), node.input(1)}, node.i64("batch_dims", batch)));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

NamedAttribute kindAttr(NodeConverter &node, ScatterKind kind) {
  return node.attr("kind", graph::ScatterKindAttr::get(node.context(), kind));
}

/// `reduction`, which came with opset 16.
ScatterKind scatterKind(NodeConverter &node) {
  if (node.opset() < 16)
    return ScatterKind::Assign;
  auto kind = llvm::StringSwitch<std::optional<ScatterKind>>(
                  node.stringAttr("reduction", "none"))
                  .Case("none", ScatterKind::Assign)
                  .Case("add", ScatterKind::Add)
                  .Case("mul", ScatterKind::Mul)
                  .Case("max", ScatterKind::Max)
                  .Case("min", ScatterKind::Min)
                  .Default(std::nullopt);
  if (!kind)
    (void)node.invalid("reduction must be none, add, mul, max or min");
  return kind.value_or(ScatterKind::Assign);
}

Value scatterElements(NodeConverter &node, Value x, Value indices,
                      Value updates, int64_t axis, ScatterKind kind) {
  return node.emit<graph::ScatterElementsOp>(
      {x, indices, updates}, {node.i64("axis", axis), kindAttr(node, kind)});
}

LogicalResult convertScatterElements(NodeConverter &node) {
  Value x = node.input(0);
  int64_t axis = node.axisAttr("axis", 0, node.dimsOf(x).size());
  return node.output(scatterElements(node, x, node.input(1), node.input(2),
                                     axis, scatterKind(node)));
}

LogicalResult convertScatterNd(NodeConverter &node) {
  return node.output(node.emit<graph::ScatterNdOp>(
      {node.input(0), node.input(1), node.input(2)},
      kindAttr(node, scatterKind(node))));
}

/// Writes an update into a cache from a place of its own per batch entry.
LogicalResult convertTensorScatter(NodeConverter &node) {
  Value cache = node.input(0), update = node.input(1);
  Value starts = node.optionalInput(2);
  Emitter::Exprs dims = node.dimsOf(cache), to = node.dimsOf(update);
  int64_t rank = dims.size();
  int64_t axis = node.axisAttr("axis", -2, rank);
  std::string mode = node.stringAttr("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.invalid("mode must be linear or circular");
  if (node.failed() || failed(node.expectRank(update, rank, "the update")))
    return failure();
  if (axis == 0)
    return node.invalid("axis must not be the batch axis");
  Type index = node.integer(64);
  Emitter::Exprs alongBatch(rank, node.size(1)), alongAxis = alongBatch;
  alongBatch[0] = to[0];
  alongAxis[axis] = to[axis];
  Value places = node.reshape(node.iota(to[axis], index), alongAxis);
  if (starts)
    places = node.add(
        places, node.reshape(node.cast(starts, index), alongBatch));
  if (mode == "circular") {
    Value size = node.reshape(node.sizesVector(dims[axis]), {});
    places = node.emit<graph::ModOp>({places, size});
  }
  return node.output(scatterElements(node, cache, node.broadcast(places, to),
                                     update, axis, ScatterKind::Assign));
}

//===----------------------------------------------------------------------===//
// Elements that are not zero
//===----------------------------------------------------------------------===//

/// The coordinates [rank, n] of the true elements; n is born at run time.
Value trueElements(NodeConverter &node, Value mask) {
  Emitter::Exprs dims = node.dimsOf(mask);
  if (node.failed())
    return {};
  int64_t rank = dims.size();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  Value count = node.reduce(node.cast(mask, node.integer(64)), axes,
                            graph::ReduceKind::Sum, /*keepDims=*/false);
  Emitter::Exprs found = node.readSizes(count, 0, INT64_MAX / 64);
  if (node.failed() || found.size() != 1)
    return {};
  Type type = graph::tensorOf({node.size(rank), found[0]}, node.integer(64));
  return node.emit<graph::NonzeroOp>({mask}, {}, type);
}

LogicalResult convertNonZero(NodeConverter &node) {
  Value x = node.input(0);
  if (!node.failed() && node.dimsOf(x).empty())
    x = node.reshape(x, node.size(1));
  return node.output(trueElements(node, node.cast(x, node.boolean())));
}

LogicalResult convertCompress(NodeConverter &node) {
  Value x = node.input(0), condition = node.input(1);
  if (node.failed() || failed(node.expectRank(condition, 1, "the condition")))
    return failure();
  int64_t axis = 0;
  if (node.hasAttr("axis"))
    axis = node.axisAttr("axis", 0, node.dimsOf(x).size());
  else
    x = node.reshape(x, graph::elementCount(x));
  if (node.failed())
    return failure();
  node.require(node.dimsOf(condition)[0], graph::Relation::LessEqual,
               node.dimsOf(x)[axis],
               "the condition must not be longer than the axis");
  Value picked = trueElements(node, condition);
  return node.output(node.emit<graph::GatherOp>(
      {x, node.squeeze(picked, 0)}, node.i64("axis", axis)));
}

/// `on` where the new axis counts to the index, else `off`.
LogicalResult convertOneHot(NodeConverter &node) {
  Value indices = node.input(0), values = node.input(2);
  Type index = node.integer(64);
  Emitter::Exprs depth = node.readSizes(node.cast(node.input(1), index));
  Emitter::Exprs dims = node.dimsOf(indices);
  int64_t axis = node.axisAttr("axis", -1, dims.size() + 1);
  if (node.failed() || failed(node.expectRank(values, 1, "values")))
    return failure();
  if (depth.size() != 1)
    return node.invalid("depth must be one number");
  Value places = node.unsqueeze(node.cast(indices, index), axis);
  Value size = node.reshape(node.sizesVector(depth[0]), {});
  // Those below zero count from the end; the rest outside are off everywhere.
  Value isNegative =
      node.emit<graph::LessOp>({places, node.scalar(index, 0)});
  places = node.select(isNegative, node.add(places, size), places);
  Emitter::Exprs along(dims.size() + 1 - axis, node.size(1));
  along[0] = depth[0];
  Value count = node.reshape(node.iota(depth[0], index), along);
  auto value = [&](int64_t i) {
    return node.reshape(node.slice(values, 0, node.size(i), node.size(1)), {});
  };
  return node.output(node.select(node.emit<graph::EqualOp>({places, count}),
                                 value(1), value(0)));
}

} // namespace

ArrayRef<OpRow> scatterRows() {
  static constexpr OpRow rows[] = {
      {"", "Compress", {9, 11}, convertCompress},
      {"", "GatherElements", {11, 13}, convertGatherElements},
      {"", "GatherND", {11, 12, 13}, convertGatherNd},
      {"", "NonZero", {9, 13}, convertNonZero},
      {"", "OneHot", {9, 11}, convertOneHot},
      {"", "Scatter", {9, 11}, convertScatterElements},
      {"", "ScatterElements", {11, 13, 16, 18}, convertScatterElements},
      {"", "ScatterND", {11, 13, 16, 18}, convertScatterNd},
      {"", "TensorScatter", {24}, convertTensorScatter},
  };
  return rows;
}

} // namespace tenon
