//===- OnnxMovement.cpp - Operators that only move elements ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;
using Exprs = SmallVector<Expr>;

LogicalResult convertTranspose(NodeConverter &node) {
  Value input = node.input(0);
  int64_t rank = node.dimsOf(input).size();
  SmallVector<int64_t> permutation = node.intsAttr("perm");
  if (!node.hasAttr("perm"))
    permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  return node.output(node.transpose(input, permutation));
}

LogicalResult convertConcat(NodeConverter &node) {
  SmallVector<Value> inputs = node.inputs();
  if (inputs.empty())
    return node.invalid("has no inputs");
  int64_t axis = node.normalizeAxis(node.intAttr("axis"),
                                    node.dimsOf(inputs.front()).size());
  if (inputs.size() == 1)
    return node.output(inputs.front());
  return node.output(node.concat(inputs, axis));
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// The sizes of the parts when they are not listed.
Exprs equalParts(NodeConverter &node, Expr total) {
  int64_t count = node.numOutputs();
  if (node.hasAttr("num_outputs") && node.intAttr("num_outputs") != count) {
    (void)node.invalid("its num_outputs is not the number of its outputs");
    return {};
  }
  if (count == 0)
    return {};
  if (!node.hasAttr("num_outputs")) {
    node.require(node.size(count), Relation::Divides, total,
                 "the axis must split into equal parts");
    return Exprs(count, total.floorDiv(node.size(count)));
  }
  // The last part may be smaller.
  Expr part = total.ceilDiv(node.size(count));
  Exprs parts(count, part);
  parts.back() = total - part * (count - 1);
  if (part != parts.back())
    node.require(node.size(0), Relation::LessEqual, parts.back(),
                 "the axis is too short to split");
  return parts;
}

LogicalResult convertSplit(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  int64_t axis = node.axisAttr("axis", 0, dims.size());
  if (node.failed())
    return failure();
  Exprs parts;
  if (node.hasAttr("split"))
    parts = node.sizes(node.intsAttr("split"));
  else if (node.hasInput(1))
    parts = node.readSizes(node.input(1));
  else
    parts = equalParts(node, dims[axis]);
  if (node.failed())
    return failure();
  if (parts.size() != node.numOutputs())
    return node.invalid("lists " + Twine(parts.size()) + " parts for " +
                        Twine(node.numOutputs()) + " outputs");
  Expr start = node.size(0);
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (part && part.asConstant().value_or(0) < 0)
      return node.invalid("has a part of negative size");
    if (node.wantsOutput(i))
      node.setOutput(i, node.slice(input, axis, start, part));
    start = start + part;
  }
  node.require(start, Relation::Equal, dims[axis],
               "the parts of a split must add up to the axis");
  return node.result();
}

//===----------------------------------------------------------------------===//
// Blocks of images
//===----------------------------------------------------------------------===//

/// What DepthToSpace and its inverse share; their input is an image.
LogicalResult readImageBlock(NodeConverter &node, int64_t &block,
                             std::string &mode) {
  block = node.intAttr("blocksize");
  mode = node.stringAttr("mode", "DCR");
  if (failed(node.expectRank(node.input(0), 4, "the input")))
    return failure();
  if (block < 1 || block > INT16_MAX || (mode != "DCR" && mode != "CRD"))
    return node.invalid("has a blocksize or mode that is not allowed");
  return success();
}

LogicalResult convertDepthToSpace(NodeConverter &node) {
  Value input = node.input(0);
  int64_t block;
  std::string mode;
  if (failed(readImageBlock(node, block, mode)))
    return failure();
  Exprs d = node.dimsOf(input);
  Expr b = node.size(block), area = node.size(block * block);
  node.require(area, Relation::Divides, d[1],
               "channels must be a multiple of the squared blocksize");
  Expr depth = d[1].floorDiv(area);
  Value blocks =
      mode == "DCR"
          ? node.transpose(node.reshape(input, {d[0], b, b, depth, d[2], d[3]}),
                           {0, 3, 4, 1, 5, 2})
          : node.transpose(node.reshape(input, {d[0], depth, b, b, d[2], d[3]}),
                           {0, 1, 4, 2, 5, 3});
  return node.output(
      node.reshape(blocks, {d[0], depth, d[2] * block, d[3] * block}));
}

LogicalResult convertSpaceToDepth(NodeConverter &node) {
  Value input = node.input(0);
  int64_t block;
  std::string mode;
  if (failed(readImageBlock(node, block, mode)))
    return failure();
  Exprs d = node.dimsOf(input);
  Expr b = node.size(block);
  for (int axis : {2, 3})
    node.require(b, Relation::Divides, d[axis],
                 "height and width must be multiples of the blocksize");
  Expr high = d[2].floorDiv(b), wide = d[3].floorDiv(b);
  Value split = node.reshape(input, {d[0], d[1], high, b, wide, b});
  Value blocks = mode == "DCR" ? node.transpose(split, {0, 3, 5, 1, 2, 4})
                               : node.transpose(split, {0, 1, 3, 5, 2, 4});
  return node.output(
      node.reshape(blocks, {d[0], d[1] * (block * block), high, wide}));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Row and column numbers of the last two axes, as [M, 1] and [N] of i64.
std::pair<Value, Value> rowsAndColumns(NodeConverter &node,
                                       ArrayRef<Expr> dims) {
  if (node.failed())
    return {};
  Type i64 = node.integer(64);
  Value row = node.iota(dims[dims.size() - 2], i64);
  return {node.unsqueeze(row, 1), node.iota(dims.back(), i64)};
}

LogicalResult convertTrilu(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  bool upper = node.flagAttr("upper", true);
  if (!node.failed() && dims.size() < 2)
    return node.invalid("its input has rank " + Twine(dims.size()) +
                        " but must have rank 2 or more");
  auto [row, column] = rowsAndColumns(node, dims);
  if (Value shift = node.optionalInput(1)) {
    if (!graph::elementCount(shift).isConstant(1))
      return node.invalid("its k is no scalar");
    row = node.add(row, node.reshape(node.cast(shift, node.integer(64)), {}));
  }
  Value keep = upper ? node.emit<graph::LessEqualOp>({row, column})
                     : node.emit<graph::LessEqualOp>({column, row});
  Value zero = node.scalar(node.elementOf(input), 0);
  return node.output(node.select(keep, input, zero));
}

LogicalResult convertEyeLike(NodeConverter &node) {
  Value input = node.input(0);
  if (failed(node.expectRank(input, 2, "the input")))
    return failure();
  Type type = node.typeAttr("dtype", node.elementOf(input));
  auto [row, column] = rowsAndColumns(node, node.dimsOf(input));
  Value shift = node.sizesVector(node.size(node.intAttr("k", 0)));
  row = node.add(row, node.reshape(shift, {}));
  return node.output(node.cast(node.emit<graph::EqualOp>({row, column}), type));
}

LogicalResult convertWhere(NodeConverter &node) {
  if (failed(node.expectInputs(3, 3)))
    return failure();
  Value lhs = node.input(1), rhs = node.input(2);
  if (node.elementOf(lhs) != node.elementOf(rhs))
    return node.invalid("chooses between different element types");
  return node.output(node.select(node.input(0), lhs, rhs));
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// The first len[b] elements along the time axis, turned around.
LogicalResult convertReverseSequence(NodeConverter &node) {
  Value input = node.input(0), lengths = node.input(1);
  Exprs dims = node.dimsOf(input);
  int64_t rank = dims.size();
  int64_t batch = node.axisAttr("batch_axis", 1, rank);
  int64_t time = node.axisAttr("time_axis", 0, rank);
  if (failed(node.expectRank(lengths, 1, "the lengths")))
    return failure();
  if (rank < 2 || batch + time != 1)
    return node.invalid("its batch and time axes must be the first two");
  Type i64 = node.integer(64);
  Exprs batchDims(rank, node.size(1)), timeDims(rank, node.size(1));
  batchDims[batch] = dims[batch];
  timeDims[time] = dims[time];
  Value length = node.reshape(node.cast(lengths, i64), batchDims);
  Value step = node.reshape(node.iota(dims[time], i64), timeDims);
  Value turned = node.sub(node.sub(length, step), 1.0);
  Value isInside = node.emit<graph::LessOp>({step, length});
  Value index = node.broadcast(node.select(isInside, turned, step), dims);
  return node.output(node.emit<graph::GatherElementsOp>(
      {input, index}, node.i64("axis", time)));
}

/// All windows of `size` along an axis, `step` apart, whose elements become the
/// last axis.
LogicalResult convertUnfold(NodeConverter &node) {
  Value x = node.input(0);
  int64_t rank = node.dimsOf(x).size(), axis = node.axisAttr("dim", -1, rank);
  int64_t size = node.intAttr("size"), step = node.intAttr("step", 1);
  if (node.failed())
    return failure();
  if (std::min(size, step) < 1 || std::max(size, step) > INT32_MAX)
    return node.invalid("its size and step must be positive");
  graph::Expr length = node.dimOf(x, axis);
  node.require(node.size(size), graph::Relation::LessEqual, length,
               "a window must not be longer than its axis");
  if (node.failed())
    return failure();
  graph::Expr count = (length - size).floorDiv(node.size(step)) + 1;
  Type index = node.integer(64);
  Value starts = node.mul(node.iota(count, index), double(step));
  Value places =
      node.add(node.unsqueeze(starts, {1}), node.iota(node.size(size), index));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  order.erase(order.begin() + axis + 1);
  order.push_back(axis + 1);
  return node.output(node.transpose(node.gather(x, places, axis), order));
}

} // namespace

ArrayRef<OpRow> movementRows() {
  static constexpr OpRow rows[] = {
      {"", "Concat", {4, 11, 13}, convertConcat},
      {"", "DepthToSpace", {1, 11, 13, 28}, convertDepthToSpace},
      {"", "EyeLike", {9, 22}, convertEyeLike},
      {"", "ReverseSequence", {10, 28}, convertReverseSequence},
      {"", "SpaceToDepth", {1, 13, 28}, convertSpaceToDepth},
      {"", "Split", {2, 11, 13, 18}, convertSplit},
      {"", "Transpose", {1, 13, 21, 23, 24, 25}, convertTranspose},
      {"", "Trilu", {14}, convertTrilu},
      {"", "Where", {9, 16}, convertWhere},
      {"com.microsoft", "Trilu", {1}, convertTrilu},
      {"com.microsoft", "UnfoldTensor", {1}, convertUnfold},
  };
  return rows;
}

} // namespace tenon
