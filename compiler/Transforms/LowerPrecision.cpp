//===- LowerPrecision.cpp - Operands of products in 16 bits ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a product multiplies is rounded to bf16, or f16, where it is made and
// widened again where it is read: the op itself stays one of f32, and so do its
// sums. Kernels take both casts in, so that between them lies bf16. Whoever
// else reads the value sees it as it was: sums over many layers stay exact.
//
// f16 ends at 65504: weights with more in them stay f32.
//
// On CPUs these are the products by weights, of those by weights of 8 or 4 bits
// lhs alone; what attention multiplies: its kernel rounds that itself, for
// those CPUs that gain by it; and, where some level multiplies pairs, products
// of two activations and convolutions, but those of each channel by itself.
// Attention and convolutions that have no kernel for the fewer bits that they
// ask for are such, too. Sums between convolutions, and what pools take the
// largest of, are read in 16 bits: their kernels store one result. CPUs have no
// products of f16 with sums of f32: there it is weights and tables alone that
// are stored as f16. Kernels multiply them as the f32 that they are, or, where
// the level adds up f16 twice as fast, round lhs to it as well.
//
// CUDA devices have instructions for pairs of 16 bits that are many times as
// fast as those for f32: there, all products of two activations and
// convolutions by groups are such, too, and so is whatever is to have 8 or 4
// bits and is no product by a weight.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/NarrowRules.h"
#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

class Lowering {
public:
  Lowering(func::FuncOp function, bool isCuda, NarrowRules::Levels levels,
           Precision precision, const WeightStore *weights, bool explain)
      : function(function), isCuda(isCuda), precision(precision),
        explain(explain), rules(isCuda, levels, weights) {}

  void run() {
    SmallVector<Operation *> products;
    SmallVector<graph::GatherOp> lookups;
    function.walk([&](Operation *op) {
      if (isProduct(op))
        products.push_back(op);
      if (auto gather = dyn_cast<graph::GatherOp>(op))
        lookups.push_back(gather);
    });
    // First: products find what is looked up in 16 bits already.
    for (graph::GatherOp op : lookups)
      if (isWanted(op))
        lowerTable(op);
    for (Operation *op : products) {
      // What products of fewer bits err by leaves room for that.
      if (rules.staysInBf16(op, precisionOf(op, precision)))
        op->setAttr(precisionAttribute,
                    Builder(op).getStringAttr(nameOf(Precision::Bf16)));
      auto matmul = dyn_cast<graph::MatmulOp>(op);
      if (matmul &&
          rules.comesInFewBits(matmul, precisionOf(matmul, precision)))
        roundLhs(matmul);
      else if (isWanted(op))
        lowerOrSay(op);
      else if (matmul && isOfFewBits(precisionOf(op, precision)))
        lowerLhs(matmul);
    }
    for (Value image : images)
      readRounded(image);
    for (graph::AddOp sum : sumsOfTwo())
      roundSecond(sum);
  }

private:
  bool isProduct(Operation *op) const {
    return isa<graph::AttentionOp, graph::ConvOp, graph::MatmulOp>(op);
  }

  /// Whether an op is to be lowered here. Its type of 16 bits is that of what
  /// follows.
  bool isWanted(Operation *op) {
    Precision wanted = precisionOf(op, precision);
    Builder builder(function.getContext());
    narrowType = wanted == Precision::Fp16 ? Type(builder.getF16Type())
                                           : builder.getBF16Type();
    return wanted == Precision::Bf16 || wanted == Precision::Fp16;
  }

  /// Of a product whose weight will be of 8 or 4 bits, which are coarser: what
  /// it multiplies is rounded, so that many rows are multiplied in bf16.
  void lowerLhs(graph::MatmulOp op) {
    narrowType = Builder(op).getBF16Type();
    if (!isCuda && !(rules.refusal(op, narrowType).empty() &&
                     refusalOfFewBits(op).empty()))
      return;
    sayIfAddsF16(op);
    lower(op.getLhsMutable());
  }

  /// Before what the op reads is lowered.
  template <typename Product> bool sayIfAddsF16(Product op) {
    if (!rules.mayAddF16(op))
      return false;
    op->setAttr(kernel::addsF16Attribute, UnitAttr::get(op->getContext()));
    return true;
  }

  /// Of one whose weight comes so.
  void roundLhs(graph::MatmulOp op) {
    Builder builder(op);
    narrowType = builder.getBF16Type();
    if (kernel::roundsLhsToBf16(op))
      roundElsewhere(op);
    sayIfAddsF16(op);
    lower(op.getLhsMutable());
    op->setAttr(precisionAttribute,
                builder.getStringAttr(nameOf(Precision::Bf16)));
  }

  /// Of a product whose weight comes in f16, which its kernel reads as it is.
  bool isByHalfWeight(Operation *op) const {
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    Value rhs = matmul ? kernel::behindWidening(matmul.getRhs()) : Value();
    return rhs && !isCuda && narrowType.isF16() &&
           graph::getElementType(rhs).isF16() &&
           rhs.getDefiningOp<graph::WeightOp>() &&
           kernel::isMatrixOrOnePerBatch(matmul);
  }

  /// What the model itself rounds is rounded where that costs least.
  static void roundElsewhere(graph::MatmulOp op) {
    Operation *widening = op.getLhs().getDefiningOp();
    op.getLhsMutable().assign(kernel::unroundedOf(op.getLhs()));
    eraseUnused(widening);
  }

  void lowerOrSay(Operation *op) {
    if (isByHalfWeight(op)) {
      auto matmul = cast<graph::MatmulOp>(op);
      if (sayIfAddsF16(matmul))
        roundInKernel(matmul.getLhsMutable());
      return;
    }
    std::string why = rules.refusal(op, narrowType);
    if (!why.empty() && canBeF16(op)) {
      narrowType = Builder(op).getF16Type();
      why.clear();
    }
    if (why.empty())
      lower(op);
    else
      leaveInFp32(op, why, explain);
  }

  /// Of a product whose operands do not lie such that bf16 could be multiplied:
  /// its kernel rounds them to f16, which is finer.
  bool canBeF16(Operation *op) {
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    return !isCuda && matmul &&
           !matmul.getRhs().getDefiningOp<graph::WeightOp>() &&
           rules.refusal(op, Builder(op).getF16Type()).empty();
  }

  void lowerTable(graph::GatherOp op) {
    bool isLarge = isLargeWeight(op.getInput()) && op.getAxis() == 0;
    std::string why =
        isLarge ? rules.refusalOfRange(op.getInput(), narrowType) : "";
    if (isLarge && why.empty())
      lower(op);
    else
      leaveInFp32(op, why, explain && !why.empty());
  }

  /// The first operands: of attention three, of others two.
  void lower(Operation *op) {
    auto conv = dyn_cast<graph::ConvOp>(op);
    if (conv && !isCuda && kernel::mayReadBf16(conv)) // It multiplies f32.
      return lowerOfConv(conv.getInputMutable());
    if (conv)
      sayIfAddsF16(conv);
    if (conv && !isCuda && canPadChannels(conv))
      padChannels(conv);
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    bool addsF16 = matmul && sayIfAddsF16(matmul);
    if (matmul && rules.isOfWeightsAlone(narrowType)) {
      if (addsF16)
        roundInKernel(matmul.getLhsMutable());
      OpOperand &rhs = matmul.getRhsMutable();
      return rhs.get().getDefiningOp<graph::WeightOp>() ? lower(rhs)
                                                        : roundInKernel(rhs);
    }
    unsigned count = isa<graph::AttentionOp>(op) ? 3 : 2;
    for (OpOperand &operand :
         llvm::reverse(op->getOpOperands().take_front(count)))
      lower(operand);
  }

  /// An image is read in place: what moves it does so before it is rounded. A
  /// reshape moves nothing, and stays behind that.
  void lowerOfConv(OpOperand &operand) {
    Operation *op = operand.getOwner();
    OpBuilder builder(op);
    Value value = operand.get();
    auto reshape = value.getDefiningOp<graph::ReshapeOp>();
    Value source = reshape ? reshape.getInput() : value;
    if (!isCuda && operand.getOperandNumber() == 0 && !isProbe(op) &&
        !kernel::behindWidening(source))
      images.insert(source);
    Value narrow = rounding(source);
    if (reshape)
      narrow = graph::ReshapeOp::create(
          builder, op->getLoc(),
          graph::tensorOf(graph::getDims(value), narrowType), narrow);
    operand.set(castTo(builder, op->getLoc(), narrow, builder.getF32Type()));
    if (reshape)
      eraseUnused(reshape);
  }

  /// For the kernel of the op itself to round. A cast of what is known would be
  /// computed here, and the kernel read that.
  void roundInKernel(OpOperand &operand) {
    Operation *op = operand.getOwner();
    std::optional<kernel::StridedView> view =
        kernel::stridedViewOf(operand.get());
    Operation *source = view ? view->base.getDefiningOp() : nullptr;
    if (isa<graph::MatmulOp>(op) &&
        isa_and_present<graph::ConstantOp, graph::WeightOp>(source))
      return;
    OpBuilder builder(op);
    Value narrow = castTo(builder, op->getLoc(), operand.get(), narrowType);
    operand.set(castTo(builder, op->getLoc(), narrow, builder.getF32Type()));
  }

  void lower(OpOperand &operand) {
    Operation *op = operand.getOwner();
    OpBuilder builder(op);
    Value value = operand.get();
    if (isa<graph::ConvOp>(op))
      return lowerOfConv(operand);
    if (value.getDefiningOp<graph::WeightOp>())
      return operand.set(
          castTo(builder, op->getLoc(), rounding(value), builder.getF32Type()));
    if (!graph::getElementType(value).isF32())
      return;
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(value);
    // The kernel of an attention rounds a cache as it reads it: in a kernel of
    // its own that would take longer than to read f32. On CPUs it rounds all.
    if (isa<graph::AttentionOp>(op) &&
        (!isCuda || (view && isGiven(view->base))))
      return roundInKernel(operand);
    bool isRhs = isa<graph::MatmulOp>(op) && operand.getOperandNumber() == 1;
    if (view && (isRhs || view->strides.back().isConstant(1))) {
      operand.set(widened(op->getLoc(), builder, value, *view));
      if (Operation *link = value.getDefiningOp())
        eraseUnused(link);
    } else if (rules.isWorthTurning(operand, narrowType)) {
      operand.set(
          castTo(builder, op->getLoc(), rounding(value), builder.getF32Type()));
    } else if (explain)
      op->emitRemark("operand ")
          << operand.getOperandNumber()
          << " stays in f32: its rows are not contiguous";
  }

  /// The table is looked up rounded.
  void lower(graph::GatherOp op) {
    OpBuilder builder(op);
    Value table = rounding(op.getInput());
    auto narrow = graph::GatherOp::create(
        builder, op.getLoc(),
        graph::tensorOf(graph::getDims(op.getResult()), narrowType), table,
        op.getIndices(), op.getAxis());
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replaceWidened(op, narrow);
  }

  /// Puts a value of 16 bits, widened, in the place of an op: the wide one.
  static Value replaceWidened(Operation *op, Value narrow) {
    OpBuilder builder(op);
    Value wide = castTo(builder, op->getLoc(), narrow, builder.getF32Type());
    op->getResult(0).replaceAllUsesWith(wide);
    op->erase();
    return wide;
  }

  /// The value rounded and widened, as seen through what only renames
  /// its elements.
  Value widened(Location loc, OpBuilder &builder, Value value,
                const kernel::StridedView &view) {
    SmallVector<Operation *> links = kernel::viewOpsOf(value, view);
    SmallVector<Operation *> more;
    if (llvm::all_of(links, [](Operation *link) { return link->hasOneUse(); }))
      more = linksToAttention(view.base);
    Value made = more.empty() ? view.base : more.back()->getOperand(0);
    links.append(more);
    Value narrow = throughViews(builder, links, rounding(made));
    return castTo(builder, loc, narrow, builder.getF32Type());
  }

  /// Lets those that compute of an image element by element read it in 16 bits
  /// as its convolutions do: its kernel then stores nothing else.
  void readRounded(Value image) {
    Value narrow = rounding(image);
    for (OpOperand &use : llvm::make_early_inc_range(image.getUses())) {
      Operation *user = use.getOwner();
      if (user == narrow.getDefiningOp() || !graph::isPointwise(user))
        continue;
      OpBuilder builder(user);
      use.set(castTo(builder, user->getLoc(), narrow, builder.getF32Type()));
    }
    if (Operation *producer = image.getDefiningOp())
      eraseUnused(producer);
  }

  /// Whether a value is what a convolution that was lowered becomes through ops
  /// with constants, for one reader.
  static bool isOfConvolution(Value value) {
    auto conv = dyn_cast_if_present<graph::ConvOp>(makerOf(value));
    return conv && value.hasOneUse() && kernel::convolvesPairs(conv);
  }

  /// Sums of two convolutions, on CPUs.
  SmallVector<graph::AddOp> sumsOfTwo() {
    SmallVector<graph::AddOp> sums;
    if (!isCuda)
      function.walk([&](graph::AddOp op) {
        if (isOfConvolution(op.getLhs()) && isOfConvolution(op.getRhs()))
          sums.push_back(op);
      });
    return sums;
  }

  /// The first one's kernel adds, the second one's stores what that reads.
  void roundSecond(graph::AddOp op) {
    OpBuilder builder(op);
    narrowType = builder.getBF16Type();
    Value narrow = rounding(op.getRhs());
    op.getRhsMutable().assign(
        castTo(builder, op.getLoc(), narrow, builder.getF32Type()));
  }

  /// The largest of some numbers is the same rounded before or behind: what
  /// makes them for nobody else then stores them rounded.
  Value roundInFront(graph::MaxPoolOp pool) {
    OpBuilder builder(pool);
    Value image = rounding(pool.getInput());
    auto narrow = graph::MaxPoolOp::create(
        builder, pool.getLoc(),
        graph::tensorOf(graph::getDims(pool.getResult()), narrowType), image,
        pool->getAttrs());
    images.remove(pool.getResult());
    images.insert(replaceWidened(pool, narrow));
    return narrow.getResult();
  }

  /// The one cast to 16 bits behind the value.
  Value rounding(Value value) {
    Value wide = kernel::behindWidening(value);
    if (wide && graph::getElementType(wide) == narrowType)
      return wide;
    auto pool = value.getDefiningOp<graph::MaxPoolOp>();
    if (pool && images.contains(value) && pool.getInput().hasOneUse())
      return roundInFront(pool);
    Value &known = casts[{value, narrowType}];
    if (known)
      return known;
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(value);
    known = castTo(builder, value.getLoc(), value, narrowType);
    return known;
  }

  /// The ops that only rename, for nobody else, what an attention computes: its
  /// kernel can round in front of them. None for other values.
  SmallVector<Operation *> linksToAttention(Value value) const {
    SmallVector<Operation *> links;
    Operation *op = value.getDefiningOp();
    for (; isa_and_present<graph::ReshapeOp, graph::TransposeOp>(op);
         op = op->getOperand(0).getDefiningOp()) {
      if (!op->hasOneUse())
        return {};
      links.push_back(op);
    }
    if (!isa_and_present<graph::AttentionOp>(op) || !op->hasOneUse())
      return {};
    return links;
  }

  func::FuncOp function;
  bool isCuda;
  llvm::SetVector<Value> images; // Of convolutions on CPUs.
  Precision precision;           // Of ops that none was assigned to.
  Type narrowType;               // Of the op that is looked at.
  bool explain;
  NarrowRules rules;
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};

struct LowerPrecision : impl::LowerPrecisionPassBase<LowerPrecision> {
  using Base = impl::LowerPrecisionPassBase<LowerPrecision>;
  using Base::Base;
  LowerPrecision(const WeightStore &weights, LowerPrecisionPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("there is no target '") << target << "'";
      return signalPassFailure();
    }
    Lowering(getOperation(), target == "cuda", {hasPairDots, hasF16Fma},
             f16 ? Precision::Fp16 : Precision::Bf16, weights, explain)
        .run();
  }

  const WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass>
createLowerPrecisionPass(const WeightStore &weights,
                         LowerPrecisionPassOptions options) {
  return std::make_unique<LowerPrecision>(weights, std::move(options));
}
} // namespace tenon
