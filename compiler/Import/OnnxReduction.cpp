//===- OnnxReduction.cpp - Operators along some axes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ReduceKind;
using Axes = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Reduce*
//===----------------------------------------------------------------------===//

/// The numeric type in which sums of `element` are taken when several steps
/// must be rounded once.
Type wideType(NodeConverter &node, Type element) {
  if (isa<FloatType>(element))
    return element.getIntOrFloatBitWidth() < 32 ? node.f32() : element;
  return node.builder.getF64Type();
}

template <typename Op> Value unary(NodeConverter &node, Value x) {
  return x ? node.emit<Op>({x}, {}, x.getType()) : Value();
}

using Reduction = Value (*)(NodeConverter &, Value, ArrayRef<int64_t>);

template <ReduceKind kind>
Value plain(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  if (!node.elementOf(x).isInteger(1))
    return node.reduce(x, axes, kind);
  // Bools (Max and Min only) are compared as bytes.
  Value bytes = node.cast(x, node.unsignedInteger(8));
  return node.cast(node.reduce(bytes, axes, kind), node.boolean());
}

/// Runs a reduction of several steps in the wide type.
template <Reduction f>
Value widened(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  Type element = node.elementOf(x);
  Value wide = node.cast(x, wideType(node, element));
  return node.cast(f(node, wide, axes), element);
}

/// Integers stay in their type, where sums are exact.
template <Reduction f>
Value exact(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return isa<FloatType>(node.elementOf(x)) ? widened<f>(node, x, axes)
                                           : f(node, x, axes);
}

Value mean(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return node.reduce(x, axes, ReduceKind::Mean);
}

/// Of floats, one op; integers go through f64 and are truncated.
Value meanOf(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return isa<FloatType>(node.elementOf(x)) ? mean(node, x, axes)
                                           : widened<mean>(node, x, axes);
}

Value sumOf(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return node.reduce(x, axes, ReduceKind::Sum);
}

Value l1(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return sumOf(node, unary<graph::AbsOp>(node, x), axes);
}

Value sumSquare(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return sumOf(node, node.mul(x, x), axes);
}

Value l2(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return unary<graph::SqrtOp>(node, sumSquare(node, x, axes));
}

Value logSum(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return unary<graph::LogOp>(node, sumOf(node, x, axes));
}

Value logSumExp(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  // Without the largest element exp would overflow; an infinite one stays out
  // of the difference, which would be NaN.
  Value largest = node.reduce(x, axes, ReduceKind::Max);
  Value isInfinite = node.emit<graph::IsInfOp>(
      {largest}, {node.flag("negative", true), node.flag("positive", true)});
  Value shift =
      node.select(isInfinite, node.scalar(node.elementOf(x), 0), largest);
  Value exps = unary<graph::ExpOp>(node, node.sub(x, shift));
  return node.add(logSum(node, exps, axes), shift);
}

/// The axes to reduce, from an attribute or (`fromInput`) the second input.
/// Nothing means that they are not known, and the problem is recorded.
std::optional<Axes> reductionAxes(NodeConverter &node, int64_t rank,
                                  bool fromInput) {
  Axes given;
  if (!fromInput) {
    given = node.intsAttr("axes");
  } else if (Value axes = node.optionalInput(1)) {
    std::optional<Axes> values = node.constantInts(axes);
    if (!values) {
      (void)node.unsupported("the axes are not known before the model runs",
                             "make the second input a constant");
      return std::nullopt;
    }
    given = *values;
  }
  if (given.empty() && !node.flagAttr("noop_with_empty_axes", false))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  Axes axes = node.normalizeAxes(given, rank);
  return node.failed() ? std::nullopt : std::optional(axes);
}

/// `inputSince` is the opset from which the axes are an input.
template <Reduction f, int inputSince>
LogicalResult convertReduce(NodeConverter &node) {
  Value x = node.input(0);
  if (node.failed())
    return failure();
  bool fromInput = node.opset() >= inputSince;
  if (failed(node.expectInputs(1, fromInput ? 2 : 1)))
    return failure();
  std::optional<Axes> axes =
      reductionAxes(node, node.dimsOf(x).size(), fromInput);
  if (!axes)
    return failure();
  Value reduced = f(node, x, *axes);
  if (!node.flagAttr("keepdims", true))
    reduced = node.squeeze(reduced, *axes);
  return node.output(reduced);
}

template <ReduceKind kind> LogicalResult convertArg(NodeConverter &node) {
  Value x = node.input(0);
  int64_t axis = node.axisAttr("axis", 0, node.dimsOf(x).size());
  bool last = node.flagAttr("select_last_index", false);
  Value index = node.emit<graph::ArgReduceOp>(
      {x}, {node.i64("axis", axis),
            node.attr("kind", graph::ReduceKindAttr::get(node.context(), kind)),
            node.flag("last", last)});
  if (!node.flagAttr("keepdims", true))
    index = node.squeeze(index, axis);
  return node.output(index);
}

//===----------------------------------------------------------------------===//
// Softmax and kin
//===----------------------------------------------------------------------===//

Value softmax(NodeConverter &node, Value x, int64_t axis) {
  return node.softmax(x, axis);
}

Value logSoftmax(NodeConverter &node, Value x, int64_t axis) {
  return node.emit<graph::LogSoftmaxOp>({x}, node.i64("axis", axis));
}

/// 1 at the first largest element along the axis, else 0.
Value hardmax(NodeConverter &node, Value x, int64_t axis) {
  auto kind = graph::ReduceKindAttr::get(node.context(), ReduceKind::Max);
  Value largest = node.emit<graph::ArgReduceOp>(
      {x}, {node.i64("axis", axis), node.attr("kind", kind),
            node.flag("last", false)});
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return {};
  Emitter::Exprs along(dims.size(), node.size(1));
  along[axis] = dims[axis];
  Value index = node.reshape(node.iota(dims[axis], node.integer(64)), along);
  return node.cast(node.emit<graph::EqualOp>({largest, index}),
                   node.elementOf(x));
}

using AlongAxis = Value (*)(NodeConverter &, Value, int64_t);

/// Before opset 13 all axes from `axis` on count as one.
template <AlongAxis f> LogicalResult convertSoftmax(NodeConverter &node) {
  Value x = node.input(0);
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t rank = dims.size();
  bool flattens = node.opset() < 13;
  int64_t axis = node.axisAttr("axis", flattens ? 1 : -1, rank);
  if (node.failed())
    return failure();
  if (!flattens || axis == rank - 1)
    return node.output(f(node, x, axis));
  Expr rows = graph::product(node.context(), ArrayRef(dims).take_front(axis));
  Expr columns =
      graph::product(node.context(), ArrayRef(dims).drop_front(axis));
  Value matrix = node.reshape(x, {rows, columns});
  return node.output(node.reshape(f(node, matrix, 1), dims));
}

//===----------------------------------------------------------------------===//
// Running sums, TopK
//===----------------------------------------------------------------------===//

Value cumulative(NodeConverter &node, Value x, int64_t axis, ReduceKind kind) {
  return node.emit<graph::CumulativeOp>(
      {x}, {node.i64("axis", axis),
            node.attr("kind", graph::ReduceKindAttr::get(node.context(), kind)),
            node.flag("exclusive", node.flagAttr("exclusive", false)),
            node.flag("reverse", node.flagAttr("reverse", false))});
}

/// `value == number`, rank 0.
Value isNumber(NodeConverter &node, Value value, int64_t number) {
  return node.emit<graph::EqualOp>(
      {value, node.scalar(node.elementOf(value), number)});
}

template <ReduceKind kind>
LogicalResult convertCumulative(NodeConverter &node) {
  Value x = node.input(0), axisInput = node.input(1);
  int64_t rank = node.dimsOf(x).size();
  if (node.failed())
    return failure();
  if (std::optional<Axes> axis = node.constantInts(axisInput)) {
    if (axis->size() != 1)
      return node.invalid("axis must be one number");
    int64_t front = node.normalizeAxis(axis->front(), rank);
    return node.failed() ? failure()
                         : node.output(cumulative(node, x, front, kind));
  }
  // The axis is data: compute along each and take the one that is meant.
  if (rank == 0 || rank > 8)
    return node.unsupported("the axis is not known before the model runs",
                            "make the second input a constant");
  Value axis = node.reshape(axisInput, {});
  Value result = cumulative(node, x, rank - 1, kind);
  for (int64_t i = 0; i < rank - 1; ++i) {
    Value isAxis = node.emit<graph::OrOp>(
        {isNumber(node, axis, i), isNumber(node, axis, i - rank)});
    result = node.select(isAxis, cumulative(node, x, i, kind), result);
  }
  return node.output(result);
}

LogicalResult convertTopk(NodeConverter &node) {
  Value x = node.input(0);
  Emitter::Exprs dims = node.dimsOf(x);
  int64_t axis = node.axisAttr("axis", -1, dims.size());
  bool largest = node.opset() < 11 || node.flagAttr("largest", true);
  Expr k;
  if (node.opset() < 10) {
    k = node.size(node.intAttr("k"));
  } else {
    Emitter::Exprs values = node.readSizes(node.input(1));
    if (!node.failed() && values.size() != 1)
      return node.invalid("k must be one number");
    if (!node.failed())
      k = values.front();
  }
  if (node.failed())
    return failure();
  node.require(k, graph::Relation::LessEqual, dims[axis],
               "k must not exceed the size of the axis");
  dims[axis] = k;
  Type values = graph::tensorOf(dims, node.elementOf(x));
  Type indices = graph::tensorOf(dims, node.integer(64));
  if (!values || !indices)
    return node.invalid("k is negative or a size overflows");
  auto results = node.emitAll<graph::TopkOp>(
      {x}, {node.i64("axis", axis), node.flag("largest", largest)},
      {values, indices});
  if (results.size() != 2)
    return failure();
  node.setOutput(0, results[0]);
  node.setOutput(1, results[1]);
  return node.result();
}

} // namespace

ArrayRef<OpRow> reductionRows() {
  static constexpr OpRow rows[] = {
      {"", "ArgMax", {1, 11, 12, 13}, convertArg<ReduceKind::Max>},
      {"", "ArgMin", {1, 11, 12, 13}, convertArg<ReduceKind::Min>},
      {"", "CumProd", {26}, convertCumulative<ReduceKind::Prod>},
      {"", "CumSum", {11, 14}, convertCumulative<ReduceKind::Sum>},
      {"", "Hardmax", {1, 11, 13}, convertSoftmax<hardmax>},
      {"", "LogSoftmax", {1, 11, 13}, convertSoftmax<logSoftmax>},
      {"", "ReduceL1", {1, 11, 13, 18}, convertReduce<exact<l1>, 18>},
      {"", "ReduceL2", {1, 11, 13, 18}, convertReduce<widened<l2>, 18>},
      {"",
       "ReduceLogSum",
       {1, 11, 13, 18, 28},
       convertReduce<widened<logSum>, 18>},
      {"",
       "ReduceLogSumExp",
       {1, 11, 13, 18, 28},
       convertReduce<widened<logSumExp>, 18>},
      {"",
       "ReduceMax",
       {1, 11, 12, 13, 18, 20},
       convertReduce<plain<ReduceKind::Max>, 18>},
      {"", "ReduceMean", {1, 11, 13, 18}, convertReduce<meanOf, 18>},
      {"",
       "ReduceMin",
       {1, 11, 12, 13, 18, 20},
       convertReduce<plain<ReduceKind::Min>, 18>},
      {"",
       "ReduceProd",
       {1, 11, 13, 18},
       convertReduce<plain<ReduceKind::Prod>, 18>},
      {"", "ReduceSum", {1, 11, 13}, convertReduce<plain<ReduceKind::Sum>, 13>},
      {"",
       "ReduceSumSquare",
       {1, 11, 13, 18},
       convertReduce<exact<sumSquare>, 18>},
      {"", "Softmax", {1, 11, 13}, convertSoftmax<softmax>},
      {"", "TopK", {1, 10, 11, 24}, convertTopk},
  };
  return rows;
}

} // namespace tenon
