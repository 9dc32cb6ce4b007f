//===- KernelDialect.cpp - Registration and verifiers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/Kernel.h"
#include "mlir/IR/DialectImplementation.h"

#include "dialects/Kernel/KernelDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Kernel/KernelOps.cpp.inc"

using namespace mlir;

namespace tenon::kernel {

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Kernel/KernelOps.cpp.inc"
      >();
}

Role roleOf(Operation *op) {
  if (graph::isPointwise(op))
    return Role::Pointwise;
  if (isa<graph::ConstantOp, graph::SizesOp, graph::IotaOp>(op))
    return Role::Constant;
  if (isa<graph::ReshapeOp, graph::BroadcastOp, graph::TransposeOp,
          graph::SliceOp, graph::ConcatOp, graph::PadOp, graph::GatherOp,
          graph::GatherElementsOp, graph::GatherNdOp, graph::RotaryOp,
          graph::WindowsOp>(op))
    return Role::Movement;
  if (isa<graph::WeightOp, graph::BindOp, graph::RequireOp, graph::IfOp,
          graph::LoopOp, graph::YieldOp>(op) ||
      !isa<graph::GraphDialect>(op->getDialect()))
    return Role::Foreign;
  return Role::Root;
}

Operation *findRoot(Block &block) {
  for (Operation &op : block.without_terminator())
    if (roleOf(&op) == Role::Root)
      return &op;
  return nullptr;
}

graph::QuantizeRowsOp quantizedRowsOf(Block &block) {
  for (auto op : block.getOps<graph::QuantizeRowsOp>())
    return op;
  return {};
}

bool givesRows(Operation *root) {
  int64_t last = graph::getRank(root->getResult(0)) - 1;
  if (auto norm = dyn_cast<graph::LayerNormOp>(root))
    return int64_t(norm.getAxis()) == last;
  auto norm = dyn_cast<graph::RmsNormOp>(root);
  return norm && int64_t(norm.getAxis()) == last;
}

namespace {

LogicalResult verifyBody(Operation *op, Block &block) {
  Operation *root = nullptr;
  for (Operation &inner : block.without_terminator()) {
    Role role = roleOf(&inner);
    if (role == Role::Foreign)
      return op->emitOpError("cannot hold '") << inner.getName() << "'";
    if (role != Role::Root)
      continue;
    if (root && isa<graph::QuantizeRowsOp>(inner) && givesRows(root))
      continue;
    if (root)
      return op->emitOpError("has two roots: '")
             << root->getName() << "' and '" << inner.getName() << "'";
    root = &inner;
  }
  if (block.getTerminator()->getNumOperands() == 0)
    return op->emitOpError("yields nothing");
  return success();
}

} // namespace

LogicalResult RegionOp::verify() {
  Block &block = getBody().front();
  if (TypeRange(block.getArgumentTypes()) != TypeRange(getOperandTypes()))
    return emitOpError("block arguments and operands differ in type");
  if (TypeRange(block.getTerminator()->getOperandTypes()) !=
      TypeRange(getResultTypes()))
    return emitOpError("yields other types than its results");
  return verifyBody(*this, block);
}

void YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult FuncOp::verify() {
  if (getGeometry().size() != 3 && getGeometry().size() != 4)
    return emitOpError("geometry is rows, grain and scratch bytes, and bytes "
                       "that all pieces share");
  if (getLayouts().size() != getBlock().getNumArguments())
    return emitOpError("needs one layout per argument");
  return verifyBody(*this, getBlock());
}

} // namespace tenon::kernel
