//===- HoistSlices.cpp - Compute only the rows that are read --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifiers read one row of their last layer. A slice moves above the op
// that it reads when nothing else reads that, so that the op has less to do.
// Causal convolutions have a border on both sides, and what the one behind adds
// is cut off again: that border need not be there.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTSLICESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// What a slice does to each axis.
struct Cut {
  graph::Expr start, step, size;
  bool whole; // Does nothing.
};
using Cuts = SmallVector<Cut>;

Cuts cutsOf(graph::SliceOp op) {
  Cuts cuts;
  for (int64_t i = 0; i < graph::getRank(op); ++i) {
    Cut cut = {op.getStarts()[i], op.getSteps()[i], graph::getDim(op, i),
               false};
    cut.whole = cut.start.isConstant(0) && cut.step.isConstant(1) &&
                cut.size == graph::getDim(op.getInput(), i);
    cuts.push_back(cut);
  }
  return cuts;
}

Cut wholeAxis(graph::Expr size) {
  return {graph::Expr::constant(size.getContext(), 0),
          graph::Expr::constant(size.getContext(), 1), size, true};
}

Value cutValue(OpBuilder &builder, Value value, ArrayRef<Cut> cuts) {
  if (llvm::all_of(cuts, [](const Cut &cut) { return cut.whole; }))
    return value;
  SmallVector<graph::Expr> starts, steps, sizes;
  for (const Cut &cut : cuts) {
    starts.push_back(cut.start);
    steps.push_back(cut.step);
    sizes.push_back(cut.size);
  }
  MLIRContext *context = value.getContext();
  return graph::SliceOp::create(
      builder, value.getLoc(),
      graph::tensorOf(sizes, graph::getElementType(value)), value,
      graph::DimsAttr::get(context, starts),
      graph::DimsAttr::get(context, steps));
}

/// Whether the axes from `from` on are whole.
bool wholeFrom(ArrayRef<Cut> cuts, int64_t from) {
  return llvm::all_of(cuts.drop_front(from),
                      [](const Cut &cut) { return cut.whole; });
}

/// The cuts of a pointwise op's operand; nullopt when it is not clear whether
/// it is broadcast along a cut axis.
std::optional<Cuts> cutsOfOperand(Operation *op, Value operand,
                                  ArrayRef<Cut> cuts) {
  SmallVector<graph::Expr> dims = graph::getDims(operand);
  SmallVector<graph::Expr> result = graph::getDims(op->getResult(0));
  size_t missing = result.size() - dims.size();
  Cuts list;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Cut &cut = cuts[missing + i];
    if (cut.whole || (dims[i].isConstant(1) && dims[i] != result[missing + i]))
      list.push_back(wholeAxis(dims[i]));
    else if (dims[i] == result[missing + i])
      list.push_back(cut);
    else
      return std::nullopt;
  }
  return list;
}

/// The cuts of each operand; empty when the op cannot be cut.
SmallVector<Cuts> cutsOfOperands(Operation *op, ArrayRef<Cut> cuts) {
  SmallVector<Cuts> result;
  auto first = [&](bool can) {
    if (can)
      result.push_back(Cuts(cuts));
  };
  int64_t rank = cuts.size();
  if (graph::isPointwise(op)) {
    for (Value operand : op->getOperands()) {
      std::optional<Cuts> list = cutsOfOperand(op, operand, cuts);
      if (!list)
        return {};
      result.push_back(*list);
    }
    return result;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<graph::LayerNormOp, graph::RmsNormOp>(
          [&](auto each) { first(wholeFrom(cuts, each.getAxis())); })
      .Case<graph::SoftmaxOp, graph::LogSoftmaxOp>(
          [&](auto each) { first(cuts[each.getAxis()].whole); })
      .Case([&](graph::MatmulOp each) {
        first(graph::getRank(each.getRhs()) == 2 && cuts[rank - 1].whole);
        if (!result.empty())
          result[0].back() = wholeAxis(graph::getDim(each.getLhs(), rank - 1));
      })
      .Case([&](graph::TransposeOp each) {
        result.emplace_back();
        for (int64_t axis : inverse(each.getPermutation()))
          result.back().push_back(cuts[axis]);
      });
  return result;
}

/// Whether all symbols of a slice are known where its input is.
bool isKnownAtInput(graph::SliceOp op) {
  llvm::SmallDenseSet<Attribute> known;
  graph::forEachSymbol(op.getInput().getType(), [&](graph::Expr symbol) {
    known.insert(symbol.getAttr());
  });
  bool all = true;
  graph::forEachSymbol(
      op, [&](graph::Expr symbol) { all &= known.contains(symbol.getAttr()); });
  return all;
}

/// Where the input of a slice may be cut for all that read it: where it is
/// made, or where the first of them stands, as a value may only be read in
/// between that the slice goes by.
Operation *placeOfCut(graph::SliceOp op, Operation *producer) {
  if (isKnownAtInput(op))
    return producer;
  Operation *first = op;
  for (Operation *user : producer->getUsers()) {
    Operation *other = op->getBlock()->findAncestorOpInBlock(*user);
    if (other && other->isBeforeInBlock(first))
      first = other;
  }
  return first;
}

/// Whether all that reads an op is the same slice.
bool readAlike(graph::SliceOp op, Operation *producer) {
  return producer->getBlock() == op->getBlock() &&
         llvm::all_of(producer->getUsers(), [&](Operation *user) {
           return user->getName() == op->getName() &&
                  user->getAttrDictionary() == op->getAttrDictionary() &&
                  user->getResultTypes() == op->getResultTypes();
         });
}

/// The borders with which a convolution computes nothing that a slice leaves
/// out; nullopt where that is not a part of them.
std::optional<SmallVector<graph::Expr>> croppedPads(graph::ConvOp op,
                                                    ArrayRef<Cut> cuts) {
  size_t axes = op.getStrides().size(), first = op.getChannelsLast() ? 1 : 2;
  SmallVector<graph::Expr> pads = op.getPads().exprs();
  for (auto [i, cut] : llvm::enumerate(cuts)) {
    if (cut.whole)
      continue;
    if (i < first || i >= first + axes || !cut.step.isConstant(1) ||
        op.getStrides()[i - first] != 1)
      return std::nullopt;
    graph::Expr &low = pads[i - first], &high = pads[axes + i - first];
    high = high - (graph::getDim(op.getResult(), i) - cut.start - cut.size);
    low = low - cut.start;
    for (graph::Expr border : {low, high})
      if (!border || border.asConstant().value_or(-1) < 0)
        return std::nullopt;
  }
  return pads;
}

/// slice(conv(x)) -> conv(x) with less of a border
struct CropConv : OpRewritePattern<graph::SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto conv = op.getInput().getDefiningOp<graph::ConvOp>();
    if (!conv || !readAlike(op, conv))
      return rewriter.notifyMatchFailure(op, "cuts no convolution alone");
    auto pads = croppedPads(conv, cutsOf(op));
    if (!pads)
      return rewriter.notifyMatchFailure(op, "cuts more than a border");
    rewriter.setInsertionPoint(placeOfCut(op, conv));
    auto cropped = cast<graph::ConvOp>(rewriter.clone(*conv));
    cropped.setPadsAttr(graph::DimsAttr::get(op.getContext(), *pads));
    cropped.getResult().setType(op.getType());
    for (Operation *user : llvm::make_early_inc_range(conv->getUsers()))
      rewriter.replaceOp(user, cropped->getResults());
    rewriter.eraseOp(conv);
    return success();
  }
};

/// slice(op(x)) -> op(slice(x))
struct HoistSlice : OpRewritePattern<graph::SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::SliceOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getInput().getDefiningOp();
    if (!producer || producer->getNumResults() != 1 || isStored(op.getInput()))
      return rewriter.notifyMatchFailure(op, "input is not computed");
    if (!readAlike(op, producer))
      return rewriter.notifyMatchFailure(op, "something else reads the rest");
    SmallVector<Cuts> cuts = cutsOfOperands(producer, cutsOf(op));
    if (cuts.empty())
      return rewriter.notifyMatchFailure(op, "producer needs all of its input");
    rewriter.setInsertionPoint(placeOfCut(op, producer));
    SmallVector<Value> operands(producer->getOperands());
    for (auto [operand, list] : llvm::zip(operands, cuts))
      operand = cutValue(rewriter, operand, list);
    OperationState state(producer->getLoc(), producer->getName(), operands,
                         {op.getType()}, producer->getAttrs());
    Operation *cut = rewriter.create(state);
    for (Operation *user : llvm::make_early_inc_range(producer->getUsers()))
      rewriter.replaceOp(user, cut->getResults());
    // At once: it would count as another reader of its operands.
    rewriter.eraseOp(producer);
    return success();
  }
};

/// gather of one element of an axis -> reshape(slice)
struct GatherToSlice : OpRewritePattern<graph::GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto index = graph::getIndexValues(op.getIndices());
    int64_t axis = op.getAxis();
    graph::Expr size = graph::getDim(op.getInput(), axis);
    if (!index || index->size() != 1 || isStored(op.getInput()))
      return rewriter.notifyMatchFailure(op, "no number, or of a weight");
    graph::Expr zero = graph::Expr::constant(op.getContext(), 0);
    graph::Expr at = (*index)[0];
    at = (zero - at).isPositive() ? at + size : at;
    if (!at || !at.isNonNegative() || !(size - at).isPositive())
      return rewriter.notifyMatchFailure(op, "may be out of range");
    Cuts cuts;
    for (graph::Expr dim : graph::getDims(op.getInput()))
      cuts.push_back(wholeAxis(dim));
    cuts[axis] = {at, graph::Expr::constant(op.getContext(), 1),
                  graph::Expr::constant(op.getContext(), 1), false};
    Value slice = cutValue(rewriter, op.getInput(), cuts);
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(), slice);
    return success();
  }
};

struct HoistSlices : impl::HoistSlicesPassBase<HoistSlices> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<CropConv, GatherToSlice, HoistSlice>(&getContext());
    // Where the driver's rounds run out, the graph is right all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace tenon
