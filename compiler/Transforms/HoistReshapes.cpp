//===- HoistReshapes.cpp - Products meet what follows them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters flatten the rows of a product and give them their axes back behind
// it. A kernel computes what follows only where it sees the same sizes, so the
// product takes the axes that its users have.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RowMoves.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTRESHAPESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// A matmul and the pointwise ops behind it, up to a reshape. Where such an op
/// has several operands, one of them comes from the product.
class Chain {
public:
  explicit Chain(graph::ReshapeOp end)
      : end(end), from(graph::getDims(end.getInput())),
        to(graph::getDims(end.getResult())) {
    find(end.getInput());
  }

  /// Whether a product is at the start.
  bool reachesProduct() const { return product != nullptr; }

  /// Why the reshape has to stay where it is.
  std::optional<StringRef> refusal() {
    if (to.size() < 2 || from.back() != to.back())
      return "it changes the last axis";
    if (graph::getRank(product.getRhs()) != 2)
      return "the product has several matrices";
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (op != product && !isAlike(operand) && !repeatsPerRow(operand))
          return "an operand is broadcast along an axis that it changes";
    return std::nullopt;
  }

  void rewrite() {
    OpBuilder builder(end);
    end.getResult().replaceAllUsesWith(moved(builder, end.getInput()));
    eraseUnused(end);
  }

private:
  /// Collects the ops down to a product; each has one use, so none is visited
  /// twice.
  bool find(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasOneUse() || op->getBlock() != end->getBlock())
      return false;
    ops.push_back(op);
    if ((product = dyn_cast<graph::MatmulOp>(op)))
      return true;
    if (graph::isPointwise(op) && llvm::any_of(op->getOperands(), [&](Value x) {
          return isAlike(x) && find(x);
        }))
      return true;
    ops.pop_back();
    return false;
  }

  bool isAlike(Value value) const { return graph::getDims(value) == from; }

  Value moved(OpBuilder &builder, Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !llvm::is_contained(ops, op))
      return reshapeRows(builder, value, to);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (op != product) {
        operands.push_back(isAlike(operand) ? moved(builder, operand)
                                            : asOneRow(builder, operand));
        continue;
      }
      Exprs dims = to;
      dims.back() = graph::getDims(operand).back();
      operands.push_back(operands.empty() ? reshapeRows(builder, operand, dims)
                                          : operand);
    }
    RankedTensorType type = graph::tensorOf(to, graph::getElementType(value));
    OperationState state(op->getLoc(), op->getName(), operands, {type},
                         op->getAttrs());
    return builder.create(state)->getResult(0);
  }

  graph::ReshapeOp end;
  Exprs from, to;
  graph::MatmulOp product;
  SmallVector<Operation *> ops; // From the last one to the product.
};

struct HoistReshapes : impl::HoistReshapesPassBase<HoistReshapes> {
  using HoistReshapesPassBase::HoistReshapesPassBase;

  void runOnOperation() override {
    SmallVector<graph::ReshapeOp> all;
    getOperation().walk([&](graph::ReshapeOp op) {
      if (llvm::any_of(op->getUsers(), graph::isPointwise))
        all.push_back(op);
    });
    for (graph::ReshapeOp op : all) {
      Chain chain(op);
      if (!chain.reachesProduct())
        continue;
      std::optional<StringRef> why = chain.refusal();
      if (!why)
        chain.rewrite();
      else if (explain)
        op.emitRemark("stays between a product and what follows it: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
