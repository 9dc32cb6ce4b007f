//===- Matching.cpp - What recognisers of patterns share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/StoredTensors.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

namespace tenon {

bool isNear(double value, double expected) {
  return std::abs(value - expected) <= 1e-3 * std::abs(expected);
}

Value scalarOf(OpBuilder &builder, Location loc, TypedAttr value) {
  Attribute element = value;
  auto data = DenseElementsAttr::get(RankedTensorType::get({}, value.getType()),
                                     ArrayRef(element));
  return graph::ConstantOp::create(builder, loc, data.getType(), data);
}

Value soleInputOf(Operation *op) {
  if (!graph::isPointwise(op) ||
      llvm::count_if(op->getOperands(), isWeightOrConstant) + 1 !=
          op->getNumOperands())
    return {};
  return *llvm::find_if_not(op->getOperands(), isWeightOrConstant);
}

Operation *makerOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (op) {
    Value input = soleInputOf(op);
    if (!input)
      return op;
    op = input.hasOneUse() ? input.getDefiningOp() : nullptr;
  }
  return nullptr;
}

Value otherOperand(Operation *op, Value value) {
  return op->getOperand(0) == value ? op->getOperand(1) : op->getOperand(0);
}

llvm::SetVector<Operation *> pointwiseTree(Operation *end) {
  constexpr size_t maxOps = 16;
  SmallVector<graph::Expr> dims = graph::getDims(end->getResult(0));
  llvm::SetVector<Operation *> ops;
  ops.insert(end);
  auto belongs = [&](Operation *op) {
    return op && graph::isPointwise(op) && op->getNumResults() == 1 &&
           op->getBlock() == end->getBlock() &&
           graph::getDims(op->getResult(0)) == dims &&
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return ops.contains(user); });
  };
  // Again while one operand lets another one in: x * f(x).
  for (size_t before = 0; before != ops.size() && ops.size() < maxOps;) {
    before = ops.size();
    for (size_t i = 0; i < ops.size(); ++i)
      for (Value operand : ops[i]->getOperands())
        if (belongs(operand.getDefiningOp()))
          ops.insert(operand.getDefiningOp());
  }
  return ops;
}

Value castTo(OpBuilder &builder, Location loc, Value value, Type element) {
  return graph::CastOp::create(
      builder, loc, graph::tensorOf(graph::getDims(value), element), value);
}

Value firstOf(OpBuilder &builder, Location loc, Value value, Type type) {
  auto everywhere = [&](int64_t number) {
    SmallVector<graph::Expr> exprs(
        size_t(graph::getRank(value)),
        graph::Expr::constant(builder.getContext(), number));
    return graph::DimsAttr::get(builder.getContext(), exprs);
  };
  return graph::SliceOp::create(builder, loc, type, value, everywhere(0),
                                everywhere(1));
}

Value throughViews(OpBuilder &builder, ArrayRef<Operation *> views,
                   Value value) {
  Type element = graph::getElementType(value);
  for (Operation *view : llvm::reverse(views)) {
    Operation *copy = builder.clone(*view);
    copy->setOperand(0, value);
    value = copy->getResult(0);
    value.setType(graph::tensorOf(graph::getDims(value), element));
  }
  return value;
}

std::string nodeOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string name = nodeOf(part); !name.empty())
        return name;
  return "";
}

bool isGiven(Value memory) {
  Operation *producer = memory.getDefiningOp();
  return !producer || isa<graph::AppendOp, graph::ConcatOp>(producer);
}

bool hasFewProducts(graph::ConvOp op) {
  constexpr int64_t fewest = int64_t(1) << 20; // A matter of a microsecond.
  int64_t products =
      cast<ShapedType>(op.getFilter().getType()).getNumElements();
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  for (graph::Expr dim : ArrayRef(dims).drop_front().drop_back()) {
    std::optional<int64_t> size = dim.asConstant();
    if (!size || products >= fewest)
      return false;
    products *= *size;
  }
  return products < fewest;
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
