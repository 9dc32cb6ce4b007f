//===- Matching.cpp - What recognisers of patterns share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Matching.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

namespace tenon {

std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || elements.empty() || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool inexact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

bool isNear(double value, double expected) {
  return std::abs(value - expected) <= 1e-3 * std::abs(expected);
}

Value otherOperand(Operation *op, Value value) {
  return op->getOperand(0) == value ? op->getOperand(1) : op->getOperand(0);
}

void eraseUnused(Operation *op) {
  llvm::SetVector<Operation *> unused;
  unused.insert(op);
  while (!unused.empty()) {
    Operation *next = unused.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        unused.insert(producer);
    next->erase();
  }
}

} // namespace tenon
