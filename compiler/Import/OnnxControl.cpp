//===- OnnxControl.cpp - Constant, Identity, Dropout and If ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Branches.h"
#include "compiler/Import/OpFamilies.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tenon {
namespace {

/// Constant in each of its forms: one attribute says which.
LogicalResult convertConstant(NodeConverter &node) {
  Type f32 = node.f32(), i64 = node.integer(64);
  if (const onnx::TensorProto *tensor = node.tensorAttr("value"))
    return node.output(node.tensor(*tensor, node.name()));
  if (node.hasAttr("value_float"))
    return node.output(node.scalar(f32, node.floatAttr("value_float", 0)));
  if (node.hasAttr("value_int")) {
    Value value = node.sizesVector(node.size(node.intAttr("value_int")), i64);
    return node.output(node.reshape(value, {}));
  }
  if (node.hasAttr("value_floats")) {
    auto values = node.floatsAttr("value_floats");
    return node.output(node.constant(f32, int64_t(values.size()), values));
  }
  if (node.hasAttr("value_ints")) {
    auto values = node.intsAttr("value_ints");
    return node.output(node.sizesVector(node.sizes(values), i64));
  }
  if (node.hasAttr("value_string") || node.hasAttr("value_strings"))
    return node.unsupported("holds strings, and only numbers are supported");
  if (node.hasAttr("sparse_value"))
    return node.unsupported("holds a sparse tensor", "store it densely");
  return node.invalid("has no value");
}

/// Dropout outside of training, and other ways to do nothing.
LogicalResult convertIdentity(NodeConverter &node) {
  if (!node.hasInput(0))
    return node.output(node.input(0));
  node.setOutput(0, node.anyInput(0));
  return node.result();
}

/// Refuses to drop anything, when it runs where only that tells: input
/// `ratioInput`, and behind it whether it is training.
LogicalResult checkDropsNothing(NodeConverter &node, unsigned ratioInput) {
  Value ratio = node.optionalInput(ratioInput);
  Value drops = node.optionalInput(ratioInput + 1);
  if (!drops)
    return success();
  auto known = ratio ? node.constantFloats(ratio) : SmallVector<double>(1, 0.5);
  if (known && known->size() == 1 && known->front() == 0)
    return success();
  drops = node.reshape(drops, {});
  if (!known) {
    Value zero = node.scalar(node.elementOf(ratio), 0);
    Value isZero = node.emit<graph::EqualOp>({node.reshape(ratio, {}), zero});
    drops = node.emit<graph::AndOp>({drops, node.emit<graph::NotOp>(isZero)});
  }
  auto flags = node.readSizes(drops, 0, 1);
  if (node.failed())
    return failure();
  if (flags[0].asConstant().value_or(0) != 0)
    return node.unsupported("is in training mode, which is random",
                            "export the model for inference");
  node.require(flags[0], graph::Relation::Equal, node.size(0),
               "training mode is random and not supported; run the model for "
               "inference");
  return node.result();
}

/// Sets the outputs: the value, and that all of it is kept.
LogicalResult outputKept(NodeConverter &node, Value value) {
  node.setOutput(0, value);
  if (node.wantsOutput(1)) {
    Value kept = node.scalar(node.boolean(), 1);
    node.setOutput(1, node.broadcast(kept, node.dimsOf(value)));
  }
  return node.result();
}

LogicalResult convertDropout(NodeConverter &node) {
  if (failed(checkDropsNothing(node, 1)))
    return failure();
  return outputKept(node, node.input(0));
}

/// x + bias + residual
LogicalResult convertBiasDropout(NodeConverter &node) {
  if (failed(checkDropsNothing(node, 3)))
    return failure();
  Value sum = node.add(node.input(0), node.input(1));
  Value residual = node.optionalInput(2);
  return outputKept(node, residual ? node.add(sum, residual) : sum);
}

/// The input of the only node that computes in a body, when it has this type
/// and makes the body's only output; empty otherwise.
std::string onlyInput(const onnx::GraphProto &body, StringRef opType) {
  const onnx::NodeProto *only = nullptr;
  for (const onnx::NodeProto &node : body.node()) {
    if (node.op_type() == "Constant" && node.domain().empty())
      continue;
    if (only || node.op_type() != opType || !node.domain().empty())
      return "";
    only = &node;
  }
  bool whole = only && only->input_size() > 0 && only->output_size() == 1 &&
               body.output_size() == 1 &&
               body.output(0).name() == only->output(0);
  return whole ? only->input(0) : "";
}

/// The size that a condition compares with 1; null for any other condition.
graph::Expr sizeComparedWithOne(NodeConverter &node, Value condition) {
  auto equal = condition.getDefiningOp<graph::EqualOp>();
  if (!equal)
    return {};
  auto lhs = node.knownSizes(equal.getLhs()),
       rhs = node.knownSizes(equal.getRhs());
  if (!lhs || !rhs || lhs->size() != 1 || rhs->size() != 1)
    return {};
  if (lhs->front().isConstant(1))
    std::swap(lhs, rhs);
  return rhs->front().isConstant(1) ? lhs->front() : graph::Expr();
}

/// PyTorch writes `x.squeeze(axis)` so: if the size is 1, Squeeze, otherwise x
/// itself. The rank is then a matter of the run, which nothing that follows
/// could bear: the size has to be 1.
bool isSqueezeWhereOne(NodeConverter &node, Value condition,
                       const onnx::GraphProto &thenBody,
                       const onnx::GraphProto &elseBody) {
  std::string squeezed = onlyInput(thenBody, "Squeeze");
  if (squeezed.empty() || squeezed != onlyInput(elseBody, "Identity"))
    return false;
  graph::Expr size = sizeComparedWithOne(node, condition);
  if (!size)
    return false;
  node.require(size, graph::Relation::Equal, node.size(1),
               "only an axis of size 1 can be squeezed");
  return true;
}

LogicalResult convertIf(NodeConverter &node) {
  const onnx::GraphProto *thenBody = node.graphAttr("then_branch");
  const onnx::GraphProto *elseBody = node.graphAttr("else_branch");
  Value condition = node.input(0);
  if (node.failed())
    return failure();
  if (!thenBody || !elseBody)
    return node.invalid("needs a then_branch and an else_branch");
  if (!graph::getElementType(condition).isInteger(1))
    return node.invalid("its condition is not a bool");
  const onnx::GraphProto *taken = nullptr;
  if (auto known = node.computedInt(condition))
    taken = *known ? thenBody : elseBody;
  else if (isSqueezeWhereOne(node, condition, *thenBody, *elseBody))
    taken = thenBody;
  if (taken) {
    auto values = node.importBody(*taken);
    for (auto [i, value] : llvm::enumerate(values))
      node.setOutput(i, value);
    return node.result();
  }
  auto given = eitherOf(
      node, condition, [&] { return node.importBody(*thenBody); },
      [&] { return node.importBody(*elseBody); });
  if (!node.failed() && given.size() != node.numOutputs())
    return node.invalid("its branches do not have as many outputs as the node");
  for (auto [i, value] : llvm::enumerate(given))
    node.setOutput(i, value);
  return node.result();
}

} // namespace

ArrayRef<OpRow> controlRows() {
  static constexpr OpRow rows[] = {
      {"", "Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, convertConstant},
      {"", "Dropout", {7, 10, 12, 13, 22}, convertDropout},
      {"", "Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, convertIdentity},
      {"", "If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, convertIf},
      {"com.microsoft", "BiasDropout", {1}, convertBiasDropout},
  };
  return rows;
}

} // namespace tenon
