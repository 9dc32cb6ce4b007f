//===- KernelDialect.cpp - Registration and verifiers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/Kernel.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"
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

/// Whether the sums of a root wait elsewhere than in the result until all of
/// them are there.
static bool sumsWaitElsewhere(FuncOp function, Operation *root) {
  if (auto conv = dyn_cast<graph::ConvOp>(root)) {
    // Tiles have them on the stack. PackedConv's wait in the result if it has
    // room for them, but for those of pairs that are of one block.
    if (function.getSchedule() != "PackedConv")
      return true;
    Value yielded = function.getYielded()[0];
    ConvDepth depth(conv);
    return !graph::getElementType(yielded).isF32() ||
           (depth.hasPairs && depth.isOneBlock());
  }
  if (function.getSchedule().ends_with("Int8")) // Of one block.
    return true;
  auto matmul = dyn_cast<graph::MatmulOp>(root);
  std::optional<MatmulView> view =
      matmul ? matmulViewOf(matmul) : std::optional<MatmulView>();
  if (!view || view->halves || view->skipped || view->turn)
    return false;
  // Those of several blocks of k wait in the result.
  std::optional<int64_t> depth = view->depth.asConstant();
  return depth && *depth <= blockDepth(depth);
}

/// Whether a value is read, element by element, only to join what is `behind`
/// the root, perhaps in another form.
static bool joins(Value value,
                  const llvm::SmallPtrSetImpl<Operation *> &behind) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return graph::isPointwise(user) &&
           graph::getDims(user->getResult(0)) == graph::getDims(value) &&
           (behind.contains(user) || joins(user->getResult(0), behind));
  });
}

/// Whether a kernel reads an argument only to join it, element by element, to
/// the sums of its root: then each element of the result is stored behind the
/// last read of that place.
static bool joinsSums(FuncOp function, BlockArgument argument) {
  Block &block = function.getBlock();
  Operation *root = findRoot(block);
  if (!root || !sumsWaitElsewhere(function, root))
    return false;
  llvm::SmallPtrSet<Operation *, 8> behind = {root};
  for (Operation &op : block.without_terminator())
    if ((graph::isPointwise(&op) || isa<graph::ReshapeOp>(op)) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      behind.insert(&op);
  return joins(argument, behind);
}

bool mayOverwrite(FuncOp function, unsigned index) {
  Block &block = function.getBlock();
  if (block.getTerminator()->getNumOperands() != 1 ||
      index >= block.getNumArguments())
    return false;
  BlockArgument argument = block.getArgument(index);
  Value result = block.getTerminator()->getOperand(0);
  constexpr StringRef joining[] = {"PackedMatmul",   "PackedMatmulInt8",
                                   "BatchedMatmul",  "BatchedMatmulInt8",
                                   "DirectConv",     "PackedConv",
                                   "LineConv",       "WinogradPairs",
                                   "PackedConvInt8", "LineConvInt8"};
  if (llvm::is_contained(joining, function.getSchedule()))
    return graph::elementCount(argument) == graph::elementCount(result) &&
           graph::getElementType(argument) == graph::getElementType(result) &&
           joinsSums(function, argument);
  // What lies in a buffer stays there when more is appended.
  if (auto append = result.getDefiningOp<graph::AppendOp>())
    return append.getBuffer() == argument && argument.hasOneUse() &&
           argument.getType() == result.getType();
  // What a scatter begins with is where it goes on.
  if (Operation *root = result.getDefiningOp();
      isa_and_present<graph::ScatterElementsOp, graph::ScatterNdOp>(root) &&
      root->getOperand(0) == argument)
    return argument.hasOneUse();
  // Of a row, the last pass over its elements stores them.
  bool goesByRows = function.getSchedule() == "RowProgram";
  for (Operation &op : block.without_terminator()) {
    bool keepsPlaces =
        roleOf(&op) == Role::Pointwise || isa<graph::ConstantOp>(op) ||
        (goesByRows &&
         isa<graph::LayerNormOp, graph::RmsNormOp, graph::SoftmaxOp>(op));
    if (!keepsPlaces)
      return false;
  }
  return graph::getDims(argument) == graph::getDims(result) &&
         graph::byteWidth(graph::getElementType(argument)) ==
             graph::byteWidth(graph::getElementType(result));
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
