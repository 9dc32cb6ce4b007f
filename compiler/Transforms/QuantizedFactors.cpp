//===- QuantizedFactors.cpp - Operands of products of integers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/QuantizedFactors.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/StridedView.h"

using namespace mlir;

namespace tenon {

bool isByte(Value value) {
  auto type = dyn_cast<IntegerType>(graph::getElementType(value));
  return type && type.getWidth() == 8;
}

bool areBytesInMemory(Value value, const WeightStore &weights) {
  auto op = value.getDefiningOp<graph::WeightOp>();
  const Weight *weight = op ? weights.lookup(op.getName()) : nullptr;
  return isByte(value) && (!weight || elementBytes(weight->elementType) == 1);
}

bool isZero(Value value, const WeightStore &weights) {
  if (!isa<IntegerType>(graph::getElementType(value)))
    return false;
  std::optional<reference::Tensor> numbers = tensorOf(value, weights);
  if (!numbers)
    return false;
  std::vector<char> bytes = numbers->toBytes();
  return llvm::all_of(bytes, [](char byte) { return byte == 0; });
}

SmallVector<Operation *> viewsBehind(Value &value) {
  SmallVector<Operation *> views;
  for (Operation *op = value.getDefiningOp(); op && kernel::isViewOp(op);
       op = value.getDefiningOp()) {
    views.push_back(op);
    value = op->getOperand(0);
  }
  return views;
}

Value asScalar(OpBuilder &builder, Value value) {
  if (graph::getRank(value) == 0)
    return value;
  Type type = graph::tensorOf({}, graph::getElementType(value));
  return graph::ReshapeOp::create(builder, value.getLoc(), type, value);
}

QuantizedFactor QuantizedFactor::of(graph::DequantizeOp op,
                                    const WeightStore &weights) {
  Value zero = op.getZeroPoint();
  return {op.getInput(), isZero(zero, weights) ? Value() : zero, op.getScale()};
}

Value QuantizedFactor::centered(OpBuilder &builder, Location loc) const {
  Type i32 = builder.getI32Type();
  Value wide = castTo(builder, loc, numbers, i32);
  if (!zero)
    return wide;
  return graph::SubOp::create(builder, loc, wide.getType(), wide,
                              castTo(builder, loc, zero, i32));
}

void lowerViews(OpOperand &operand) {
  Value value = operand.get();
  SmallVector<Operation *> views = viewsBehind(value);
  QuantizedFactor found = {};
  if (auto sub = value.getDefiningOp<graph::SubOp>()) {
    found.zero = sub.getRhs();
    if (graph::getDims(sub.getLhs()) != graph::getDims(value))
      return;
    value = sub.getLhs();
  }
  auto cast = value.getDefiningOp<graph::CastOp>();
  if (views.empty() || !cast || !isByte(cast.getInput()) ||
      (found.zero && !graph::isOneNumber(found.zero)))
    return;
  OpBuilder builder(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  Value wide =
      castTo(builder, loc, throughViews(builder, views, cast.getInput()),
             builder.getI32Type());
  if (found.zero)
    wide = graph::SubOp::create(builder, loc, wide.getType(), wide,
                                asScalar(builder, found.zero));
  Operation *before = operand.get().getDefiningOp();
  operand.set(wide);
  eraseUnused(before);
}

} // namespace tenon
