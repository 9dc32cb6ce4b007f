//===- FoldBatchNorm.cpp - Scales behind a convolution into its filter ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch norm arrives as (x - mean) * factor + bias with constants for each
// channel. Step by step it becomes x * factor + offset, and the factor goes
// into the filter; what is left is the bias of the convolution. The new
// constants are left to fold-constants.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// The convolution whose result, perhaps with a constant added, is `value`;
/// null when others than one op after the other read it.
graph::ConvOp convolutionOf(Value value) {
  if (!value.hasOneUse())
    return {};
  if (auto add = value.getDefiningOp<graph::AddOp>())
    for (auto [sum, offset] : {std::pair(add.getLhs(), add.getRhs()),
                               std::pair(add.getRhs(), add.getLhs())})
      if (isStored(offset) && sum.getType() == add.getType() && sum.hasOneUse())
        if (auto conv = sum.getDefiningOp<graph::ConvOp>())
          return conv;
  return value.getDefiningOp<graph::ConvOp>();
}

/// Whether a constant has one number per channel of the result, or one at all.
bool isPerChannel(Value value, graph::ConvOp conv) {
  if (!isStored(value) ||
      !isa<Float32Type, Float64Type>(graph::getElementType(value)))
    return false;
  SmallVector<graph::Expr> dims = graph::getDims(value);
  int64_t rank = graph::getRank(conv.getResult());
  int64_t channel = conv.getChannelsLast() ? rank - 1 : 1;
  int64_t missing = rank - static_cast<int64_t>(dims.size());
  if (missing < 0)
    return false;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!dim.isConstant(1) && (static_cast<int64_t>(i) + missing != channel ||
                               dim != graph::getDim(conv.getFilter(), 0)))
      return false;
  return true;
}

/// An operand that comes from a convolution, the other being a constant per
/// channel.
struct Step {
  graph::ConvOp conv;
  Value value, constant;
};

std::optional<Step> findStep(Operation *op, bool commutes = true) {
  for (unsigned i = 0; i < (commutes ? 2 : 1); ++i) {
    Value value = op->getOperand(i), constant = op->getOperand(1 - i);
    graph::ConvOp conv = convolutionOf(value);
    if (conv && isPerChannel(constant, conv) &&
        value.getType() == op->getResult(0).getType())
      return Step{conv, value, constant};
  }
  return std::nullopt;
}

/// The two operands of an addition of a constant per channel.
std::optional<Step> findOffset(Step step) {
  auto add = step.value.getDefiningOp<graph::AddOp>();
  if (!add)
    return std::nullopt;
  bool left = add.getLhs() == step.conv.getResult();
  Value offset = left ? add.getRhs() : add.getLhs();
  if (!isPerChannel(offset, step.conv))
    return std::nullopt;
  return Step{step.conv, step.conv.getResult(), offset};
}

/// conv - c -> conv + -c
struct SubtractToAdd : OpRewritePattern<graph::SubOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::SubOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Step> step = findStep(op, /*commutes=*/false);
    if (!step)
      return rewriter.notifyMatchFailure(op, "no convolution less a constant");
    Value negated = graph::NegOp::create(
        rewriter, op.getLoc(), step->constant.getType(), step->constant);
    rewriter.replaceOpWithNewOp<graph::AddOp>(op, op.getType(), step->value,
                                              negated);
    return success();
  }
};

/// (conv + b) + c -> conv + (b + c)
struct MergeOffsets : OpRewritePattern<graph::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::AddOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Step> step = findStep(op);
    std::optional<Step> inner = step ? findOffset(*step) : std::nullopt;
    if (!inner)
      return rewriter.notifyMatchFailure(op, "no two constants");
    Value sum = graph::AddOp::create(rewriter, op.getLoc(), inner->constant,
                                     step->constant);
    rewriter.replaceOpWithNewOp<graph::AddOp>(op, op.getType(), inner->value,
                                              sum);
    return success();
  }
};

/// (conv + b) * c -> conv * c + b * c
struct DistributeFactor : OpRewritePattern<graph::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::MulOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Step> step = findStep(op);
    std::optional<Step> inner = step ? findOffset(*step) : std::nullopt;
    if (!inner)
      return rewriter.notifyMatchFailure(op, "no constant below the factor");
    Value product = graph::MulOp::create(rewriter, op.getLoc(), op.getType(),
                                         inner->value, step->constant);
    Value offset = graph::MulOp::create(rewriter, op.getLoc(), inner->constant,
                                        step->constant);
    rewriter.replaceOpWithNewOp<graph::AddOp>(op, op.getType(), product,
                                              offset);
    return success();
  }
};

/// conv(x, w) * c -> conv(x, w * c)
struct ScaleFilter : OpRewritePattern<graph::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::MulOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Step> step = findStep(op);
    if (!step || step->value != step->conv.getResult())
      return rewriter.notifyMatchFailure(op, "no convolution by a factor");
    graph::ConvOp conv = step->conv;
    if (isInFewBits(conv.getInput()))
      return rewriter.notifyMatchFailure(op, "its numbers are in few bits");
    std::optional<int64_t> size =
        graph::elementCount(conv.getFilter()).asConstant();
    if (!isStored(conv.getFilter()) || !size || *size > mostFoldedElements)
      return rewriter.notifyMatchFailure(op, "filter is large, or no weight");
    SmallVector<graph::Expr> dims(graph::getRank(conv.getFilter()),
                                  graph::Expr::constant(op.getContext(), 1));
    dims[0] = graph::elementCount(step->constant);
    Location loc = op.getLoc();
    Value factor = graph::ReshapeOp::create(
        rewriter, loc, graph::tensorOf(dims, graph::getElementType(op)),
        step->constant);
    Value filter =
        graph::MulOp::create(rewriter, loc, conv.getFilter(), factor);
    rewriter.replaceOpWithNewOp<graph::ConvOp>(
        op, op.getType(), conv.getInput(), filter, conv.getStrides(),
        conv.getDilations(), conv.getPads(), conv.getGroup(),
        conv.getChannelsLast());
    return success();
  }
};

struct FoldBatchNorm : impl::FoldBatchNormPassBase<FoldBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DistributeFactor, MergeOffsets, ScaleFilter, SubtractToAdd>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace tenon
