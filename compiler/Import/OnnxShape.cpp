//===- OnnxShape.cpp - Shapes, views, and tensors made of nothing ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;
using Exprs = SmallVector<Expr>;

//===----------------------------------------------------------------------===//
// Sizes of tensors
//===----------------------------------------------------------------------===//

LogicalResult convertShape(NodeConverter &node) {
  Exprs dims = node.dimsOf(node.input(0));
  int64_t rank = dims.size();
  auto bound = [&](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank);
  };
  int64_t start = bound(std::max(node.intAttr("start", 0), -rank));
  int64_t end = bound(std::max(node.intAttr("end", rank), -rank));
  if (node.failed())
    return failure();
  ArrayRef<Expr> part = ArrayRef(dims).slice(start, std::max(end - start, 0l));
  return node.output(node.sizesVector(part));
}

LogicalResult convertSize(NodeConverter &node) {
  Value input = node.input(0);
  if (node.failed())
    return failure();
  Value count = node.sizesVector(graph::elementCount(input));
  return node.output(node.reshape(count, {}));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The target of a Reshape computed by the run: -1 and 0 are resolved there.
Exprs readTarget(NodeConverter &node, Value input, Value target,
                 bool allowZero) {
  Type i64 = node.integer(64);
  Exprs dims = node.dimsOf(input);
  if (node.failed())
    return {};
  std::optional<int64_t> rank = graph::getDim(target, 0).asConstant();
  if (!rank || *rank > kMaxRank) {
    (void)node.unsupported("its result has a rank that is too large or not "
                           "known before the run",
                           "export the model with a fixed rank");
    return {};
  }
  Value wanted = node.cast(target, i64);
  Value zero = node.scalar(i64, 0), one = node.scalar(i64, 1);
  if (!allowZero) {
    Exprs kept(dims);
    kept.resize(*rank, node.size(0));
    Value isZero = node.emit<graph::EqualOp>({wanted, zero});
    wanted = node.select(isZero, node.sizesVector(kept), wanted);
  }
  Value isOpen = node.emit<graph::LessOp>({wanted, zero});
  Value given = node.select(isOpen, one, wanted);
  Value product = node.reduce(given, 0, graph::ReduceKind::Prod);
  Value total = node.sizesVector(graph::elementCount(input));
  Value rest = node.div(total, node.maximum(product, one));
  return node.readSizes(node.select(isOpen, rest, wanted));
}

/// The result dims of a Reshape to known sizes.
Exprs resolveTarget(NodeConverter &node, Value input, ArrayRef<Expr> target,
                    bool allowZero) {
  Exprs dims = node.dimsOf(input), result;
  Expr given = node.size(1);
  int64_t open = -1;
  for (auto [i, size] : llvm::enumerate(target)) {
    Expr dim = size;
    if (size.isConstant(0) && !allowZero && i < dims.size())
      dim = dims[i];
    if (size.isConstant(-1)) {
      if (open >= 0) {
        (void)node.invalid("its target shape has more than one -1");
        return {};
      }
      open = i;
    } else {
      if (dim.asConstant().value_or(0) < 0) {
        (void)node.invalid("its target shape has the negative size " +
                           dim.str());
        return {};
      }
      given = given * dim;
    }
    result.push_back(dim);
  }
  if (open < 0)
    return result;
  Expr total = graph::elementCount(input);
  if (!total || !given || given.isConstant(0)) {
    (void)node.invalid("its target shape leaves the size of -1 undefined");
    return {};
  }
  // Sizes that appear on both sides cancel: [B, S, 768] to [B, S, 12, -1].
  result[open] = total.floorDiv(given);
  node.require(given, Relation::Divides, total,
               "the sizes given must divide the number of elements");
  (void)node.assume(total, Relation::Equal,
                    graph::product(node.context(), result));
  return result;
}

LogicalResult convertReshape(NodeConverter &node) {
  Value input = node.input(0), target = node.input(1);
  bool allowZero = node.flagAttr("allowzero", false);
  if (failed(node.expectRank(target, 1, "the target shape")))
    return failure();
  auto known = node.knownSizes(target);
  Exprs dims = known ? resolveTarget(node, input, *known, allowZero)
                     : readTarget(node, input, target, allowZero);
  if (node.failed())
    return failure();
  return node.output(node.reshape(input, dims));
}

LogicalResult convertFlatten(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  int64_t rank = dims.size(), axis = node.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return node.invalid("its axis " + Twine(axis) +
                        " lies outside a tensor of rank " + Twine(rank));
  if (axis < 0)
    axis += rank;
  Expr outer = graph::product(node.context(), ArrayRef(dims).take_front(axis));
  Expr inner = graph::product(node.context(), ArrayRef(dims).drop_front(axis));
  return node.output(node.reshape(input, {outer, inner}));
}

LogicalResult convertExpand(NodeConverter &node) {
  Value input = node.input(0);
  if (failed(node.expectRank(node.input(1), 1, "the target shape")))
    return failure();
  Exprs target = node.readSizes(node.input(1));
  if (node.failed())
    return failure();
  for (Expr size : target)
    if (size.asConstant().value_or(0) < 0)
      return node.invalid("its target shape has the negative size " +
                          size.str());
  Exprs dims = node.dimsOf(input);
  std::string reason;
  auto result = graph::broadcastDims(dims, target, &reason);
  if (!result)
    return node.invalid(reason);
  // Both may stretch: the target too is broadcast.
  size_t common = std::min(dims.size(), target.size());
  for (auto [a, b] : llvm::zip(ArrayRef(dims).take_back(common),
                               ArrayRef(target).take_back(common)))
    node.require(a, Relation::Broadcasts, b,
                 "sizes must be equal or 1 to broadcast");
  return node.output(node.broadcast(input, *result));
}

//===----------------------------------------------------------------------===//
// Tensors made of nothing
//===----------------------------------------------------------------------===//

LogicalResult convertConstantOfShape(NodeConverter &node) {
  if (failed(node.expectRank(node.input(0), 1, "the shape")))
    return failure();
  Exprs dims = node.readSizes(node.input(0));
  Value value = node.scalar(node.f32(), 0);
  if (const onnx::TensorProto *tensor = node.tensorAttr("value")) {
    auto data = readTensor(*tensor, node.state.file, node.context());
    if (!data)
      return node.unsupported(llvm::toString(data.takeError()));
    if (elementCount(data->shape) != 1)
      return node.invalid("its value must have one element");
    value = node.reshape(node.tensor(*data, node.name()), {});
  }
  return node.output(node.broadcast(value, dims));
}

/// The size that was cast to f32, which is rounded where it is larger than
/// 2^24; null for others.
Expr sizeInF32(NodeConverter &node, Value value) {
  auto cast = value.getDefiningOp<graph::CastOp>();
  if (!cast || !node.elementOf(value).isF32())
    return {};
  auto sizes = node.knownSizes(cast.getInput());
  if (!sizes || sizes->size() != 1)
    return {};
  node.require((*sizes)[0], graph::Relation::LessEqual, node.size(1 << 24),
               "a size as a float is rounded beyond 2^24");
  return (*sizes)[0].max(node.size(0));
}

/// How many numbers lie in [start, limit) by steps of delta; null when that is
/// only known at run time.
Expr knownLength(NodeConverter &node, Value start, Value limit, Value delta) {
  auto from = node.knownSizes(start), to = node.knownSizes(limit);
  auto step = node.constantInts(delta);
  if (from && to && step) {
    if (step->front() == 0) {
      (void)node.invalid("its delta is 0");
      return {};
    }
    Expr span = (*to)[0] - (*from)[0], by = node.size(step->front());
    if (step->front() < 0) {
      span = span * -1;
      by = by * -1;
    }
    Expr length = span.ceilDiv(by);
    return length ? length.max(node.size(0)) : length;
  }
  auto first = node.constantFloats(start), last = node.constantFloats(limit);
  auto stride = node.constantFloats(delta);
  if (first && !last && stride && (*first)[0] == 0 && (*stride)[0] == 1)
    return sizeInF32(node, limit);
  if (!first || !last || !stride)
    return {};
  double count = std::ceil(((*last)[0] - (*first)[0]) / (*stride)[0]);
  if (!(count < double(INT32_MAX))) {
    (void)node.invalid("makes a tensor without end, or of more than 2^31 "
                       "numbers");
    return {};
  }
  return node.size(std::max<int64_t>(int64_t(count), 0));
}

/// The same, computed by the run.
Expr boundLength(NodeConverter &node, Value start, Value limit, Value delta) {
  Type i64 = node.integer(64), element = node.elementOf(delta);
  Value count, span = node.sub(limit, start);
  if (isa_and_nonnull<FloatType>(element)) {
    Value exact = node.div(span, delta);
    count = node.cast(node.emit<graph::CeilOp>(exact), i64);
  } else {
    // Truncating division of a positive span, rounded up.
    Value step = node.cast(delta, i64);
    Value sign = node.emit<graph::SignOp>(step);
    count =
        node.div(node.add(node.cast(span, i64), node.sub(step, sign)), step);
  }
  Exprs length = node.readSizes(node.maximum(count, 0));
  return length.empty() ? Expr() : length.front();
}

LogicalResult convertRange(NodeConverter &node) {
  SmallVector<Value> bounds;
  for (unsigned i = 0; i < 3; ++i) {
    Value bound = node.input(i);
    if (node.failed())
      return failure();
    if (!graph::elementCount(bound).isConstant(1))
      return node.invalid("its input " + Twine(i) + " is no scalar");
    bounds.push_back(node.reshape(bound, {}));
  }
  if (node.elementOf(bounds[0]) != node.elementOf(bounds[1]) ||
      node.elementOf(bounds[0]) != node.elementOf(bounds[2]))
    return node.invalid("its inputs differ in element type");
  Expr length = knownLength(node, bounds[0], bounds[1], bounds[2]);
  if (!length && !node.failed())
    length = boundLength(node, bounds[0], bounds[1], bounds[2]);
  if (node.failed())
    return failure();
  Type element = node.elementOf(bounds[0]);
  auto start = node.knownSizes(bounds[0]), delta = node.knownSizes(bounds[2]);
  // A short list of integers may be axes or sizes of other nodes.
  constexpr int64_t shortList = 64;
  bool isIndex = element.isSignlessInteger(32) || element.isSignlessInteger(64);
  if (isIndex && start && delta &&
      length.asConstant().value_or(shortList + 1) <= shortList) {
    Exprs values;
    for (int64_t i = 0; i < *length.asConstant(); ++i)
      values.push_back((*start)[0] + (*delta)[0] * i);
    return node.output(node.sizesVector(values, element));
  }
  Value numbers = node.iota(length, element);
  auto first = node.constantFloats(bounds[0]);
  auto step = node.constantFloats(bounds[2]);
  if (!step || step->front() != 1)
    numbers = node.mul(numbers, bounds[2]);
  if (!first || first->front() != 0)
    numbers = node.add(numbers, bounds[0]);
  return node.output(numbers);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

LogicalResult convertCast(NodeConverter &node) {
  if (FloatType type = node.fewBitsAttr("to"))
    return node.output(inFewBits(node, node.input(0), type));
  return node.output(node.cast(node.input(0), node.typeAttr("to")));
}

LogicalResult convertBitCast(NodeConverter &node) {
  Value x = node.input(0);
  Type to = node.typeAttr("to");
  if (node.failed())
    return failure();
  Type from = node.elementOf(x);
  if (to.isInteger(1) && from != to)
    return node.unsupported("gives bools whose bits may be any",
                            "compare with 0 instead");
  if (graph::byteWidth(from) != graph::byteWidth(to))
    return node.invalid("gives elements of another number of bits than its "
                        "input has");
  if (from == to)
    return node.output(x);
  return node.output(
      node.emit<graph::BitcastOp>(x, {}, graph::tensorOf(node.dimsOf(x), to)));
}

LogicalResult convertCastLike(NodeConverter &node) {
  if (node.isNarrow(node.optionalInput(1)))
    return node.unsupported("casts to fewer than 8 bits");
  if (FloatType type = node.fewBitsOf(node.optionalInput(1)))
    return node.output(inFewBits(node, node.input(0), type));
  return node.output(node.cast(node.input(0), node.elementOf(node.input(1))));
}

} // namespace

ArrayRef<OpRow> shapeRows() {
  static constexpr OpRow rows[] = {
      {"", "BitCast", {26}, convertBitCast},
      {"", "Cast", {6, 9, 13, 19, 21, 23, 24, 25, 28}, convertCast},
      {"", "CastLike", {15, 19, 21, 23, 24, 25}, convertCastLike},
      {"", "ConstantOfShape", {9, 20, 21, 23, 24, 25}, convertConstantOfShape},
      {"", "Expand", {8, 13}, convertExpand},
      {"", "Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, convertFlatten},
      {"", "Range", {11, 27}, convertRange},
      {"", "Reshape", {5, 13, 14, 19, 21, 23, 24, 25}, convertReshape},
      {"", "Shape", {1, 13, 15, 19, 21, 23, 24, 25}, convertShape},
      {"", "Size", {1, 13, 19, 21, 23, 24, 25}, convertSize},
  };
  return rows;
}

} // namespace tenon
