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

/// gather_nd(x, i[.., 1]) -> gather(x, i)
struct GatherNdToGather : OpRewritePattern<graph::GatherNdOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::GatherNdOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<graph::Expr> dims = graph::getDims(op.getIndices());
    if (op.getBatchDims() != 0 || !dims.back().isConstant(1))
      return rewriter.notifyMatchFailure(op, "has several indices, or batches");
    dims.pop_back();
    Value indices = graph::ReshapeOp::create(
        rewriter, op.getLoc(),
        graph::tensorOf(dims, graph::getElementType(op.getIndices())),
        op.getIndices());
    rewriter.replaceOpWithNewOp<graph::GatherOp>(
        op, op.getType(), op.getInput(), indices, /*axis=*/0);
    return success();
  }
};

/// gather(w, i) * x[.., k, 1] -> x[.., 1, k] * gather(transpose(w), i), of
/// weights: those of the experts that a row has chosen are then on the right,
/// where kernels read them in place.
struct TurnPickedProduct : OpRewritePattern<graph::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto picks = op.getLhs().getDefiningOp<graph::GatherOp>();
    if (!picks || !picks->hasOneUse() || picks.getAxis() != 0 ||
        !picks.getInput().getDefiningOp<graph::WeightOp>() ||
        graph::getRank(picks.getInput()) != 3 ||
        graph::getRank(picks.getResult()) != 3)
      return rewriter.notifyMatchFailure(op, "lhs is no choice of weights");
    SmallVector<graph::Expr> factor = graph::getDims(op.getRhs());
    if (factor.size() != 3 || !factor[2].isConstant(1) ||
        graph::getDim(picks.getResult(), 1).isConstant(1))
      return rewriter.notifyMatchFailure(op, "rhs is not a column");
    Location loc = op.getLoc();
    auto swapped = [](Value value) {
      SmallVector<graph::Expr> dims = graph::getDims(value);
      std::swap(dims[1], dims[2]);
      return graph::tensorOf(dims, graph::getElementType(value));
    };
    Value row = graph::ReshapeOp::create(rewriter, loc, swapped(op.getRhs()),
                                         op.getRhs());
    Value turned = graph::TransposeOp::create(
        rewriter, picks.getLoc(), swapped(picks.getInput()), picks.getInput(),
        ArrayRef<int64_t>{0, 2, 1});
    Value picked = graph::GatherOp::create(rewriter, picks.getLoc(),
                                           swapped(picks.getResult()), turned,
                                           picks.getIndices(), picks.getAxis());
    Value product = graph::MatmulOp::create(
        rewriter, loc, swapped(op.getResult()), row, picked);
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(), product);
    return success();
  }
};

} // namespace

void addMergeTransposes(RewritePatternSet &patterns) {
  patterns.add<MergeTransposes>(patterns.getContext());
}

void addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<DropEmptyPad, GatherNdToGather, MergeSlices, TurnPickedProduct>(
      patterns.getContext());
}

} // namespace tenon
