//===- OnnxLoop.cpp - Loop, step by step ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/LoopSteps.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

/// A bool that must be known now.
std::optional<bool> knownFlag(NodeConverter &node, Value flag) {
  if (auto known = node.computedInt(flag))
    return *known != 0;
  (void)node.unsupported("whether it goes on is known only at run time",
                         "export the model with a fixed number of steps");
  return std::nullopt;
}

/// How often it runs at most; -1 where it does not say.
std::optional<int64_t> tripCount(NodeConverter &node) {
  if (!node.hasInput(0))
    return -1;
  if (auto known = node.computedInt(node.input(0)))
    return std::max<int64_t>(*known, 0);
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

/// Steps from `state` on, which becomes that after the last one.
LogicalResult runLoop(NodeConverter &node, const onnx::GraphProto &body,
                      int64_t count, SmallVector<NamedValue> &state,
                      Collected &collected) {
  for (int64_t step = 0; count < 0 || step < count; ++step) {
    SmallVector<NamedValue> given =
        node.importStep(body, loopInputs(node, step, state));
    if (node.failed())
      return failure();
    take(node, ArrayRef(given).drop_front(), state, collected);
    // Nobody asks what the last step says.
    auto goesOn =
        step + 1 == count
            ? std::optional(false)
            : knownFlag(node, node.tensorOf(given[0], "the condition"));
    if (!goesOn)
      return failure();
    if (!*goesOn)
      break;
  }
  return success();
}

LogicalResult convertLoop(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  std::optional<int64_t> count = node.failed() ? std::nullopt : tripCount(node);
  auto begins = node.failed() || !node.hasInput(1)
                    ? true
                    : knownFlag(node, node.input(1));
  SmallVector<NamedValue> state;
  for (unsigned i = 2; i < node.numInputs(); ++i)
    state.push_back(node.anyInput(i));
  if (node.failed())
    return failure();
  Collected collected = collectorOf(node, *body, 1, state.size());
  if (node.failed() ||
      failed(runLoop(node, *body, *begins ? *count : 0, state, collected)))
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
