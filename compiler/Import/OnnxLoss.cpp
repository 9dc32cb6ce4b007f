//===- OnnxLoss.cpp - Losses, which are plain tensor functions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// The loss of each example: `logs` [N, C, d..] are log probabilities, classes
/// [N, d..] says which of them counts, and weights [C] how much.
struct Picked {
  Value loss;   // [N, d..]
  Value weight; // The same dims; null when every example weighs one.
};

Picked pickClasses(NodeConverter &node, Value logs, Value classes,
                   Value weights) {
  Exprs dims = node.dimsOf(logs), places = node.dimsOf(classes);
  if (node.failed())
    return {};
  if (dims.size() < 2 || places.size() + 1 != dims.size()) {
    (void)node.invalid("its labels must have the rank of its scores less one");
    return {};
  }
  Type element = node.elementOf(logs), i64 = node.integer(64);
  Value index = node.cast(classes, i64);
  Value isIgnored;
  if (node.hasAttr("ignore_index")) {
    Value ignored =
        node.constant(i64, {}, double(node.intAttr("ignore_index", 0)));
    isIgnored = node.emit<graph::EqualOp>({index, ignored});
    // Ignored labels may lie outside of the classes.
    index = node.select(isIgnored, node.scalar(i64, 0), index);
  }
  Value column = node.unsqueeze(index, 1);
  Value chosen =
      node.emit<graph::GatherElementsOp>({logs, column}, node.i64("axis", 1));
  Picked picked;
  picked.loss = node.emit<graph::NegOp>(node.squeeze(chosen, 1));
  if (weights)
    picked.weight = node.gather(weights, index);
  if (isIgnored) {
    Value one = node.scalar(element, 1), zero = node.scalar(element, 0);
    picked.weight =
        node.select(isIgnored, zero, picked.weight ? picked.weight : one);
  }
  if (picked.weight)
    picked.loss = node.mul(picked.loss, picked.weight);
  return picked;
}

/// All losses together, as `reduction` says.
Value reduceLoss(NodeConverter &node, const Picked &picked) {
  std::string reduction = node.stringAttr("reduction", "mean");
  auto axes =
      llvm::to_vector(llvm::seq<int64_t>(0, node.dimsOf(picked.loss).size()));
  if (reduction == "none")
    return picked.loss;
  if (reduction == "mean" && !picked.weight)
    return node.reduce(picked.loss, axes, graph::ReduceKind::Mean, false);
  Value sum = node.reduce(picked.loss, axes, graph::ReduceKind::Sum, false);
  if (reduction == "sum")
    return sum;
  if (reduction != "mean")
    (void)node.invalid("has the unknown reduction '" + reduction + "'");
  if (node.failed())
    return {};
  Value weight = node.broadcast(picked.weight, node.dimsOf(picked.loss));
  return node.div(sum,
                  node.reduce(weight, axes, graph::ReduceKind::Sum, false));
}

LogicalResult convertNegativeLogLikelihood(NodeConverter &node) {
  Picked picked =
      pickClasses(node, node.input(0), node.input(1), node.optionalInput(2));
  return node.output(reduceLoss(node, picked));
}

LogicalResult convertSoftmaxCrossEntropy(NodeConverter &node) {
  Value scores = node.input(0);
  if (!node.failed() && graph::getRank(scores) < 2)
    return node.invalid("its scores must have rank 2 or more");
  Value logs = node.emit<graph::LogSoftmaxOp>(scores, node.i64("axis", 1));
  Picked picked = pickClasses(node, logs, node.input(1), node.optionalInput(2));
  node.setOutput(0, reduceLoss(node, picked));
  node.setOutput(1, logs);
  return node.result();
}

} // namespace

ArrayRef<OpRow> lossRows() {
  static constexpr OpRow rows[] = {
      {"",
       "NegativeLogLikelihoodLoss",
       {12, 13, 22},
       convertNegativeLogLikelihood},
      {"", "SoftmaxCrossEntropyLoss", {12, 13}, convertSoftmaxCrossEntropy},
  };
  return rows;
}

} // namespace tenon
