//===- OnnxLoop.cpp - Loop, step by step ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Branches.h"
#include "compiler/Import/LoopSteps.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

/// How often it runs at most; -1 where it does not say.
std::optional<int64_t> tripCount(NodeConverter &node) {
  if (!node.hasInput(0))
    return -1;
  // The largest number stands for none in JAX's loops.
  if (auto known = node.computedInt(node.input(0)))
    return *known == INT64_MAX ? -1 : std::max<int64_t>(*known, 0);
  (void)node.unsupported("its trip count is known only at run time",
                         "make it a constant, or fix the sizes that it "
                         "depends on with --dim NAME=N");
  return std::nullopt;
}

/// What the body is given at a step.
SmallVector<NamedValue> loopInputs(NodeConverter &node, int64_t step,
                                   ArrayRef<NamedValue> state) {
  Value number = node.sizesVector(node.size(step), node.integer(64));
  SmallVector<NamedValue> inputs = {
      NamedValue::of(node.reshape(number, {})),
      NamedValue::of(node.scalar(node.boolean(), 1))};
  llvm::append_range(inputs, state);
  return inputs;
}

/// A loop between its inputs and its outputs.
struct LoopRun {
  const onnx::GraphProto &body;
  int64_t count; // At most; -1 where only the condition ends it.
  SmallVector<NamedValue> state;
  Collected collected;
};

/// The steps from `step` on, each where a flag of the run holds; it holds no
/// more after the last one. Only then are the number of steps and the sizes of
/// what they collect not known.
LogicalResult runWhile(NodeConverter &node, LoopRun &loop, int64_t step,
                       Value goesOn) {
  if (loop.count < 0 || !loop.collected.empty())
    return node.unsupported("whether it goes on is known only at run time, and "
                            "it has no trip count or collects a result of "
                            "each step",
                            "export the model with a fixed number of steps");
  for (; step < loop.count && !node.failed(); ++step) {
    SmallVector<NamedValue> given = eitherOf(
        node, goesOn,
        [&] {
          return node.importStep(loop.body, loopInputs(node, step, loop.state));
        },
        [&] {
          SmallVector<NamedValue> same = {
              NamedValue::of(node.scalar(node.boolean(), 0))};
          llvm::append_range(same, loop.state);
          return same;
        });
    if (node.failed())
      return failure();
    goesOn = given[0].value;
    take(node, ArrayRef(given).drop_front(), loop.state, loop.collected);
  }
  return node.result();
}

/// The steps, each on the state that the one before left.
LogicalResult runLoop(NodeConverter &node, LoopRun &loop) {
  for (int64_t step = 0; step != loop.count; ++step) {
    SmallVector<NamedValue> given =
        node.importStep(loop.body, loopInputs(node, step, loop.state));
    if (node.failed())
      return failure();
    take(node, ArrayRef(given).drop_front(), loop.state, loop.collected);
    Value flag = node.tensorOf(given[0], "the condition");
    // Nobody asks what the last step says.
    if (node.failed() || step + 1 == loop.count)
      break;
    auto goesOn = node.computedInt(flag);
    if (!goesOn)
      return runWhile(node, loop, step + 1, flag);
    if (!*goesOn)
      break;
  }
  return node.result();
}

/// All of it, from its first flag on.
LogicalResult run(NodeConverter &node, LoopRun &loop) {
  if (!node.hasInput(1))
    return runLoop(node, loop);
  Value flag = node.input(1);
  auto begins = node.computedInt(flag);
  if (!begins && !node.failed())
    return runWhile(node, loop, 0, flag);
  return node.failed() || !*begins ? node.result() : runLoop(node, loop);
}

LogicalResult convertLoop(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  std::optional<int64_t> count = node.failed() ? std::nullopt : tripCount(node);
  if (!count)
    return failure();
  LoopRun loop = {*body, *count, {}, {}};
  SmallVector<NamedValue> &state = loop.state;
  for (unsigned i = 2; i < node.numInputs(); ++i)
    state.push_back(node.anyInput(i));
  Collected &collected = loop.collected;
  collected = collectorOf(node, *body, 1, state.size());
  if (node.failed() || failed(run(node, loop)))
    return failure();
  for (auto [i, value] : llvm::enumerate(state))
    node.setOutput(i, value);
  SmallVector<RankedTensorType> types;
  if (collected.size() && collected[0].empty())
    types = node.stepTypes(*body, loopInputs(node, 0, state));
  for (size_t i = 0; i < collected.size() && !node.failed(); ++i) {
    size_t at = state.size() + i;
    node.setOutput(at, types.empty() ? stacked(node, collected[i], 0)
                                     : emptyStack(node, types[1 + at], 0));
  }
  return node.result();
}

} // namespace

ArrayRef<OpRow> loopRows() {
  static constexpr OpRow rows[] = {
      {"", "Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, convertLoop},
  };
  return rows;
}

} // namespace tenon
