//===- OnnxLoop.cpp - Loop, by its steps or as one op ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Branches.h"
#include "compiler/Import/LoopSteps.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/RunTimeLoop.h"

using namespace mlir;

namespace tenon {
namespace {

/// A loop between its inputs and its outputs.
struct LoopRun {
  const onnx::GraphProto &body;
  graph::Expr count; // At most; null where only the condition ends it.
  SmallVector<NamedValue> state;
  Collected collected;
  SmallVector<Value> stacks; // Of what is collected, where a run counts steps.
};

/// How often it runs at most; null where it does not say, or after a problem.
graph::Expr tripCount(NodeConverter &node) {
  if (!node.hasInput(0))
    return {};
  Value given = node.input(0);
  // The largest number stands for none in JAX's loops.
  if (auto known = node.computedInt(given)) {
    if (*known == INT64_MAX)
      return {};
    return node.size(std::clamp<int64_t>(*known, 0, INT32_MAX));
  }
  auto sizes = node.knownSizes(given);
  if (!sizes)
    sizes = node.readSizes(node.minimum(node.maximum(given, 0), INT32_MAX));
  if (node.failed())
    return {};
  if (sizes->size() != 1) {
    (void)node.invalid("its trip count must be one number");
    return {};
  }
  graph::Expr count = sizes->front();
  return count.isNonNegative() ? count : count.max(node.size(0));
}

/// What the body is given at a step.
SmallVector<NamedValue> loopInputs(NodeConverter &node, graph::Expr step,
                                   ArrayRef<NamedValue> state) {
  Value number = node.sizesVector({step}, node.integer(64));
  SmallVector<NamedValue> inputs = {
      NamedValue::of(node.reshape(number, {})),
      NamedValue::of(node.scalar(node.boolean(), 1))};
  llvm::append_range(inputs, state);
  return inputs;
}

/// Counts how often a graph, and those in its nodes, read each name.
void countReads(const onnx::GraphProto &graph, llvm::StringMap<int> &reads) {
  for (const onnx::NodeProto &each : graph.node()) {
    for (const std::string &name : each.input())
      ++reads[name];
    for (const onnx::AttributeProto &attribute : each.attribute())
      if (attribute.has_g())
        countReads(attribute.g(), reads);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    ++reads[output.name()];
}

/// What the body does to the state.
SmallVector<StateKind> kindsOf(const onnx::GraphProto &body,
                               ArrayRef<NamedValue> state) {
  llvm::StringMap<StringRef> sources;
  for (const onnx::NodeProto &each : body.node())
    if (each.op_type() == "Identity" && each.domain().empty() &&
        each.input_size() == 1 && each.output_size() == 1)
      sources[each.output(0)] = each.input(0);
  llvm::StringMap<int> reads;
  countReads(body, reads);
  constexpr int mostHops = 8; // From name to name: exporters make one or two.
  SmallVector<StateKind> kinds;
  for (size_t i = 0; i < state.size(); ++i) {
    StringRef name = body.output(int(1 + i)).name();
    for (int hops = 0; hops < mostHops; ++hops) {
      auto found = sources.find(name);
      if (found == sources.end())
        break;
      name = found->second;
    }
    StringRef input = body.input(int(2 + i)).name();
    if (name == input)
      kinds.push_back(StateKind::Kept);
    else if (state[i].sequence && reads.lookup(input) == 1)
      kinds.push_back(StateKind::Appended);
    else
      kinds.push_back(StateKind::Carried);
  }
  return kinds;
}

/// The steps from `first` on as one op, for a run to count them.
LogicalResult runCounted(NodeConverter &node, LoopRun &loop, int64_t first,
                         Value goesOn) {
  auto step = [&](graph::Expr number, ArrayRef<NamedValue> state) {
    return node.importStep(loop.body, loopInputs(node, number + first, state));
  };
  if (size_t(loop.body.input_size()) != 2 + loop.state.size())
    return node.invalid("has a body of " + Twine(loop.body.input_size()) +
                        " inputs where the operator gives " +
                        Twine(2 + loop.state.size()));
  RunTimeLoop counted = {
      {}, goesOn, loop.state, kindsOf(loop.body, loop.state), step};
  if (loop.count)
    counted.count = loop.count + -first;
  RunTimeLoopResult result = emitLoop(node, counted);
  if (node.failed())
    return failure();
  loop.state = result.state;
  // What is known before is in front.
  for (auto [steps, stack] : llvm::zip_equal(loop.collected, result.stacks))
    loop.stacks.push_back(joined(node, steps, stack));
  return node.result();
}

/// The steps from `step` on, each where a flag of the run holds; it holds no
/// more after the last one. Where a run decides how much they collect, they are
/// one op.
LogicalResult runWhile(NodeConverter &node, LoopRun &loop, int64_t step,
                       Value goesOn) {
  auto count = loop.count ? loop.count.asConstant() : std::nullopt;
  if (!count || !loop.collected.empty())
    return runCounted(node, loop, step, goesOn);
  for (; step < *count && !node.failed(); ++step) {
    SmallVector<NamedValue> given = eitherOf(
        node, goesOn,
        [&] {
          return node.importStep(loop.body,
                                 loopInputs(node, node.size(step), loop.state));
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
  int64_t count = loop.count ? *loop.count.asConstant() : -1;
  for (int64_t step = 0; step != count; ++step) {
    SmallVector<NamedValue> given = node.importStep(
        loop.body, loopInputs(node, node.size(step), loop.state));
    if (node.failed())
      return failure();
    take(node, ArrayRef(given).drop_front(), loop.state, loop.collected);
    Value flag = node.tensorOf(given[0], "the condition");
    // Nobody asks what the last step says.
    if (node.failed() || step + 1 == count)
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
  Value flag = node.hasInput(1) ? node.input(1) : Value();
  std::optional<int64_t> begins = 1;
  if (flag)
    begins = node.computedInt(flag);
  if (node.failed() || begins == 0)
    return node.result();
  if (loop.count && node.isCounted(loop.body, loop.count))
    return runCounted(node, loop, 0, begins ? Value() : flag);
  return begins ? runLoop(node, loop) : runWhile(node, loop, 0, flag);
}

LogicalResult convertLoop(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  graph::Expr count = node.failed() ? graph::Expr() : tripCount(node);
  if (node.failed())
    return failure();
  LoopRun loop = {*body, count, {}, {}, {}};
  SmallVector<NamedValue> &state = loop.state;
  for (unsigned i = 2; i < node.numInputs(); ++i)
    state.push_back(node.anyInput(i));
  Collected &collected = loop.collected;
  collected = collectorOf(node, *body, 1, state.size());
  if (node.failed() || failed(run(node, loop)))
    return failure();
  for (auto [i, value] : llvm::enumerate(state))
    node.setOutput(i, value);
  SmallVector<Value> &stacks = loop.stacks;
  SmallVector<RankedTensorType> types;
  if (stacks.empty() && collected.size() && collected[0].empty())
    types = node.stepTypes(*body, loopInputs(node, node.size(0), state));
  for (size_t i = 0; i < collected.size() && !node.failed(); ++i) {
    size_t at = state.size() + i;
    if (!stacks.empty())
      node.setOutput(at, stacks[i]);
    else
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
