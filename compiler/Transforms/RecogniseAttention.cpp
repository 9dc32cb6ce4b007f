//===- RecogniseAttention.cpp - matmul, softmax, matmul -> attention ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AttentionAddends.h"
#include "compiler/Transforms/AttentionHeads.h"
#include "compiler/Transforms/AttentionOperands.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/AttentionView.h"
#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEATTENTIONPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;

/// A softmax and what lies around it. Each step fills in what it finds, or
/// gives the reason why this is no attention.
class Candidate {
public:
  Candidate(graph::SoftmaxOp softmax, const WeightStore *weights)
      : softmax(softmax), addends(weights) {}

  using Reason = std::optional<std::string>;

  Reason match();
  /// Gives the op that nothing uses any more.
  Operation *rewrite();

private:
  Reason matchProduct();
  bool matchKept(Value &probabilities);
  Reason matchGuard(Value &probabilities);
  Reason matchScores();
  bool matchFactor(Operation *op, Value &next, double &factor);
  bool matchCap(Operation *op, Value &next);
  Reason matchOperands();
  Reason matchMasks();

  graph::SoftmaxOp softmax;
  graph::MatmulOp scores, product;
  double scale = 1.0, softcap = 0.0;
  Value query, key, value;
  AttentionAddends addends;
  SmallVector<Operation *> made; // In place of operands.
  bool guarded = false;
  Value kept;       // Other keys have weights that are made 0, else null.
  Value guard;      // The addend whose rows of -inf are made 0, else null.
  Value hiddenRows; // Where they are.
  bool zeroesRows = false; // Behind the attention.
};

Candidate::Reason Candidate::match() {
  if (graph::getRank(softmax.getInput()) != 4 || softmax.getAxis() != 3)
    return "it is not over the last axis of four";
  for (auto step : {&Candidate::matchProduct, &Candidate::matchScores,
                    &Candidate::matchOperands, &Candidate::matchMasks})
    if (Reason reason = (this->*step)()) {
      addends.discard();
      for (Operation *op : made)
        eraseUnused(op);
      return reason;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Behind the softmax
//===----------------------------------------------------------------------===//

/// keep ? x : 0, or x times keep, where others are hidden already: it changes
/// rows without a key alone.
bool Candidate::matchKept(Value &probabilities) {
  auto hiding = softmax.getInput().getDefiningOp<graph::SelectOp>();
  std::optional<double> fill =
      hiding ? splatOf(hiding.getRhs()) : std::optional<double>();
  if (!fill || !probabilities.hasOneUse() ||
      !AttentionAddends::hides(*fill, graph::getElementType(softmax)))
    return false;
  Operation *user = *probabilities.user_begin();
  Value by;
  if (auto select = dyn_cast<graph::SelectOp>(user)) {
    if (select.getLhs() == probabilities && splatOf(select.getRhs()) == 0.0)
      by = select.getCondition();
  } else if (isa<graph::MulOp>(user) && std::isfinite(*fill)) {
    // A row of -inf is NaN, which 0 does not hide.
    Value factor = otherOperand(user, probabilities);
    if (auto cast = factor.getDefiningOp<graph::CastOp>())
      by = cast.getInput();
  }
  if (!by || by != hiding.getCondition() ||
      user->getResult(0).getType() != softmax.getType())
    return false;
  kept = by;
  addends.requireAlone();
  probabilities = user->getResult(0);
  return true;
}

/// x is NaN ? 0 : x, or a row of the mask is -inf ? 0 : x.
Candidate::Reason Candidate::matchGuard(Value &probabilities) {
  graph::SelectOp select;
  for (Operation *user : probabilities.getUsers())
    if (auto each = dyn_cast<graph::SelectOp>(user))
      select = each;
  if (!select)
    return std::nullopt;
  if (select.getRhs() != probabilities || splatOf(select.getLhs()) != 0.0 ||
      select.getType() != probabilities.getType())
    return "a select of probabilities is no guard against NaN";
  if (auto isNan = select.getCondition().getDefiningOp<graph::IsNanOp>()) {
    bool only = llvm::all_of(probabilities.getUsers(), [&](Operation *user) {
      return user == select || user == isNan;
    });
    if (isNan.getInput() != probabilities || !isNan->hasOneUse() || !only)
      return "the probabilities have another user";
  } else {
    auto isInf = select.getCondition().getDefiningOp<graph::IsInfOp>();
    auto reduce = isInf && isInf.getNegative() && !isInf.getPositive()
                      ? isInf.getInput().getDefiningOp<graph::ReduceOp>()
                      : graph::ReduceOp();
    if (!reduce || reduce.getKind() != graph::ReduceKind::Max ||
        reduce.getAxes() != ArrayRef{graph::getRank(reduce) - 1} ||
        !probabilities.hasOneUse())
      return "a select of probabilities is no guard of rows";
    guard = reduce.getInput();
    hiddenRows = isInf;
  }
  guarded = true;
  probabilities = select;
  return std::nullopt;
}

Candidate::Reason Candidate::matchProduct() {
  Value probabilities = softmax.getResult();
  if (!matchKept(probabilities))
    if (Reason reason = matchGuard(probabilities))
      return reason;
  if (!probabilities.hasOneUse())
    return "the probabilities have another user, or none";
  product = dyn_cast<graph::MatmulOp>(*probabilities.user_begin());
  if (!product || product.getLhs() != probabilities)
    return "the probabilities are not the left operand of a matmul";
  if (graph::getRank(product.getRhs()) != 4)
    return "the values do not have rank 4";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// In front of the softmax
//===----------------------------------------------------------------------===//

bool Candidate::matchFactor(Operation *op, Value &next, double &factor) {
  if (auto div = dyn_cast<graph::DivOp>(op)) {
    std::optional<double> divisor = splatOf(div.getRhs());
    next = div.getLhs();
    factor = divisor ? 1.0 / *divisor : 0.0;
    return divisor && *divisor != 0.0 && next.getType() == div.getType();
  }
  auto mul = dyn_cast<graph::MulOp>(op);
  if (!mul)
    return false;
  for (bool left : {true, false}) {
    next = left ? mul.getLhs() : mul.getRhs();
    std::optional<double> number = splatOf(left ? mul.getRhs() : mul.getLhs());
    factor = number.value_or(0.0);
    if (number && next.getType() == mul.getType())
      return std::isfinite(factor);
  }
  return false;
}

/// cap * tanh(s / cap)
bool Candidate::matchCap(Operation *op, Value &next) {
  Value inner;
  double cap = 0.0, inverse = 0.0;
  if (!isa<graph::MulOp>(op) || !matchFactor(op, inner, cap) || cap <= 0.0)
    return false;
  auto tanh = inner.getDefiningOp<graph::TanhOp>();
  Operation *division = tanh ? tanh.getInput().getDefiningOp() : nullptr;
  if (!division || !tanh->hasOneUse() || !division->hasOneUse() ||
      !matchFactor(division, next, inverse) ||
      std::abs(cap * inverse - 1.0) > 1e-6)
    return false;
  softcap = cap;
  return true;
}

Candidate::Reason Candidate::matchScores() {
  Value at = softmax.getInput();
  bool scaled = false;
  while (true) {
    Operation *op = at.getDefiningOp();
    if (!op || !at.hasOneUse())
      return "the scores have another user";
    if ((scores = dyn_cast<graph::MatmulOp>(op)))
      return std::nullopt;
    Value next;
    double factor = 1.0;
    if (auto add = dyn_cast<graph::AddOp>(op)) {
      bool left =
          mayBeScoresOf(add.getLhs(), add) && comesFromScores(add.getLhs());
      next = left ? add.getLhs() : add.getRhs();
      if (!mayBeScoresOf(next, add))
        return "an addend changes the sizes of the scores";
      if (scaled || softcap > 0.0)
        return "a mask is added before the scores are scaled or capped";
      addends.add(left ? add.getRhs() : add.getLhs(), guard);
    } else if (addends.addReplaced(op, next)) {
      if (scaled || softcap > 0.0)
        return "a mask replaces scores before they are scaled or capped";
    } else if (bool first = addends.empty(); addends.addFloor(op, next)) {
      if (scaled || softcap > 0.0 || !first)
        return "scores are bounded below before something is done to them";
    } else if (softcap > 0.0 || scaled || !matchCap(op, next)) {
      if (!matchFactor(op, next, factor))
        return ("the scores come from " + op->getName().getStringRef()).str();
      scale *= factor;
      scaled |= factor != 1.0;
    }
    at = next;
  }
}

/// Takes scalar factors of an operand of the first product into the scale.
Candidate::Reason Candidate::matchOperands() {
  auto peel = [&](Value operand) {
    Value next;
    double factor = 1.0;
    while (Operation *op = operand.getDefiningOp()) {
      auto reshape = dyn_cast<graph::ReshapeOp>(op);
      Operation *inner = reshape ? reshape.getInput().getDefiningOp() : op;
      if (!inner || !matchFactor(inner, next, factor))
        break;
      scale *= factor;
      operand = next;
      if (!reshape)
        continue;
      auto before = next.getDefiningOp<graph::ReshapeOp>();
      if (before && before.getInput().getType() == reshape.getType()) {
        operand = before.getInput();
        continue;
      }
      OpBuilder builder(scores);
      operand = graph::ReshapeOp::create(builder, reshape.getLoc(),
                                         reshape.getType(), next);
      made.push_back(operand.getDefiningOp());
    }
    return operand;
  };
  if (graph::getRank(scores.getLhs()) != 4 ||
      graph::getRank(scores.getRhs()) != 4)
    return "query or key does not have rank 4";
  query = peel(scores.getLhs());
  key = peel(scores.getRhs());
  value = product.getRhs();
  auto q = graph::getDims(query), k = graph::getDims(key),
       v = graph::getDims(value);
  if (q[0] != k[0] || q[0] != v[0])
    return "query, key and value are not proven to have one batch";
  if (!q[1].asConstant() || q[1] != k[1] || q[1] != v[1])
    return "query, key and value do not have a number of heads in common";
  // Of wider ones the products apart are faster than any kernel of ours.
  for (Expr width : {q[3], v[3]})
    if (!width.asConstant() || *width.asConstant() > kernel::widestHead)
      return "the head sizes are no numbers up to " +
             std::to_string(kernel::widestHead);
  SmallVector<Expr> expected = {q[0], q[1], q[2], k[3]};
  if (graph::getDims(scores) != expected ||
      !mayBeScoresOf(scores, softmax.getInput()) ||
      (v[2] != k[3] && scores.getType() != softmax.getType()))
    return "the scores are not proven to be [batch, heads, queries, keys]";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// A row of probabilities that is made 0 is a row of the result that is; the op
/// itself knows such rows only by masks that it can express.
Candidate::Reason Candidate::matchMasks() {
  Reason reason = addends.settle(softmax, scores, guard, guarded);
  if (kept && !reason) {
    zeroesRows = !addends.mask;
    addends.deadRows = graph::DeadRows::Zero;
  }
  if (!reason || !guard)
    return reason;
  zeroesRows = true;
  return addends.settle(softmax, scores, Value(), false);
}

/// Where a row of bools holds none.
static Value rowsWithout(Value kept, OpBuilder &builder, Location loc) {
  Value numbers = castTo(builder, loc, kept, builder.getF32Type());
  if (int64_t rank = graph::getRank(kept))
    numbers = graph::ReduceOp::create(builder, loc, numbers,
                                      ArrayRef<int64_t>{rank - 1},
                                      graph::ReduceKind::Max);
  Value zero = scalarOf(builder, loc, builder.getF32FloatAttr(0));
  return graph::EqualOp::create(builder, loc, numbers, zero);
}

Operation *Candidate::rewrite() {
  const std::optional<AttentionMask> &mask = addends.mask;
  SmallVector<Value> biases = addends.biases;
  OpBuilder builder(product);
  Location loc = softmax.getLoc();
  key = withLastAxesSwapped(key, builder);
  dropHeadRepeats(key, value);
  Value keyMask;
  Expr offset = Expr::constant(builder.getContext(), 0);
  bool causal = mask && mask->offset();
  if (causal)
    offset = *mask->offset();
  addends.emitRequirements(builder, loc);
  if (mask && mask->hasKeyMask())
    keyMask = mask->emitKeyMask(builder, loc);
  for (Value &bias : biases)
    bias = withRank4(withoutBatchRepeat(bias, builder), builder);
  auto q = graph::getDims(query);
  RankedTensorType type =
      graph::tensorOf({q[0], q[1], q[2], graph::getDim(value, 3)},
                      graph::getElementType(query));
  Value result = graph::AttentionOp::create(
      builder, loc, type, query, key, value, keyMask, Value(), biases,
      builder.getF64FloatAttr(scale), builder.getF64FloatAttr(softcap),
      builder.getBoolAttr(causal),
      graph::DimsAttr::get(builder.getContext(), {offset}),
      builder.getI64IntegerAttr(mask ? mask->window() : 0),
      graph::DeadRowsAttr::get(builder.getContext(), addends.deadRows));
  if (zeroesRows && kept)
    hiddenRows = rowsWithout(kept, builder, loc);
  if (zeroesRows) {
    Value zeros = scalarOf(builder, loc,
                           builder.getFloatAttr(type.getElementType(), 0.0));
    result =
        graph::SelectOp::create(builder, loc, type, hiddenRows, zeros, result);
  }
  // Sizes that the product found under another name.
  if (type != product.getType())
    result = graph::ReshapeOp::create(builder, loc, product.getType(), result);
  product.getResult().replaceAllUsesWith(result);
  return product;
}

struct RecogniseAttention
    : impl::RecogniseAttentionPassBase<RecogniseAttention> {
  using Base = impl::RecogniseAttentionPassBase<RecogniseAttention>;
  using Base::Base;
  RecogniseAttention(const WeightStore &weights,
                     RecogniseAttentionPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    SmallVector<graph::TransposeOp> transposes;
    getOperation().walk(
        [&](graph::TransposeOp op) { transposes.push_back(op); });
    for (graph::TransposeOp transpose : transposes)
      turnTransposedProduct(transpose);
    SmallVector<graph::SoftmaxOp> all;
    SmallVector<Operation *> replaced;
    getOperation().walk([&](graph::SoftmaxOp op) { all.push_back(op); });
    for (graph::SoftmaxOp softmax : all) {
      if (Operation *op = recognise(softmax))
        replaced.push_back(op);
    }
    for (Operation *op : replaced)
      eraseUnused(op);
  }

  /// Gives the op that nothing uses any more, null where there is no attention.
  Operation *recognise(graph::SoftmaxOp softmax) {
    std::string why;
    std::optional<UnfoldedHeads> unfolded = unfoldHeads(softmax, why);
    Candidate candidate(unfolded ? unfolded->softmax : softmax, weights);
    std::optional<std::string> reason = candidate.match();
    if (reason && unfolded)
      eraseUnused(unfolded->result.getDefiningOp());
    if (reason && explain)
      softmax.emitRemark("not an attention: ") << (why.empty() ? *reason : why);
    if (reason)
      return nullptr;
    Operation *product = candidate.rewrite();
    if (!unfolded)
      return product;
    eraseUnused(product);
    unfolded->folded.getResult().replaceAllUsesWith(unfolded->result);
    return unfolded->folded;
  }

  const WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass>
createRecogniseAttentionPass(const WeightStore &weights,
                             RecogniseAttentionPassOptions options) {
  return std::make_unique<RecogniseAttention>(weights, options);
}
} // namespace tenon
