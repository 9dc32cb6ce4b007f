//===- LoopSteps.cpp - What the steps of a loop give ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/LoopSteps.h"

using namespace mlir;

namespace tenon {

const onnx::GraphProto *bodyOf(NodeConverter &node) {
  const onnx::GraphProto *body = node.graphAttr("body");
  if (!body)
    (void)node.invalid("needs a body");
  return body;
}

Collected collectorOf(NodeConverter &node, const onnx::GraphProto &body,
                      size_t before, size_t state) {
  int64_t others = int64_t(body.output_size()) - int64_t(before + state);
  if (others >= 0 && node.numOutputs() <= state + size_t(others))
    return Collected(others);
  (void)node.invalid("its body has " + Twine(body.output_size()) +
                     " outputs, which is less than what its inputs and "
                     "outputs ask for");
  return {};
}

void take(NodeConverter &node, ArrayRef<NamedValue> given,
          MutableArrayRef<NamedValue> state, Collected &collected) {
  llvm::copy(given.take_front(state.size()), state.begin());
  for (auto [i, steps] : llvm::enumerate(collected)) {
    size_t at = state.size() + i;
    steps.push_back(node.tensorOf(given[at], "result " + Twine(at)));
  }
}

Value stacked(NodeConverter &node, ArrayRef<Value> steps, int64_t axis) {
  SmallVector<Value> all;
  for (Value step : steps)
    all.push_back(node.unsqueeze(step, axis));
  return node.failed() ? Value() : node.concat(all, axis);
}

Value joined(NodeConverter &node, ArrayRef<Value> steps, Value stack) {
  if (steps.empty() || node.failed())
    return stack;
  return node.concat({stacked(node, steps, 0), stack}, 0);
}

Value stackedAlong(NodeConverter &node, Value stack, int64_t axis) {
  if (axis == 0 || node.failed())
    return stack;
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(1, graph::getRank(stack)));
  order.insert(order.begin() + axis, 0);
  return node.transpose(stack, order);
}

Value emptyStack(NodeConverter &node, RankedTensorType type, int64_t axis) {
  if (!type)
    (void)node.invalid("its body gives what is no tensor");
  if (node.failed())
    return {};
  SmallVector<graph::Expr> dims;
  for (int64_t size : type.getShape())
    dims.push_back(node.size(ShapedType::isDynamic(size) ? 0 : size));
  dims.insert(dims.begin() + axis, node.size(0));
  return node.broadcast(node.scalar(type.getElementType(), 0), dims);
}

} // namespace tenon
