//===- AttentionAddends.cpp - Masks and biases of an attention ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AttentionAddends.h"
#include "compiler/Transforms/AttentionOperands.h"
#include "compiler/Transforms/Matching.h"
#include <cmath>

using namespace mlir;

namespace tenon {

using graph::DeadRows;
using graph::Expr;

namespace {

/// Absorbs any score in f32: what is added to it is lost.
constexpr double absorbing = -1e30;

/// A key with this score has no part where another has one of its own.
constexpr double hiding = -1e9;

bool absorbs(double fill, Type element) {
  return fill == -INFINITY || (fill <= absorbing && element.isF32());
}

} // namespace

//===----------------------------------------------------------------------===//
// Collection
//===----------------------------------------------------------------------===//

void AttentionAddends::add(Value addend, Value guard) {
  // A mask and a bias may have been added to each other first.
  auto sum = addend.getDefiningOp<graph::AddOp>();
  if (sum && addend != guard && addends.size() < 8) {
    add(sum.getLhs(), guard);
    add(sum.getRhs(), guard);
  } else {
    addends.push_back(addend);
  }
}

bool AttentionAddends::hides(double fill, Type element) {
  return absorbs(fill, element) || (fill <= hiding && element.isF32());
}

bool AttentionAddends::addReplaced(Operation *op, Value &next) {
  auto select = dyn_cast<graph::SelectOp>(op);
  if (!select)
    return false;
  bool left = comesFromScores(select.getLhs());
  next = left ? select.getLhs() : select.getRhs();
  std::optional<double> fill =
      splatOf(left ? select.getRhs() : select.getLhs());
  Type element = graph::getElementType(next);
  if (!fill || !hides(*fill, element) || !mayBeScoresOf(next, select))
    return false;
  // Where all keys have one score, it does not matter which.
  if (!absorbs(*fill, element)) {
    fill = absorbing;
    alone = true;
  }
  OpBuilder builder(select);
  Value zero =
      scalarOf(builder, op->getLoc(), builder.getFloatAttr(element, 0.0));
  Value low =
      scalarOf(builder, op->getLoc(), builder.getFloatAttr(element, *fill));
  auto mask =
      graph::SelectOp::create(builder, op->getLoc(), select.getCondition(),
                              left ? zero : low, left ? low : zero);
  made.append({zero.getDefiningOp(), low.getDefiningOp(), mask});
  replacing.insert(mask);
  addends.push_back(mask);
  return true;
}

bool AttentionAddends::addFloor(Operation *op, Value &next) {
  auto max = dyn_cast<graph::MaxOp>(op);
  if (floor || !max || !graph::getElementType(max).isF32())
    return false;
  for (bool left : {true, false}) {
    next = left ? max.getLhs() : max.getRhs();
    floor = splatOf(left ? max.getRhs() : max.getLhs());
    if (floor && *floor <= absorbing && next.getType() == max.getType())
      return true;
  }
  floor.reset();
  return false;
}

void AttentionAddends::discard() {
  // Each reads but what was made before it, or what the graph had.
  for (Operation *op : llvm::reverse(made))
    if (op->use_empty())
      op->erase();
  made.clear();
}

//===----------------------------------------------------------------------===//
// What they come to
//===----------------------------------------------------------------------===//

/// Keeps an addend as it is.
AttentionAddends::Reason AttentionAddends::addBias(Value addend) {
  auto dims = graph::getDims(addend);
  if (dims.size() > 4)
    return "an addend has more axes than the scores";
  for (auto [dim, all] :
       llvm::zip(dims, ArrayRef(sizes).take_back(dims.size())))
    if (!dim.isConstant(1) && dim != all &&
        (&dim != dims.begin() || dims.size() < 4 || !all.exactDiv(dim)))
      return "an addend is not proven to fit the scores";
  if (graph::getElementType(addend) != graph::getElementType(softmax))
    return "an addend has another type than the query";
  biases.push_back(addend);
  return std::nullopt;
}

/// Whether a key takes part or does not, by the addend alone.
bool AttentionAddends::masks(Value addend) {
  AttentionMask each({addend}, sizes);
  if (!each.isPredicate())
    return false;
  return floor ? each.fill() <= *floor
               : absorbs(each.fill(), graph::getElementType(addend));
}

/// Whether keys that several of these mask have the same score as those that
/// one of them masks.
bool AttentionAddends::areAsOne(ArrayRef<Value> masking) {
  if (floor || masking.size() < 2)
    return true;
  SmallVector<double> fills;
  bool replace = true;
  for (auto [i, each] : llvm::enumerate(masking)) {
    AttentionMask mask({each}, sizes);
    fills.push_back(mask.fill());
    replace &=
        i + 1 == masking.size() || replacing.contains(each.getDefiningOp());
  }
  return (fills[0] == -INFINITY || replace) && llvm::all_equal(fills);
}

bool AttentionAddends::areSmall(ArrayRef<Value> values) const {
  return llvm::all_of(values,
                      [&](Value each) { return isSmall(each, weights); });
}

/// What a mask replaces is lost, however large: where that is not known to be
/// small, both are one bias.
void AttentionAddends::joinReplaced() {
  SmallVector<Value> inner;
  for (Value addend : llvm::reverse(addends)) {
    if (areSmall(inner) || !replacing.contains(addend.getDefiningOp())) {
      inner.push_back(addend);
      continue;
    }
    auto select = addend.getDefiningOp<graph::SelectOp>();
    OpBuilder builder(softmax);
    Location loc = softmax.getLoc();
    Value sum = inner[0];
    for (Value each : ArrayRef(inner).drop_front()) {
      sum = graph::AddOp::create(builder, loc, sum, each);
      made.push_back(sum.getDefiningOp());
    }
    bool left = splatOf(select.getLhs()) == 0.0;
    auto joined = graph::SelectOp::create(builder, loc, select.getCondition(),
                                          left ? sum : select.getLhs(),
                                          left ? select.getRhs() : sum);
    made.push_back(joined);
    inner = {joined};
  }
  addends.assign(inner.rbegin(), inner.rend());
}

/// What may turn out to have one column, with a column for each key. Positions
/// of keys are asked to be those of all.
Value AttentionAddends::withKeys(Value value) {
  constexpr size_t most = 64;
  SmallVector<Expr> dims = graph::getDims(value);
  if (dims.empty() || dims.back() == sizes.back() || dims.back().isConstant(1))
    return value;
  if (Value known = aligned.lookup(value))
    return known;
  Expr own = std::exchange(dims.back(), sizes.back());
  RankedTensorType type = graph::tensorOf(dims, graph::getElementType(value));
  OpBuilder builder(softmax);
  Operation *op = value.getDefiningOp(), *copy = nullptr;
  auto reshape = dyn_cast_if_present<graph::ReshapeOp>(op);
  bool isPositions = isa_and_present<graph::IotaOp>(op);
  if (isPositions)
    covering.push_back(own);
  // Random numbers depend on their place, so they are not drawn again.
  bool isOfOperands = reshape
                          ? graph::getDims(reshape.getInput()) == ArrayRef(own)
                          : op && graph::isPointwise(op) &&
                                llvm::any_of(op->getOperands(), [&](Value of) {
                                  return graph::getRank(of) > 0 &&
                                         graph::getDims(of).back() == own;
                                });
  if (isPositions || (isOfOperands && aligned.size() < most)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(withKeys(operand));
    copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
  } else {
    copy = graph::BroadcastOp::create(builder, softmax.getLoc(), type, value);
  }
  if (op && replacing.contains(op))
    replacing.insert(copy);
  made.push_back(copy);
  aligned[value] = copy->getResult(0);
  return copy->getResult(0);
}

void AttentionAddends::emitRequirements(OpBuilder &builder,
                                        Location loc) const {
  if (mask)
    mask->emitRequirements(builder, loc);
  for (Expr own : covering)
    requireCover(builder, loc, sizes.back(), own);
}

AttentionAddends::Reason AttentionAddends::settle(graph::SoftmaxOp op,
                                                  graph::MatmulOp scores,
                                                  Value guard, bool guarded) {
  softmax = op;
  sizes = graph::getDims(scores);
  mask.reset();
  biases.clear();
  for (Value &addend : addends)
    addend = withKeys(addend);
  if (guard)
    guard = withKeys(guard);
  if (guard && !llvm::is_contained(addends, guard))
    return "the guard is of another mask";
  llvm::erase_if(addends, [&](Value each) {
    return AttentionMask({each}, sizes).isZero();
  });
  if (alone && addends.size() > 1)
    return "a mask that hides less than all others stands beside another";
  SmallVector<Value> masking, others;
  for (Value addend : addends)
    (masks(addend) ? masking : others).push_back(addend);
  bool small = areSmall(others);
  if (floor && !small)
    return "scores are bounded below beside a bias of unknown size";
  // Where two masks meet, or a mask and a bias as large, the sums differ from
  // those of one mask.
  if (small && !masking.empty() && areAsOne(masking)) {
    mask.emplace(masking, sizes);
    if (!mask->isPredicate())
      return "its masks together are no range of keys";
    if (mask->keepsAKey())
      deadRows = DeadRows::Zero;
    else if (floor || std::isfinite(mask->fill()))
      deadRows = DeadRows::Uniform;
    else
      deadRows = guarded ? DeadRows::Zero : DeadRows::NaN;
    if (guard && (guard != masking[0] || masking.size() > 1) &&
        !mask->keepsAKey())
      return "the guard is of another mask";
  } else {
    if (guarded && (!masking.empty() || !small))
      return "a row of NaN is guarded, and its mask is not understood";
    joinReplaced();
    others = addends;
  }
  for (Value addend : others)
    if (Reason reason = addBias(addend))
      return reason;
  return std::nullopt;
}

} // namespace tenon
