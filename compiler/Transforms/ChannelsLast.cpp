//===- ChannelsLast.cpp - Convolutions keep their channels together -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each convolution gets the order that its kernels want, between two
// transposes. Transposes then go wherever that does not make more of them:
// single ones sink towards the results, and whole sets of ops take on the
// order of the transposes around them when that saves some. Sinking ends at the
// results, and each round of the latter leaves fewer transposes: this ends.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/ChannelShuffles.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Reordering.h"
#include "compiler/Transforms/SimplifyMovement.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether the image is of 8-bit numbers less a zero point, and the filter of
/// the model's.
bool convolvesBytes(graph::ConvOp op) {
  return graph::getElementType(op.getResult()).isSignlessInteger(32) &&
         kernel::integerFactorOf(op.getInput()) && isStored(op.getFilter());
}

/// conv -> transpose(conv channels_last(transpose))
struct PutChannelsLast : OpRewritePattern<graph::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ConvOp op,
                                PatternRewriter &rewriter) const override {
    int64_t rank = graph::getRank(op.getInput());
    if (op.getChannelsLast() || rank < 3 ||
        !(isa<FloatType>(graph::getElementType(op.getInput())) ||
          convolvesBytes(op)))
      return rewriter.notifyMatchFailure(op,
                                         "is done, or not of floats or bytes");
    AxisOrder order = toChannelsLast(rank);
    Value input =
        graph::TransposeOp::create(rewriter, op.getLoc(), op.getInput(), order);
    auto conv = graph::ConvOp::create(
        rewriter, op.getLoc(), reordered(op.getType(), order), input,
        op.getFilter(), op.getStrides(), op.getDilations(), op.getPads(),
        op.getGroup(), /*channels_last=*/true);
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(op, op.getType(), conv,
                                                    inverse(order));
    return success();
  }
};

/// op(transpose(x)) -> transpose(op(x)), where that makes no more of them
struct SinkTranspose : RewritePattern {
  explicit SinkTranspose(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || isa<graph::TransposeOp>(op))
      return rewriter.notifyMatchFailure(op, "has no order");
    bool grows =
        isa<graph::BroadcastOp, graph::ConcatOp, graph::PadOp, graph::ResizeOp>(
            op);
    for (Value operand : op->getOperands()) {
      auto transpose = operand.getDefiningOp<graph::TransposeOp>();
      if (!transpose || movesNothing(transpose) || isStored(operand))
        continue;
      Reordering reordering(inverse(transpose.getPermutation()));
      if (!reordering.add(op) || !reordering.onlySinks() ||
          reordering.gain() < (grows ? 1 : 0))
        continue;
      reordering.apply(rewriter);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no transpose would go");
  }
};

/// Axes [from, to) of a reshape's input that have the elements of axes
/// [begin, end) of its result.
struct AxisGroup {
  int64_t from, to, begin, end;
};

/// The finest groups; nullopt when the sizes do not tell them.
std::optional<SmallVector<AxisGroup>> groupAxes(ArrayRef<graph::Expr> input,
                                                ArrayRef<graph::Expr> result) {
  int64_t i = 0, j = 0, n = input.size(), m = result.size();
  SmallVector<AxisGroup> groups;
  while (i < n && j < m) {
    AxisGroup group = {i, i + 1, j, j + 1};
    graph::Expr lhs = input[i++], rhs = result[j++];
    while (lhs != rhs) {
      if (lhs && rhs && i < n && (lhs.isConstant(1) || rhs.exactDiv(lhs)))
        lhs = lhs * input[i++];
      else if (lhs && rhs && j < m && (rhs.isConstant(1) || lhs.exactDiv(rhs)))
        rhs = rhs * result[j++];
      else
        return std::nullopt;
    }
    group.to = i;
    group.end = j;
    groups.push_back(group);
  }
  // Only ones are left of either.
  for (; i < n; ++i)
    if (groups.empty() || !input[i].isConstant(1))
      return std::nullopt;
    else
      groups.back().to = i + 1;
  for (; j < m; ++j)
    if (groups.empty() || !result[j].isConstant(1))
      return std::nullopt;
    else
      groups.back().end = j + 1;
  return groups;
}

/// reshape(transpose(x)) -> transpose(reshape(x)), where the reshape only
/// merges axes that are neighbours in x, or splits axes
struct SinkBelowReshape : OpRewritePattern<graph::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<graph::TransposeOp>();
    if (!transpose || movesNothing(transpose) || !transpose->hasOneUse() ||
        isStored(transpose))
      return rewriter.notifyMatchFailure(op, "no transpose to move");
    SmallVector<graph::Expr> dims = graph::getDims(op.getInput());
    SmallVector<graph::Expr> result = graph::getDims(op);
    auto groups = groupAxes(dims, result);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "axes mix");
    // The axes of x, but for those of size one, group by group.
    AxisOrder order = rank(dims, transpose.getPermutation());
    SmallVector<std::pair<int64_t, size_t>> starts;
    for (auto [n, group] : llvm::enumerate(*groups)) {
      int64_t first = -1, previous = -1;
      for (int64_t axis :
           ArrayRef(order).slice(group.from, group.to - group.from)) {
        if (axis < 0)
          continue;
        if (previous >= 0 && axis != previous + 1)
          return rewriter.notifyMatchFailure(op, "merges distant axes");
        first = first < 0 ? axis : first;
        previous = axis;
      }
      starts.push_back({first, n});
    }
    llvm::sort(starts);
    SmallVector<graph::Expr> moved;
    AxisOrder back(result.size());
    for (auto [start, n] : starts)
      for (int64_t j = (*groups)[n].begin; j < (*groups)[n].end; ++j) {
        back[j] = moved.size();
        moved.push_back(result[j]);
      }
    Value reshape = graph::ReshapeOp::create(
        rewriter, op.getLoc(),
        graph::tensorOf(moved, graph::getElementType(op)),
        transpose.getInput());
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(op, op.getType(), reshape,
                                                    back);
    return success();
  }

private:
  /// Where each axis lies in x among the axes that are not of size one; -1 for
  /// those that are.
  static AxisOrder rank(ArrayRef<graph::Expr> dims,
                        ArrayRef<int64_t> permutation) {
    AxisOrder place = inverse(permutation), result(dims.size(), -1);
    int64_t next = 0;
    for (int64_t axis : place)
      if (!dims[axis].isConstant(1))
        result[axis] = next++;
    return result;
  }
};

/// transpose(reshape(transpose(x))) -> reshape(transpose(x)), where the reshape
/// only merges axes: channels that are shuffled move once
struct HoistAboveMerge : OpRewritePattern<graph::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto merge = op.getInput().getDefiningOp<graph::ReshapeOp>();
    auto inner = merge ? merge.getInput().getDefiningOp<graph::TransposeOp>()
                       : graph::TransposeOp();
    if (!inner || !merge->hasOneUse() || !inner->hasOneUse() ||
        movesNothing(op) || movesNothing(inner) || isStored(inner))
      return rewriter.notifyMatchFailure(op, "moves nothing a second time");
    SmallVector<graph::Expr> dims = graph::getDims(merge.getInput());
    auto groups = groupAxes(dims, graph::getDims(merge));
    if (!groups || llvm::any_of(*groups, [](const AxisGroup &group) {
          return group.end != group.begin + 1;
        }))
      return rewriter.notifyMatchFailure(op, "does not only merge axes");
    AxisOrder order;
    for (int64_t axis : op.getPermutation())
      for (int64_t i = (*groups)[axis].from; i < (*groups)[axis].to; ++i)
        order.push_back(i);
    Value moved = inOrder(rewriter, inner, order);
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(), moved);
    return success();
  }
};

/// matmul(reshape(transpose(x)), w) -> matmul(reshape(x), w with its rows in
/// the order of x), where the reshape flattens all axes but the first
struct ReorderRowsOfWeight : OpRewritePattern<graph::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto flat = op.getLhs().getDefiningOp<graph::ReshapeOp>();
    auto transpose = flat ? flat.getInput().getDefiningOp<graph::TransposeOp>()
                          : graph::TransposeOp();
    if (!transpose || movesNothing(transpose) || !flat->hasOneUse() ||
        !transpose->hasOneUse())
      return rewriter.notifyMatchFailure(op, "lhs is no flattened transpose");
    SmallVector<graph::Expr> dims = graph::getDims(flat.getInput());
    SmallVector<graph::Expr> rows = graph::getDims(flat);
    if (transpose.getPermutation()[0] != 0 || rows.size() != 2 ||
        dims[0] != rows[0])
      return rewriter.notifyMatchFailure(op, "the first axis is not kept");
    if (!isStored(op.getRhs()) || graph::getRank(op.getRhs()) != 2)
      return rewriter.notifyMatchFailure(op, "rhs is no weight");
    // [c h w, m] -> [c, h, w, m] -> [h, w, c, m] -> [h w c, m]
    SmallVector<graph::Expr> split(ArrayRef(dims).drop_front());
    split.push_back(graph::getDim(op.getRhs(), 1));
    AxisOrder order;
    for (int64_t axis :
         ArrayRef(inverse(transpose.getPermutation())).drop_front())
      order.push_back(axis - 1);
    order.push_back(order.size());
    Type element = graph::getElementType(op.getRhs());
    Location loc = op.getLoc();
    Value weight = graph::ReshapeOp::create(
        rewriter, loc, graph::tensorOf(split, element), op.getRhs());
    weight = graph::TransposeOp::create(rewriter, loc, weight, order);
    weight =
        graph::ReshapeOp::create(rewriter, loc, op.getRhs().getType(), weight);
    Value lhs = graph::ReshapeOp::create(rewriter, flat.getLoc(),
                                         flat.getType(), transpose.getInput());
    rewriter.replaceOpWithNewOp<graph::MatmulOp>(op, op.getType(), lhs, weight);
    return success();
  }
};

struct ChannelsLast : impl::ChannelsLastPassBase<ChannelsLast> {
  using ChannelsLastPassBase::ChannelsLastPassBase;

  void runOnOperation() override {
    bool convolves = false;
    getOperation().walk([&](graph::ConvOp) { convolves = true; });
    if (!convolves)
      return;
    gatherShuffledChannels(getOperation());
    for (size_t least = SIZE_MAX;;) {
      clean();
      SmallVector<graph::TransposeOp> rest = findTransposes();
      // A gain is an estimate: equal transposes may have been counted twice.
      if (rest.size() >= least || !reorderOneSet(rest))
        break;
      least = rest.size();
    }
    if (explain)
      remarkOnRest();
    shuffleGatheredChannels(getOperation());
  }

private:
  void clean() {
    RewritePatternSet patterns(&getContext());
    addMergeTransposes(patterns);
    patterns.add<HoistAboveMerge, PutChannelsLast, ReorderRowsOfWeight,
                 SinkBelowReshape, SinkTranspose>(&getContext());
    // Where the driver's rounds run out, the graph is right all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    // Two equal transposes would count as two.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  /// Those that move elements at run time.
  SmallVector<graph::TransposeOp> findTransposes() {
    SmallVector<graph::TransposeOp> result;
    getOperation().walk([&](graph::TransposeOp op) {
      if (!isStored(op.getInput()) && !movesNothing(op))
        result.push_back(op);
    });
    return result;
  }

  /// Reorders the ops around one transpose, if around any that saves some.
  bool reorderOneSet(ArrayRef<graph::TransposeOp> transposes) {
    using Direction = Reordering::Direction;
    for (graph::TransposeOp op : transposes)
      for (Direction direction : {Direction::Both, Direction::Down}) {
        Reordering reordering(inverse(op.getPermutation()));
        for (Operation *user : op->getUsers())
          reordering.add(user);
        reordering.grow(direction);
        if (reordering.empty() || reordering.gain() <= 0)
          continue;
        IRRewriter rewriter(&getContext());
        reordering.apply(rewriter);
        return true;
      }
    return false;
  }

  void remarkOnRest() {
    for (graph::TransposeOp op : findTransposes()) {
      Operation *producer = op.getInput().getDefiningOp();
      Operation *user = op->use_empty() ? nullptr : *op->user_begin();
      InFlightDiagnostic remark = op->emitRemark("transpose stays between ");
      if (producer)
        remark << "'" << producer->getName().getStringRef() << "'";
      else
        remark << "an input of the model";
      if (!user || user->hasTrait<OpTrait::IsTerminator>())
        remark << " and a result of the model";
      else
        remark << " and '" << user->getName().getStringRef() << "'";
      remark << ": each has the axes in an order of its own";
    }
  }
};

} // namespace
} // namespace tenon
