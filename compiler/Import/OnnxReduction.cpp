//===- OnnxReduction.cpp - Operators along some axes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ChosenAxes.h"
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

template <typename Op> Value unary(NodeConverter &node, Value x) {
  return x ? node.emit<Op>({x}, {}, x.getType()) : Value();
}

/// What one of the operators does to all elements, along the axes, and to all
/// results. Doing `along` one axis after another gives the same.
struct Reduction {
  Value (*before)(NodeConverter &, Value) = nullptr;
  Value (*along)(NodeConverter &, Value, ArrayRef<int64_t>) = nullptr;
  Value (*after)(NodeConverter &, Value) = nullptr;
  bool isOfReals = false; // Integers go through f64.
};

template <ReduceKind kind>
Value plain(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  return node.reduce(x, axes, kind);
}

Value square(NodeConverter &node, Value x) { return node.mul(x, x); }

Value logSumExp(NodeConverter &node, Value x, ArrayRef<int64_t> axes) {
  // Without the largest element exp would overflow; an infinite one stays out
  // of the difference, which would be NaN.
  Value largest = node.reduce(x, axes, ReduceKind::Max);
  if (!largest)
    return {};
  Value isInfinite = node.emit<graph::IsInfOp>(
      {largest}, {node.flag("negative", true), node.flag("positive", true)});
  Value shift =
      node.select(isInfinite, node.scalar(node.elementOf(x), 0), largest);
  Value exps = unary<graph::ExpOp>(node, node.sub(x, shift));
  Value sum = node.reduce(exps, axes, ReduceKind::Sum);
  return node.add(unary<graph::LogOp>(node, sum), shift);
}

constexpr auto sum = plain<ReduceKind::Sum>;
constexpr Reduction reduceL1{unary<graph::AbsOp>, sum};
constexpr Reduction reduceL2{square, sum, unary<graph::SqrtOp>, true};
constexpr Reduction reduceLogSum{nullptr, sum, unary<graph::LogOp>, true};
constexpr Reduction reduceLogSumExp{nullptr, logSumExp, nullptr, true};
constexpr Reduction reduceMax{nullptr, plain<ReduceKind::Max>};
constexpr Reduction reduceMean{nullptr, plain<ReduceKind::Mean>, nullptr, true};
constexpr Reduction reduceMin{nullptr, plain<ReduceKind::Min>};
constexpr Reduction reduceProd{nullptr, plain<ReduceKind::Prod>};
constexpr Reduction reduceSum{nullptr, sum};
constexpr Reduction reduceSumSquare{square, sum};

/// The type in which a reduction of several steps is done, so that it is
/// rounded once.
Type workType(NodeConverter &node, Type element, const Reduction &reduction) {
  if (isa<FloatType>(element))
    return element.getIntOrFloatBitWidth() < 32 ? node.f32() : element;
  return reduction.isOfReals ? node.builder.getF64Type() : element;
}

Value reduceAlong(NodeConverter &node, Value x, const Reduction &reduction,
                  llvm::function_ref<Value(Value)> along) {
  if (reduction.before)
    x = reduction.before(node, x);
  x = along(x);
  return reduction.after ? reduction.after(node, x) : x;
}

/// The axes that an attribute or (`fromInput`) the second input lists; nothing
/// where the input is not known now.
std::optional<Axes> listedAxes(NodeConverter &node, bool fromInput) {
  if (!fromInput)
    return node.intsAttr("axes");
  Value axes = node.optionalInput(1);
  if (!axes || node.dimOf(axes, 0).isConstant(0))
    return Axes();
  return node.constantInts(axes);
}

/// `inputSince` is the opset from which the axes are an input.
template <const Reduction &reduction, int inputSince>
LogicalResult convertReduce(NodeConverter &node) {
  Value x = node.input(0);
  bool fromInput = node.opset() >= inputSince;
  if (node.failed() || failed(node.expectInputs(1, fromInput ? 2 : 1)))
    return failure();
  int64_t rank = node.dimsOf(x).size();
  bool keeps = node.flagAttr("keepdims", true);
  Type element = node.elementOf(x);
  std::optional<Axes> axes = listedAxes(node, fromInput);
  bool isOneStep = axes && !reduction.before && !reduction.after &&
                   (isa<FloatType>(element) || !reduction.isOfReals);
  if (!isOneStep)
    x = node.cast(x, workType(node, element, reduction));
  if (!axes) {
    ChosenAxes chosen(node, node.input(1), rank);
    Value all = reduceAlong(node, x, reduction, [&](Value value) {
      return chosen.reduce(value, [&](Value each, int64_t axis) {
        return reduction.along(node, each, axis);
      });
    });
    Value result = keeps ? all : chosen.drop(all, node.dimsOf(x));
    return node.output(node.cast(result, element));
  }
  if (axes->empty() && !node.flagAttr("noop_with_empty_axes", false))
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  axes = node.normalizeAxes(*axes, rank);
  Value all = reduceAlong(node, x, reduction, [&](Value value) {
    return axes->empty() ? value : reduction.along(node, value, *axes);
  });
  return node.output(
      node.cast(keeps ? all : node.squeeze(all, *axes), element));
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
LogicalResult outputAlongAxis(NodeConverter &node, Value x, AlongAxis f) {
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

template <AlongAxis f> LogicalResult convertSoftmax(NodeConverter &node) {
  return outputAlongAxis(node, node.input(0), f);
}

/// Softmax of x + bias, where the bias has the sizes of x or 1.
LogicalResult convertBiasSoftmax(NodeConverter &node) {
  Value x = node.input(0), sum = node.add(x, node.input(1));
  node.expectDims(sum, node.dimsOf(x), "the bias");
  return outputAlongAxis(node, sum, softmax);
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
    k = node.readSize(node.input(1), "k");
  }
  if (node.failed())
    return failure();
  node.require(k, graph::Relation::LessEqual, dims[axis],
               "k must not exceed the size of the axis");
  auto [values, places] = node.topk(x, axis, k, largest);
  node.setOutput(0, values);
  node.setOutput(1, places);
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
      {"", "ReduceL1", {1, 11, 13, 18}, convertReduce<reduceL1, 18>},
      {"", "ReduceL2", {1, 11, 13, 18}, convertReduce<reduceL2, 18>},
      {"",
       "ReduceLogSum",
       {1, 11, 13, 18, 28},
       convertReduce<reduceLogSum, 18>},
      {"",
       "ReduceLogSumExp",
       {1, 11, 13, 18, 28},
       convertReduce<reduceLogSumExp, 18>},
      {"", "ReduceMax", {1, 11, 12, 13, 18, 20}, convertReduce<reduceMax, 18>},
      {"", "ReduceMean", {1, 11, 13, 18}, convertReduce<reduceMean, 18>},
      {"", "ReduceMin", {1, 11, 12, 13, 18, 20}, convertReduce<reduceMin, 18>},
      {"", "ReduceProd", {1, 11, 13, 18}, convertReduce<reduceProd, 18>},
      {"", "ReduceSum", {1, 11, 13}, convertReduce<reduceSum, 13>},
      {"",
       "ReduceSumSquare",
       {1, 11, 13, 18},
       convertReduce<reduceSumSquare, 18>},
      {"", "Softmax", {1, 11, 13}, convertSoftmax<softmax>},
      {"", "TopK", {1, 10, 11, 24}, convertTopk},
      {"com.microsoft", "BiasSoftmax", {1}, convertBiasSoftmax},
  };
  return rows;
}

} // namespace tenon
