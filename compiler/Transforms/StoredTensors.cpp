//===- StoredTensors.cpp - What the model holds ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon {

bool isWeightOrConstant(Value value) {
  return isa_and_nonnull<graph::WeightOp, graph::ConstantOp>(
      value.getDefiningOp());
}

const Weight *weightOf(Value value, const WeightStore &weights) {
  auto op = value.getDefiningOp<graph::WeightOp>();
  return op ? weights.lookup(op.getName()) : nullptr;
}

std::optional<reference::Tensor> tensorOf(Value value,
                                          const WeightStore &weights) {
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    return reference::Tensor::fromAttr(constant.getValue());
  const Weight *weight = weightOf(value, weights);
  if (!weight)
    return std::nullopt;
  auto tensor = reference::Tensor::fromBytes(weight->elementType, weight->shape,
                                             weight->bytes());
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return std::nullopt;
  }
  return std::move(*tensor);
}

} // namespace tenon
