//===- SimplifyMovement.cpp - Data movement that can be spared ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/SimplifyMovement.h"
#include "compiler/Transforms/AxisOrder.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon {
namespace {

/// pad(x) by nothing -> x
struct DropEmptyPad : OpRewritePattern<graph::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::PadOp op,
                                PatternRewriter &rewriter) const override {
    bool moves = llvm::any_of(op.getLow().exprs(), [](graph::Expr low) {
      return !low.isConstant(0);
    });
    if (moves || op.getType() != op.getInput().getType())
      return rewriter.notifyMatchFailure(op, "adds or crops");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

/// slice(slice(x)) -> slice(x)
struct MergeSlices : OpRewritePattern<graph::SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<graph::SliceOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no slice");
    SmallVector<graph::Expr> starts, steps;
    for (size_t i = 0; i < op.getStarts().size(); ++i) {
      starts.push_back(inner.getStarts()[i] +
                       op.getStarts()[i] * inner.getSteps()[i]);
      steps.push_back(inner.getSteps()[i] * op.getSteps()[i]);
      if (!starts.back() || !steps.back())
        return rewriter.notifyMatchFailure(op, "a number overflows");
    }
    rewriter.replaceOpWithNewOp<graph::SliceOp>(
        op, op.getType(), inner.getInput(),
        graph::DimsAttr::get(op.getContext(), starts),
        graph::DimsAttr::get(op.getContext(), steps));
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<graph::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<graph::TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is no transpose");
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(
        op, op.getType(), inner.getInput(),
        compose(inner.getPermutation(), op.getPermutation()));
    return success();
  }
};

} // namespace

void addMergeTransposes(RewritePatternSet &patterns) {
  patterns.add<MergeTransposes>(patterns.getContext());
}

void addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<DropEmptyPad, MergeSlices>(patterns.getContext());
}

} // namespace tenon
