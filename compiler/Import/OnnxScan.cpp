//===- OnnxScan.cpp - Scan, by its steps or as one op ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/LoopSteps.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/RunTimeLoop.h"

using namespace mlir;

namespace tenon {
namespace {

/// Values that steps read or write one element of, along an axis each.
struct Scanned {
  SmallVector<int64_t> axes, directions; // A direction of 1 is backwards.
};

/// An attribute with a number for each of `count` values; all 0 when missing.
SmallVector<int64_t> numbersFor(NodeConverter &node, const Twine &name,
                                size_t count) {
  SmallVector<int64_t> numbers = node.intsAttr(name.str());
  if (numbers.empty())
    numbers.resize(count);
  if (numbers.size() != count)
    (void)node.invalid("its attribute '" + name + "' has " +
                       Twine(numbers.size()) + " numbers where " +
                       Twine(count) + " are needed");
  numbers.resize(count);
  return numbers;
}

Scanned scanned(NodeConverter &node, StringRef prefix, size_t count) {
  Scanned result = {numbersFor(node, prefix + "_axes", count),
                    numbersFor(node, prefix + "_directions", count)};
  for (int64_t direction : result.directions)
    if (direction != 0 && direction != 1)
      (void)node.invalid("has the direction " + Twine(direction) +
                         "; 0 is forwards and 1 backwards");
  return result;
}

/// How many steps the scanned inputs have; null after a problem.
graph::Expr stepsOf(NodeConverter &node, ArrayRef<Value> inputs,
                    MutableArrayRef<int64_t> axes) {
  graph::Expr steps;
  for (auto [input, axis] : llvm::zip_equal(inputs, axes)) {
    if (!node.failed())
      axis = node.normalizeAxis(axis, int64_t(node.dimsOf(input).size()));
    if (node.failed())
      return {};
    graph::Expr size = node.dimOf(input, axis);
    if (steps)
      node.require(size, graph::Relation::Equal, steps,
                   "all scanned inputs must have as many steps");
    if (!steps || size.asConstant())
      steps = size;
  }
  return node.failed() ? graph::Expr() : steps;
}

/// One place along an axis, which goes.
Value elementAt(NodeConverter &node, Value value, int64_t axis,
                graph::Expr at) {
  return node.squeeze(node.slice(value, axis, at, node.size(1)), axis);
}

/// A place along an axis of as many, in either direction.
graph::Expr placeOf(graph::Expr step, graph::Expr count, bool isBackwards) {
  return isBackwards ? count + -1 + step * -1 : step;
}

/// A value of the type that `elementAt` gives, where there is no element.
Value noElement(NodeConverter &node, Value value, int64_t axis) {
  SmallVector<graph::Expr> dims = node.dimsOf(value);
  dims.erase(dims.begin() + axis);
  return node.broadcast(node.scalar(graph::getElementType(value), 0), dims);
}

/// A Scan between its inputs and its outputs.
struct ScanSteps {
  const onnx::GraphProto &body;
  Scanned read, written;
  graph::Expr count;
};

/// What a step is given: the state, and its element of each input.
SmallVector<NamedValue> scanInputs(NodeConverter &node, const ScanSteps &scan,
                                   ArrayRef<Value> inputs, graph::Expr step,
                                   ArrayRef<NamedValue> state) {
  SmallVector<NamedValue> given(state);
  for (auto [input, axis, isBackwards] :
       llvm::zip_equal(inputs, scan.read.axes, scan.read.directions))
    given.push_back(NamedValue::of(
        elementAt(node, input, axis, placeOf(step, scan.count, isBackwards))));
  return given;
}

/// The other way round along the first axis.
Value reversed(NodeConverter &node, Value value, graph::Expr count) {
  Value last = node.sizesVector({count + -1}, node.integer(64));
  return node.gather(value, node.sub(last, node.iota(count, node.integer(64))));
}

/// All steps as one op, for a run to count them.
SmallVector<Value> runCounted(NodeConverter &node, const ScanSteps &scan,
                              ArrayRef<Value> inputs,
                              SmallVector<NamedValue> &state) {
  auto step = [&](graph::Expr number, ArrayRef<NamedValue> now) {
    SmallVector<NamedValue> results = {NamedValue()}; // It has no condition.
    llvm::append_range(
        results, node.importStep(scan.body,
                                 scanInputs(node, scan, inputs, number, now)));
    return results;
  };
  SmallVector<StateKind> kinds(state.size(), StateKind::Carried);
  RunTimeLoopResult result =
      emitLoop(node, {scan.count, {}, state, kinds, step});
  if (node.failed())
    return {};
  state = result.state;
  SmallVector<Value> results;
  for (auto [stack, axis, isBackwards] : llvm::zip_equal(
           result.stacks, scan.written.axes, scan.written.directions)) {
    Value value = isBackwards ? reversed(node, stack, scan.count) : stack;
    int64_t rank = int64_t(node.dimsOf(value).size());
    int64_t place = node.failed() ? 0 : node.normalizeAxis(axis, rank);
    if (node.failed())
      return {};
    results.push_back(stackedAlong(node, value, place));
  }
  return results;
}

/// Steps from `state` on, which becomes that after the last one; gives what
/// they wrote.
SmallVector<Value> runScan(NodeConverter &node, const ScanSteps &scan,
                           ArrayRef<Value> inputs,
                           SmallVector<NamedValue> &state) {
  if (node.isCounted(scan.body, scan.count))
    return runCounted(node, scan, inputs, state);
  int64_t count = *scan.count.asConstant();
  Collected collected(scan.written.axes.size());
  for (int64_t step = 0; step < count && !node.failed(); ++step) {
    SmallVector<NamedValue> results = node.importStep(
        scan.body, scanInputs(node, scan, inputs, node.size(step), state));
    if (!node.failed())
      take(node, results, state, collected);
  }
  SmallVector<RankedTensorType> types;
  if (count == 0 && !node.failed()) {
    SmallVector<NamedValue> given = state;
    for (auto [input, axis] : llvm::zip_equal(inputs, scan.read.axes))
      given.push_back(NamedValue::of(noElement(node, input, axis)));
    types = node.stepTypes(scan.body, given);
  }
  SmallVector<Value> results;
  for (size_t i = 0; i < collected.size() && !node.failed(); ++i) {
    SmallVector<Value> &steps = collected[i];
    if (scan.written.directions[i])
      std::reverse(steps.begin(), steps.end());
    Type type =
        types.empty() ? steps[0].getType() : Type(types[state.size() + i]);
    int64_t rank = type ? cast<RankedTensorType>(type).getRank() + 1 : 1;
    int64_t axis = node.normalizeAxis(scan.written.axes[i], rank);
    results.push_back(types.empty()
                          ? stacked(node, steps, axis)
                          : emptyStack(node, types[state.size() + i], axis));
  }
  return results;
}

/// Splits the inputs of a Scan: those that are scanned are the last ones.
SmallVector<Value> takeScanned(NodeConverter &node, SmallVector<Value> &state) {
  int64_t count = node.intAttr("num_scan_inputs");
  if (!node.failed() && (count < 1 || count > int64_t(state.size())))
    (void)node.invalid("scans " + Twine(count) + " of " + Twine(state.size()) +
                       " inputs");
  if (node.failed())
    return {};
  SmallVector<Value> inputs(state.end() - count, state.end());
  state.resize(state.size() - size_t(count));
  return inputs;
}

/// Since opset 9.
LogicalResult convertScan(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  SmallVector<Value> state = node.inputs(), inputs = takeScanned(node, state);
  if (node.failed())
    return failure();
  size_t others = collectorOf(node, *body, 0, state.size()).size();
  ScanSteps scan = {*body,
                    scanned(node, "scan_input", inputs.size()),
                    scanned(node, "scan_output", others),
                    {}};
  if (!node.failed())
    scan.count = stepsOf(node, inputs, scan.read.axes);
  if (node.failed())
    return failure();
  auto last = llvm::map_to_vector(state, NamedValue::of);
  SmallVector<Value> written = runScan(node, scan, inputs, last);
  for (auto [i, value] : llvm::enumerate(last))
    node.setOutput(i, value);
  for (auto [i, value] : llvm::enumerate(written))
    node.setOutput(state.size() + i, value);
  return node.result();
}

/// In opset 8 all values have a batch in front, whose elements are scanned one
/// by one.
LogicalResult convertBatchedScan(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  if (node.hasInput(0))
    return node.unsupported("has sequences of lengths of their own",
                            "convert the model to a newer opset with "
                            "onnx.version_converter");
  SmallVector<Value> state;
  for (unsigned i = 1; i < node.numInputs(); ++i)
    state.push_back(node.input(i));
  SmallVector<Value> inputs = takeScanned(node, state);
  if (node.failed())
    return failure();
  size_t others = collectorOf(node, *body, 0, state.size()).size();
  SmallVector<int64_t> first(inputs.size(), 0), second(inputs.size(), 1);
  ScanSteps scan = {
      *body,
      {first, numbersFor(node, "directions", inputs.size())},
      {SmallVector<int64_t>(others), SmallVector<int64_t>(others)},
      {}};
  SmallVector<Value> batched = state;
  llvm::append_range(batched, inputs);
  SmallVector<int64_t> fronts(batched.size(), 0);
  graph::Expr size =
      node.failed() ? graph::Expr() : stepsOf(node, batched, fronts);
  if (!node.failed())
    scan.count = stepsOf(node, inputs, second);
  if (node.failed())
    return failure();
  auto batch = size.asConstant();
  if (!batch)
    return node.unsupported("its batch, " + size.str() +
                                ", is known only at run time",
                            "fix that size with --dim NAME=N");
  Collected results(state.size() + others);
  for (int64_t each = 0; each < *batch && !node.failed(); ++each) {
    auto own = [&](Value value) {
      return elementAt(node, value, 0, node.size(each));
    };
    SmallVector<NamedValue> last = llvm::map_to_vector(
        state, [&](Value value) { return NamedValue::of(own(value)); });
    SmallVector<Value> written =
        runScan(node, scan, llvm::map_to_vector(inputs, own), last);
    for (Value value : written)
      last.push_back(NamedValue::of(value));
    for (auto [i, value] : llvm::enumerate(last))
      results[i].push_back(node.tensorOf(value, "result " + Twine(i)));
  }
  if (*batch == 0)
    return node.unsupported("has an empty batch", "leave it out");
  for (size_t i = 0; i < results.size() && !node.failed(); ++i)
    node.setOutput(i, stacked(node, results[i], 0));
  return node.result();
}

LogicalResult convertAnyScan(NodeConverter &node) {
  return node.opset() < 9 ? convertBatchedScan(node) : convertScan(node);
}

} // namespace

ArrayRef<OpRow> scanRows() {
  static constexpr OpRow rows[] = {
      {"", "Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}, convertAnyScan},
  };
  return rows;
}

} // namespace tenon
