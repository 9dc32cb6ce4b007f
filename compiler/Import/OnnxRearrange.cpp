//===- OnnxRearrange.cpp - Borders, triangles, blocks, reversals ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::PadMode;
using graph::Relation;

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

PadMode padMode(NodeConverter &node) {
  auto mode = llvm::StringSwitch<std::optional<PadMode>>(
                  node.stringAttr("mode", "constant"))
                  .Case("constant", PadMode::Constant)
                  .Case("edge", PadMode::Edge)
                  .Case("reflect", PadMode::Reflect)
                  .Case("wrap", PadMode::Wrap)
                  .Default(std::nullopt);
  if (!mode || (*mode == PadMode::Wrap && node.opset() < 19))
    (void)node.invalid("mode must be constant, edge, reflect or (from opset 19 "
                       "on) wrap");
  return mode.value_or(PadMode::Constant);
}

/// Borders of all axes.
struct Borders {
  Emitter::Exprs low, high;
};

Value pad(NodeConverter &node, Value x, const Borders &borders, Value value,
          PadMode mode) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return {};
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Expr from = dim;
    for (Expr border : {borders.low[i], borders.high[i]}) {
      if (!border || border.isConstant(0))
        continue;
      if (mode == PadMode::Reflect)
        node.require(border + 1, Relation::LessEqual, from,
                     "a reflected border must be narrower than the axis");
      else if (mode != PadMode::Constant)
        node.require(node.size(1), Relation::LessEqual, from,
                     "an empty axis has nothing to repeat");
    }
    dim = dim + borders.low[i] + borders.high[i];
    node.require(node.size(0), Relation::LessEqual, dim,
                 "borders must not crop more than there is");
  }
  if (node.failed())
    return {};
  Type type = graph::tensorOf(dims, node.elementOf(x));
  if (!type) {
    (void)node.invalid("a size of the result is negative or overflows");
    return {};
  }
  auto modeAttr = graph::PadModeAttr::get(node.context(), mode);
  return node.emit<graph::PadOp>(
      {x, value}, {node.dims("low", borders.low), node.attr("mode", modeAttr)},
      type);
}

/// Spreads pads [lows.., highs..] of some axes over all axes.
std::optional<Borders> spread(NodeConverter &node, const Emitter::Exprs &pads,
                              ArrayRef<int64_t> axes, size_t rank) {
  if (node.failed())
    return std::nullopt;
  if (pads.size() != 2 * axes.size()) {
    (void)node.invalid(Twine(pads.size()) + " pads do not fit " +
                       Twine(axes.size()) + " axes");
    return std::nullopt;
  }
  Borders borders{Emitter::Exprs(rank, node.size(0)),
                  Emitter::Exprs(rank, node.size(0))};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    borders.low[axis] = pads[i];
    borders.high[axis] = pads[axes.size() + i];
  }
  return borders;
}

/// The axes of Pad in their order; all where they are not given.
SmallVector<int64_t> padAxes(NodeConverter &node, size_t rank) {
  SmallVector<int64_t> axes;
  Value given = node.opset() < 18 ? Value() : node.optionalInput(3);
  if (!given)
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto values = node.constantInts(given);
  if (!values) {
    (void)node.unsupported("the axes are not known before the model runs",
                           "make the fourth input a constant");
    return axes;
  }
  for (int64_t axis : *values)
    axes.push_back(node.normalizeAxis(axis, rank));
  (void)node.normalizeAxes(*values, rank); // None may repeat.
  return axes;
}

LogicalResult convertPad(NodeConverter &node) {
  Value x = node.input(0), value;
  size_t rank = node.dimsOf(x).size();
  PadMode mode = padMode(node);
  Emitter::Exprs pads;
  if (node.opset() < 11) {
    pads = node.sizes(node.intsAttr("pads"));
    value = node.scalar(node.elementOf(x), node.floatAttr("value", 0));
  } else {
    pads = node.readSizes(node.input(1), -INT32_MAX);
    value = node.reshape(node.optionalInput(2), {});
  }
  if (node.failed())
    return failure();
  if (!value)
    value = node.scalar(node.elementOf(x), 0);
  std::optional<Borders> borders =
      spread(node, pads, padAxes(node, rank), rank);
  return borders ? node.output(pad(node, x, *borders, value, mode)) : failure();
}

LogicalResult convertCenterCropPad(NodeConverter &node) {
  Value x = node.input(0);
  Emitter::Exprs dims = node.dimsOf(x), target = node.readSizes(node.input(1));
  SmallVector<int64_t> axes, given = node.intsAttr("axes");
  for (int64_t axis : given)
    axes.push_back(node.normalizeAxis(axis, dims.size()));
  if (!node.hasAttr("axes"))
    axes = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  if (node.failed())
    return failure();
  if (axes.size() != target.size())
    return node.invalid("shape must have one number per axis");
  (void)node.normalizeAxes(axes, dims.size());
  Emitter::Exprs pads;
  Expr zero = node.size(0), two = node.size(2);
  for (auto [axis, size] : llvm::zip(axes, target)) {
    Expr added = (size - dims[axis]).max(zero).floorDiv(two);
    Expr cropped = (dims[axis] - size).max(zero).floorDiv(two);
    pads.push_back(added - cropped);
  }
  for (auto [i, axis] : llvm::enumerate(axes))
    pads.push_back(target[i] - dims[axis] - pads[i]);
  std::optional<Borders> borders = spread(node, pads, axes, dims.size());
  if (!borders)
    return failure();
  return node.output(pad(node, x, *borders, node.scalar(node.elementOf(x), 0),
                         PadMode::Constant));
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

/// column - row for each element of the last two axes, i64 [rows, columns].
Value diagonals(NodeConverter &node, Value x) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed() || dims.size() < 2) {
    (void)node.invalid("the input must have rank 2 or more");
    return {};
  }
  Type index = node.integer(64);
  Expr rows = dims[dims.size() - 2], columns = dims.back();
  Value row = node.reshape(node.iota(rows, index), {rows, node.size(1)});
  return node.sub(node.iota(columns, index), row);
}

LogicalResult convertTrilu(NodeConverter &node) {
  Value x = node.input(0), k = node.optionalInput(1);
  bool upper = node.flagAttr("upper", true);
  Value diagonal = diagonals(node, x);
  if (node.failed())
    return failure();
  k = k ? node.cast(node.reshape(k, {}), node.integer(64))
        : node.scalar(node.integer(64), 0);
  Value kept = upper ? node.emit<graph::LessEqualOp>({k, diagonal})
                     : node.emit<graph::LessEqualOp>({diagonal, k});
  return node.output(node.select(kept, x, node.scalar(node.elementOf(x), 0)));
}

LogicalResult convertEyeLike(NodeConverter &node) {
  Value x = node.input(0);
  if (node.failed() || failed(node.expectRank(x, 2, "the input")))
    return failure();
  Type element = node.typeAttr("dtype", node.elementOf(x));
  Value k = node.sizesVector(node.size(node.intAttr("k", 0)));
  Value isOne = node.emit<graph::EqualOp>(
      {diagonals(node, x), node.reshape(k, {})});
  return node.output(node.cast(isOne, element));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The dims of an image [N, C, H, W] and the size of its blocks; 0 after a
/// problem.
int64_t blockSize(NodeConverter &node, Value x) {
  int64_t block = node.intAttr("blocksize");
  if (node.failed() || failed(node.expectRank(x, 4, "the input")))
    return 0;
  if (block < 1 || block > 65535) {
    (void)node.invalid("blocksize must be positive");
    return 0;
  }
  return block;
}

LogicalResult convertDepthToSpace(NodeConverter &node) {
  Value x = node.input(0);
  std::string mode =
      node.opset() < 11 ? "DCR" : node.stringAttr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.invalid("mode must be DCR or CRD");
  int64_t block = blockSize(node, x);
  if (block == 0)
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  Expr b = node.size(block), square = node.size(block * block);
  node.require(square, Relation::Divides, dims[1],
               "channels must be a multiple of blocksize squared");
  Expr depth = dims[1].floorDiv(square);
  bool depthFirst = mode == "CRD";
  Value blocks = depthFirst
                     ? node.reshape(x, {dims[0], depth, b, b, dims[2], dims[3]})
                     : node.reshape(x, {dims[0], b, b, depth, dims[2], dims[3]});
  Value moved = depthFirst ? node.transpose(blocks, {0, 1, 4, 2, 5, 3})
                           : node.transpose(blocks, {0, 3, 4, 1, 5, 2});
  return node.output(
      node.reshape(moved, {dims[0], depth, dims[2] * b, dims[3] * b}));
}

LogicalResult convertSpaceToDepth(NodeConverter &node) {
  Value x = node.input(0);
  int64_t block = blockSize(node, x);
  if (block == 0)
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  Expr b = node.size(block);
  for (int64_t axis : {2, 3})
    node.require(b, Relation::Divides, dims[axis],
                 "height and width must be multiples of blocksize");
  Expr height = dims[2].floorDiv(b), width = dims[3].floorDiv(b);
  Value blocks = node.reshape(x, {dims[0], dims[1], height, b, width, b});
  Value moved = node.transpose(blocks, {0, 3, 5, 1, 2, 4});
  return node.output(
      node.reshape(moved, {dims[0], dims[1] * b * b, height, width}));
}

/// Of each batch entry the first `sequence_lens` steps, turned round.
LogicalResult convertReverseSequence(NodeConverter &node) {
  Value x = node.input(0), lengths = node.input(1);
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t rank = dims.size();
  int64_t batch = node.axisAttr("batch_axis", 1, rank);
  int64_t time = node.axisAttr("time_axis", 0, rank);
  if (node.failed() || failed(node.expectRank(lengths, 1, "sequence_lens")))
    return failure();
  if (batch == time)
    return node.invalid("batch_axis and time_axis must differ");
  Type index = node.integer(64);
  Emitter::Exprs alongTime(rank, node.size(1)), alongBatch = alongTime;
  alongTime[time] = dims[time];
  alongBatch[batch] = dims[batch];
  Value step = node.reshape(node.iota(dims[time], index), alongTime);
  Value length = node.reshape(node.cast(lengths, index), alongBatch);
  Value turned = node.sub(node.sub(length, 1), step);
  Value isInside = node.emit<graph::LessOp>({step, length});
  Value places = node.select(isInside, turned, step);
  return node.output(node.emit<graph::GatherElementsOp>(
      {x, node.broadcast(places, dims)}, node.i64("axis", time)));
}

} // namespace

ArrayRef<OpRow> rearrangeRows() {
  static constexpr OpRow rows[] = {
      {"", "CenterCropPad", {18}, convertCenterCropPad},
      {"", "DepthToSpace", {1, 11, 13}, convertDepthToSpace},
      {"", "EyeLike", {9, 22}, convertEyeLike},
      {"", "Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25}, convertPad},
      {"", "ReverseSequence", {10}, convertReverseSequence},
      {"", "SpaceToDepth", {1, 13}, convertSpaceToDepth},
      {"", "Trilu", {14}, convertTrilu},
  };
  return rows;
}

} // namespace tenon
