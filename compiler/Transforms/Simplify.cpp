//===- Simplify.cpp - Folding, identities, dead code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/SimplifyMovement.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// reshape(reshape(x)) -> reshape(x)
struct MergeReshapes : OpRewritePattern<graph::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<graph::ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no reshape");
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(),
                                                  inner.getInput());
    return success();
  }
};

/// transpose that moves only axes of size one -> reshape
struct TransposeToReshape : OpRewritePattern<graph::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    int64_t previous = -1;
    for (int64_t axis : op.getPermutation()) {
      if (graph::getDim(op.getInput(), axis).isConstant(1))
        continue;
      if (axis < previous)
        return rewriter.notifyMatchFailure(op, "elements change places");
      previous = axis;
    }
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(),
                                                  op.getInput());
    return success();
  }
};

/// add(x, broadcast(y)) -> add(x, y), where x has the result's sizes anyway
struct DropImpliedBroadcast : OpTraitRewritePattern<graph::Pointwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumOperands() < 2 || !isa<InferTypeOpInterface>(op))
      return rewriter.notifyMatchFailure(op, "does not broadcast");
    for (OpOperand &operand : op->getOpOperands()) {
      auto broadcast = operand.get().getDefiningOp<graph::BroadcastOp>();
      if (!broadcast || !isImplied(op, operand, broadcast.getInput()))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(broadcast.getInput()); });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is broadcast in vain");
  }

private:
  /// Whether the result keeps its sizes when `input` takes the operand's place.
  static bool isImplied(Operation *op, OpOperand &operand, Value input) {
    SmallVector<graph::Expr> dims;
    for (OpOperand &other : op->getOpOperands()) {
      auto merged = graph::broadcastDims(
          dims, graph::getDims(&other == &operand ? input : other.get()));
      if (!merged)
        return false;
      dims = std::move(*merged);
    }
    return dims == graph::getDims(op->getResult(0));
  }
};

/// require that holds by arithmetic -> nothing
struct DropProvenRequire : OpRewritePattern<graph::RequireOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::RequireOp op,
                                PatternRewriter &rewriter) const override {
    if (!holds(op.getSizes()[0], op.getSizes()[1], op.getRelation()))
      return rewriter.notifyMatchFailure(op, "not provable");
    rewriter.eraseOp(op);
    return success();
  }

private:
  static bool holds(graph::Expr lhs, graph::Expr rhs,
                    graph::Relation relation) {
    switch (relation) {
    case graph::Relation::Equal:
      return lhs == rhs;
    case graph::Relation::LessEqual:
      return (rhs - lhs).isNonNegative();
    case graph::Relation::Broadcasts:
      return lhs == rhs || lhs.isConstant(1) || rhs.isConstant(1);
    case graph::Relation::Divides:
      return lhs.isPositive() && bool(rhs.exactDiv(lhs));
    }
    return false;
  }
};

struct Simplify : impl::SimplifyPassBase<Simplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropImpliedBroadcast, DropProvenRequire, MergeReshapes,
                 TransposeToReshape>(&getContext());
    addMergeTransposes(patterns);
    addMovementPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableConstantCSE(true);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace
} // namespace tenon
