//===- Simplify.cpp - Folding, identities, dead code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Matching.h"
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

/// cast(m) * a + cast(!m) * b -> m ? a : b, which TensorFlow's exporter writes
/// for older opsets. What is not chosen adds nothing then, NaN or not.
struct SumToSelect : OpRewritePattern<graph::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::AddOp op,
                                PatternRewriter &rewriter) const override {
    Choice lhs = choiceOf(op.getLhs()), rhs = choiceOf(op.getRhs());
    if (!lhs.condition || !rhs.condition)
      return rewriter.notifyMatchFailure(op, "no sum of two choices");
    if (negates(lhs.condition, rhs.condition))
      std::swap(lhs, rhs);
    else if (!negates(rhs.condition, lhs.condition))
      return rewriter.notifyMatchFailure(op, "not of one condition");
    auto select = graph::SelectOp::create(rewriter, op.getLoc(), lhs.condition,
                                          lhs.value, rhs.value);
    if (select.getType() != op.getType()) {
      rewriter.eraseOp(select);
      return rewriter.notifyMatchFailure(op, "sizes differ");
    }
    rewriter.replaceOp(op, select);
    return success();
  }

private:
  struct Choice {
    Value condition, value;
  };

  static Choice choiceOf(Value product) {
    auto mul = product.getDefiningOp<graph::MulOp>();
    if (!mul || !isa<FloatType>(graph::getElementType(product)))
      return {};
    for (Value factor : mul->getOperands()) {
      auto cast = factor.getDefiningOp<graph::CastOp>();
      if (cast && graph::getElementType(cast.getInput()).isInteger(1))
        return {cast.getInput(), otherOperand(mul, factor)};
    }
    return {};
  }

  static bool negates(Value condition, Value other) {
    auto negation = condition.getDefiningOp<graph::NotOp>();
    return negation && negation.getInput() == other;
  }
};

/// x + 0, x - 0, x * 1, x / 1 -> x, where x has the result's sizes. Paddle
/// writes an assignment so. A sum of zeros may have another sign then, which
/// ONNX does not speak of.
struct DropNeutral : OpTraitRewritePattern<graph::Pointwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    bool adds = isa<graph::AddOp, graph::SubOp>(op);
    if (!adds && !isa<graph::MulOp, graph::DivOp>(op))
      return rewriter.notifyMatchFailure(op, "has no neutral number");
    bool commutes = isa<graph::AddOp, graph::MulOp>(op);
    for (unsigned i = commutes ? 0 : 1; i < 2; ++i) {
      Value other = op->getOperand(1 - i);
      if (splatOf(op->getOperand(i)) != (adds ? 0.0 : 1.0) ||
          other.getType() != op->getResult(0).getType())
        continue;
      rewriter.replaceOp(op, other);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "changes what it reads");
  }
};

/// true ? x : y -> x, and false ? x : y -> y, where what is chosen has the
/// result's sizes or is one number. Attention over a constant mask has such a
/// choice for rows that see no key.
struct DropDecidedSelect : OpRewritePattern<graph::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::SelectOp op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr decision;
    if (!matchPattern(op.getCondition(), m_Constant(&decision)) ||
        !decision.isSplat())
      return rewriter.notifyMatchFailure(op, "not one decision");
    bool holds = decision.getSplatValue<bool>();
    Value chosen = holds ? op.getLhs() : op.getRhs();
    if (chosen.getType() != op.getType()) {
      DenseElementsAttr number;
      if (!matchPattern(chosen, m_Constant(&number)) || !number.isSplat())
        return rewriter.notifyMatchFailure(op, "changes sizes");
      chosen = graph::BroadcastOp::create(rewriter, op.getLoc(), op.getType(),
                                          chosen);
    }
    rewriter.replaceOp(op, chosen);
    return success();
  }
};

struct Simplify : impl::SimplifyPassBase<Simplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<DropDecidedSelect, DropImpliedBroadcast, DropNeutral,
             DropProvenRequire, MergeReshapes, SumToSelect, TransposeToReshape>(
            &getContext());
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
