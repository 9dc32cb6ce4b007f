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

/// Whether `second` begins along an axis where `first`, of the same tensor,
/// ends, and both take all elements between.
bool goesOn(graph::SliceOp first, graph::SliceOp second, uint64_t axis) {
  if (first.getInput() != second.getInput())
    return false;
  for (size_t i = 0; i < first.getStarts().size(); ++i) {
    graph::Expr start = first.getStarts()[i];
    if (i == axis)
      start = start + graph::getDim(first.getResult(), i);
    if (!start || second.getStarts()[i] != start ||
        first.getSteps()[i] != second.getSteps()[i] ||
        (i == axis && !first.getSteps()[i].isConstant(1)))
      return false;
  }
  return true;
}

/// concat(x[..i], x[i..j]) -> x[..j]
struct JoinSlices : OpRewritePattern<graph::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    graph::SliceOp last; // The one that the last of them is.
    uint64_t axis = op.getAxis();
    for (Value input : op.getInputs()) {
      auto slice = input.getDefiningOp<graph::SliceOp>();
      if (slice && last && goesOn(last, slice, axis)) {
        SmallVector<graph::Expr> dims = graph::getDims(last.getResult());
        dims[axis] = dims[axis] + graph::getDim(input, axis);
        if (!dims[axis])
          return rewriter.notifyMatchFailure(op, "a size overflows");
        last = graph::SliceOp::create(
            rewriter, op.getLoc(),
            graph::tensorOf(dims, graph::getElementType(input)),
            last.getInput(), last.getStartsAttr(), last.getStepsAttr());
        inputs.back() = last.getResult();
        continue;
      }
      inputs.push_back(input);
      last = slice;
    }
    if (inputs.size() == op.getInputs().size())
      return rewriter.notifyMatchFailure(op, "no slice goes on in the next");
    rewriter.replaceOpWithNewOp<graph::ConcatOp>(op, op.getType(), inputs,
                                                 op.getAxis());
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
  patterns.add<DropEmptyPad, GatherNdToGather, JoinSlices, MergeSlices,
               TurnPickedProduct>(patterns.getContext());
}

} // namespace tenon
