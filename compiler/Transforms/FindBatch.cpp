//===- FindBatch.cpp - What counts independent items ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where results depend on an item of a batch by that item alone, a program may
// run some of the items, then the next ones: what it has in memory at a time is
// less, and stays in caches (decision 63). Whether that is so is a property of
// the function, which holds whatever becomes of its ops. It is looked for where
// the ops are those that kernels are made of.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/BatchAxes.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FINDBATCHPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;

/// The symbols that the first axis of an input is.
SmallVector<Expr> candidatesOf(func::FuncOp function) {
  SmallVector<Expr> found;
  for (Value input : function.getArguments())
    if (graph::getRank(input) > 0)
      if (Expr first = graph::getDim(input, 0);
          first.isSymbol() && !llvm::is_contained(found, first))
        found.push_back(first);
  return found;
}

/// Inputs and outputs that have room for more than they hold, as caches do:
/// what an app keeps there lies as it does.
bool hasRoom(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "graph.dims"))
      return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "graph.dims"))
      return true;
  return false;
}

/// What keeps the items from being run apart; null when nothing does.
Operation *findObstacle(func::FuncOp function, BatchAxes &axes) {
  for (Value input : function.getArguments())
    if (!axes.addInput(input))
      return function;
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (!axes.add(&op))
      return &op;
  Operation *end = block.getTerminator();
  return llvm::all_of(end->getOperands(),
                      [&](Value result) { return axes.isInOrder(result); })
             ? nullptr
             : end;
}

struct FindBatch : impl::FindBatchPassBase<FindBatch> {
  using FindBatchPassBase::FindBatchPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (hasRoom(function)) {
      if (explain)
        emitRemark(UnknownLoc::get(&getContext()))
            << "a batch runs at once: caches lie as an app keeps them";
      return;
    }
    for (Expr items : candidatesOf(function)) {
      BatchAxes axes(items);
      function.walk([&](graph::RequireOp op) { axes.addLonger(op); });
      Operation *obstacle = findObstacle(function, axes);
      if (!obstacle)
        return mark(axes.counted());
      if (explain)
        explainTo(obstacle, items);
    }
  }

  void mark(ArrayRef<Expr> counted) {
    Builder builder(&getContext());
    SmallVector<StringRef> names;
    for (Expr symbol : counted)
      names.push_back(symbol.name());
    getOperation()->setAttr("graph.batch", builder.getStrArrayAttr(names));
  }

  void explainTo(Operation *op, Expr items) {
    bool isOfNode = !isa<func::FuncOp, func::ReturnOp>(op);
    InFlightDiagnostic remark =
        emitRemark(isOfNode ? op->getLoc() : UnknownLoc::get(&getContext()));
    remark << "all of " << items.name() << " runs at once: ";
    if (isa<func::FuncOp>(op))
      remark << "in an input it is not the first axis alone";
    else if (isa<func::ReturnOp>(op))
      remark << "in an output it is not the first axis";
    else
      remark << op->getName().getStringRef().drop_front(strlen("graph."))
             << " is not known to keep apart what that counts";
  }
};

} // namespace
} // namespace tenon
