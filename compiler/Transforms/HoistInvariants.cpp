//===- HoistInvariants.cpp - What every step of a loop would compute ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder that stops by itself projects its encoder's output in each step.
// What depends on nothing that a step changes is computed in front of the loop,
// with the views that it reads through. A view alone costs nothing and stays.
// Paddle's loops hand on all that they read, which is read from outside then.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether it is work, and can be done also where the loop has no step.
bool isWork(Operation *op) {
  if (isa<graph::MatmulOp, graph::ConvOp, graph::LayerNormOp, graph::RmsNormOp,
          graph::SoftmaxOp, graph::ConcatOp, graph::PadOp>(op))
    return true;
  bool mayFault = isa<graph::DivOp, graph::ModOp, graph::FmodOp>(op) &&
                  !isa<FloatType>(graph::getElementType(op->getOperand(0)));
  return graph::isPointwise(op) && !mayFault;
}

bool isView(Operation *op) {
  return isa<graph::ReshapeOp, graph::BroadcastOp, graph::TransposeOp,
             graph::SliceOp, graph::ConstantOp, graph::SizesOp, graph::IotaOp,
             graph::WeightOp>(op);
}

void forEachSymbol(Type type, llvm::function_ref<void(StringRef)> found) {
  for (graph::Expr dim : graph::getDims(type))
    dim.forEachSymbol([&](graph::Expr symbol) { found(symbol.name()); });
}

/// The symbols in an op's attributes, and in the types that it reads and gives.
void forEachSymbol(Operation *op, llvm::function_ref<void(StringRef)> found) {
  for (NamedAttribute attr : op->getAttrs())
    if (auto dims = dyn_cast<graph::DimsAttr>(attr.getValue()))
      for (graph::Expr expr : dims.exprs())
        expr.forEachSymbol([&](graph::Expr symbol) { found(symbol.name()); });
  for (Type type : op->getOperandTypes())
    forEachSymbol(type, found);
  for (Type type : op->getResultTypes())
    forEachSymbol(type, found);
}

/// Reads from outside what each step hands on as it is.
void dropKept(graph::LoopOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<Value> init = llvm::to_vector(loop.getInit());
  llvm::BitVector kept(init.size());
  for (auto [i, state] : llvm::enumerate(body.getArguments()))
    if (loop.getNextState()[i] == state &&
        state.getType() == init[i].getType() &&
        loop.getLastState()[i].getType() == state.getType()) {
      kept.set(i);
      state.replaceAllUsesWith(init[i]);
      loop.getLastState()[i].replaceAllUsesWith(init[i]);
    }
  if (kept.none())
    return;
  SmallVector<Value> left = {loop.getCondition()};
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(init))
    if (!kept[i])
      left.push_back(value);
  for (OpResult result : loop->getResults())
    if (result.getResultNumber() >= kept.size() ||
        !kept[result.getResultNumber()])
      types.push_back(result.getType());
  OperationState made(loop.getLoc(), loop->getName());
  made.addOperands(left);
  made.addAttributes(loop->getAttrs());
  made.addTypes(types);
  made.addRegion()->takeBody(loop.getBody());
  body.eraseArguments(kept);
  for (unsigned i : llvm::reverse(llvm::to_vector(kept.set_bits())))
    body.getTerminator()->eraseOperand(1 + i);
  Operation *now = OpBuilder(loop).create(made);
  auto results = now->result_begin();
  for (OpResult result : loop->getResults())
    if (result.getResultNumber() >= kept.size() ||
        !kept[result.getResultNumber()])
      result.replaceAllUsesWith(*results++);
  loop.erase();
}

class Hoisting {
public:
  explicit Hoisting(graph::LoopOp loop) : loop(loop) {
    changing.insert(loop.getStep());
    for (Value state : loop.getBody().getArguments())
      addOwn(state.getType());
    loop.getBody().walk([&](Operation *op) {
      if (auto bind = dyn_cast<graph::BindOp>(op))
        for (auto symbol : bind.getSymbols().getAsRange<StringAttr>())
          changing.insert(symbol.getValue());
      if (isa<graph::IfOp, graph::LoopOp>(op))
        for (Type type : op->getResultTypes())
          addOwn(type);
    });
  }

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : loop.getBody().front().without_terminator()) {
      // What a step requires of sizes holds behind that alone.
      if (isa<graph::RequireOp>(op))
        forEachSymbol(&op, [&](StringRef name) { changing.insert(name); });
      else if (isInvariant(&op))
        invariant.insert(&op);
      if (isWork(&op) && invariant.contains(&op))
        ops.push_back(&op);
    }
    for (Operation *op : ops)
      hoist(op);
  }

private:
  /// Notes symbols that are not of outside, or may not be.
  void addOwn(Type type) {
    for (graph::Expr dim : graph::getDims(type))
      if (dim.isSymbol() && !isOfInit(dim))
        changing.insert(dim.name());
  }

  bool isOfInit(graph::Expr dim) {
    return llvm::any_of(loop.getInit(), [&](Value init) {
      return llvm::is_contained(graph::getDims(init), dim);
    });
  }

  bool isInside(Value value) {
    return loop.getBody().isAncestor(value.getParentRegion());
  }

  bool isInvariant(Operation *op) {
    if (!isWork(op) && !isView(op))
      return false;
    for (Value operand : op->getOperands())
      if (isInside(operand) && !invariant.contains(operand.getDefiningOp()))
        return false;
    bool changes = false;
    forEachSymbol(op, [&](StringRef name) {
      changes = changes || changing.contains(name);
    });
    return !changes;
  }

  void hoist(Operation *op) {
    if (!loop.getBody().isAncestor(op->getParentRegion()))
      return;
    for (Value operand : op->getOperands())
      if (isInside(operand))
        hoist(operand.getDefiningOp());
    op->moveBefore(loop);
  }

  graph::LoopOp loop;
  llvm::StringSet<> changing;
  llvm::SetVector<Operation *> invariant;
};

struct HoistInvariants : impl::HoistInvariantsPassBase<HoistInvariants> {
  void runOnOperation() override {
    // Inner loops first: what they give up may leave outer ones, too.
    SmallVector<graph::LoopOp> loops;
    getOperation().walk([&](graph::LoopOp loop) { loops.push_back(loop); });
    for (graph::LoopOp loop : loops)
      dropKept(loop);
    getOperation().walk([](graph::LoopOp loop) { Hoisting(loop).run(); });
  }
};

} // namespace
} // namespace tenon
