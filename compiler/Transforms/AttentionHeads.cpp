//===- AttentionHeads.cpp - Attention whose heads are folded --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AttentionHeads.h"
#include "compiler/Transforms/AttentionOperands.h"
#include "compiler/Transforms/Matching.h"

using namespace mlir;

namespace tenon {

using graph::Expr;

namespace {

using Dims = SmallVector<Expr>;

/// All axes but the last two.
Dims leadingDims(Value value) {
  Dims dims = graph::getDims(value);
  dims.truncate(dims.size() - 2);
  return dims;
}

void appendLastDims(Dims &dims, ArrayRef<Expr> from) {
  llvm::append_range(dims, from.take_back(2));
}

class HeadUnfolder {
public:
  explicit HeadUnfolder(graph::SoftmaxOp softmax)
      : softmax(softmax), b(softmax.getContext()) {}

  /// False with a reason, or without one where nothing is folded.
  bool collect();
  std::optional<UnfoldedHeads> copy();

  std::string why;

private:
  bool refuse(const char *reason) {
    why = reason;
    return false;
  }
  bool collectScores();
  bool collectProduct();
  bool chooseHeads();
  void addFolded(Value value, SmallVector<Value> &found);
  bool tryHeads(Dims dims);

  Expr product(ArrayRef<Expr> dims) {
    return graph::product(b.getContext(), dims);
  }
  Value copyOp(Operation *op, Value from, Value to);
  Value regroup(Value value, ArrayRef<Expr> stage, bool copies);
  Value grouped(Value value, ArrayRef<Expr> stage, size_t split);
  Value reshaped(Value value, ArrayRef<Expr> dims);

  graph::SoftmaxOp softmax;
  OpBuilder b;
  /// From the softmax back to the product, and what each reads of the scores.
  SmallVector<std::pair<Operation *, Value>> path;
  graph::MatmulOp scores, values;
  Value probabilities; // As `values` reads them.
  graph::IsNanOp isNan;
  graph::SelectOp guard;
  bool folded = false;
  Dims heads; // [B, H]
};

//===----------------------------------------------------------------------===//
// What is there
//===----------------------------------------------------------------------===//

/// What an op on the way from the product to the softmax makes of scores.
Value scoresOf(Operation *op) {
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
    return keepsLastAxes(reshape) ? reshape.getInput() : Value();
  if (!isa<graph::AddOp, graph::DivOp, graph::MaxOp, graph::MulOp,
           graph::SelectOp, graph::TanhOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType() &&
        comesFromScores(operand))
      return operand;
  return {};
}

bool HeadUnfolder::collectScores() {
  Value at = softmax.getInput();
  while (true) {
    Operation *op = at.getDefiningOp();
    if (!op || !at.hasOneUse())
      return refuse("the scores have another user");
    if ((scores = dyn_cast<graph::MatmulOp>(op)))
      break;
    Value next = scoresOf(op);
    if (!next) {
      why = ("the scores come from " + op->getName().getStringRef()).str();
      return false;
    }
    folded |= isa<graph::ReshapeOp>(op);
    path.push_back({op, next});
    at = next;
  }
  for (Value operand : scores->getOperands())
    if (leadingDims(operand) != leadingDims(scores))
      return refuse("query and key are not proven to have one batch");
  return true;
}

bool HeadUnfolder::collectProduct() {
  Value at = softmax.getResult();
  for (Operation *user : at.getUsers())
    if (auto select = dyn_cast<graph::SelectOp>(user))
      guard = select;
  if (guard) {
    isNan = guard.getCondition().getDefiningOp<graph::IsNanOp>();
    bool only = llvm::all_of(at.getUsers(), [&](Operation *user) {
      return user == guard || user == isNan;
    });
    if (!only || !isNan || isNan.getInput() != at || !isNan->hasOneUse() ||
        guard.getRhs() != at || guard.getType() != at.getType())
      return refuse("the probabilities have another user");
    at = guard;
  }
  while (at.hasOneUse()) {
    auto reshape = dyn_cast<graph::ReshapeOp>(*at.user_begin());
    if (!reshape || !keepsLastAxes(reshape))
      break;
    folded = true;
    at = reshape;
  }
  if (!at.hasOneUse())
    return refuse("the probabilities have another user, or none");
  values = dyn_cast<graph::MatmulOp>(*at.user_begin());
  if (!values || values.getLhs() != at || graph::getRank(values.getRhs()) < 3)
    return refuse("the probabilities are not the left operand of a matmul");
  if (leadingDims(values.getRhs()) != leadingDims(at))
    return refuse("probabilities and values are not proven to have one batch");
  probabilities = at;
  return true;
}

/// Whether `dims` end in heads and name the batch in front of them.
bool HeadUnfolder::tryHeads(Dims dims) {
  Expr whole = product(leadingDims(softmax));
  if (dims.size() < 2 || !dims.back().asConstant() || !whole ||
      product(dims) != whole)
    return false;
  heads = {product(ArrayRef(dims).drop_back()), dims.back()};
  return true;
}

/// What was reshaped on the way to `value`, if not by a product.
void HeadUnfolder::addFolded(Value value, SmallVector<Value> &found) {
  constexpr size_t most = 32;
  SmallVector<Value> next = {value};
  for (size_t visited = 0; !next.empty() && visited < most; ++visited) {
    Operation *op = next.pop_back_val().getDefiningOp();
    if (!op || isa<graph::MatmulOp>(op))
      continue;
    if (isa<graph::ReshapeOp>(op) && graph::getRank(op->getOperand(0)) > 2)
      found.push_back(op->getOperand(0));
    for (Value operand : llvm::reverse(op->getOperands()))
      if (graph::getRank(operand) > 2)
        next.push_back(operand);
  }
}

/// The heads of a step on the way, else those that an operand or addend had
/// before it was folded, else the factor of the batch. If there is none of
/// these, all is batch.
bool HeadUnfolder::chooseHeads() {
  SmallVector<Value> found = {softmax.getInput(), scores, probabilities};
  for (auto [op, next] : path)
    found.push_back(next);
  for (auto [op, next] : path)
    for (Value operand : op->getOperands())
      if (operand != next)
        addFolded(operand, found);
  for (Value operand : {scores.getLhs(), scores.getRhs(), values.getRhs()})
    addFolded(operand, found);
  for (Value each : found)
    if (tryHeads(leadingDims(each)))
      return true;
  Expr all = product(leadingDims(softmax));
  if (!all)
    return refuse("its sizes are too complex");
  bool factored = all.kind() == graph::ExprKind::Product && all.value() > 1;
  Expr count = Expr::constant(b.getContext(), factored ? all.value() : 1);
  heads = {all.exactDiv(count), count};
  return true;
}

bool HeadUnfolder::collect() {
  int64_t rank = graph::getRank(softmax.getInput());
  if (rank < 3 || int64_t(softmax.getAxis()) != rank - 1)
    return refuse("it is not over the last axis of three or more");
  bool isCollected = collectProduct() && collectScores();
  folded |= rank != 4;
  if (!folded)
    why.clear();
  if (!isCollected)
    return false;
  return folded && chooseHeads();
}

//===----------------------------------------------------------------------===//
// The copy
//===----------------------------------------------------------------------===//

/// The elements as another shape, by one reshape from what they were before
/// any.
Value HeadUnfolder::reshaped(Value value, ArrayRef<Expr> dims) {
  RankedTensorType type = graph::tensorOf(dims, graph::getElementType(value));
  while (value.getType() != type) {
    auto reshape = value.getDefiningOp<graph::ReshapeOp>();
    if (!reshape)
      break;
    value = reshape.getInput();
  }
  if (value.getType() == type)
    return value;
  return graph::ReshapeOp::create(b, softmax.getLoc(), type, value);
}

/// What is added where tensors are [stage.., S, T], where the first `split` of
/// `stage` make up the batch and the others the heads.
Value HeadUnfolder::grouped(Value value, ArrayRef<Expr> stage, size_t split) {
  Dims dims = graph::getDims(value), whole = dims, to;
  for (auto [from, end] :
       {std::pair(size_t(0), split), {split, stage.size()}}) {
    auto axes = ArrayRef(dims).slice(from, end - from);
    bool ones = graph::areOnes(axes);
    to.push_back(ones ? Expr::constant(b.getContext(), 1)
                      : product(stage.slice(from, end - from)));
    for (size_t axis = from; axis < end && !ones; ++axis)
      whole[axis] = stage[axis];
  }
  if (whole != dims)
    value = graph::BroadcastOp::create(
        b, softmax.getLoc(),
        graph::tensorOf(whole, graph::getElementType(value)), value);
  appendLastDims(to, dims);
  return reshaped(value, to);
}

/// The same with [B, H] in front, or null. Numbers may be repeated where
/// `copies`.
Value HeadUnfolder::regroup(Value value, ArrayRef<Expr> stage, bool copies) {
  Dims dims = graph::getDims(value);
  if (dims.size() <= 2)
    return value;
  size_t all = stage.size() + 2;
  if (dims.size() > all)
    return {};
  Dims padded(all - dims.size(), Expr::constant(b.getContext(), 1));
  padded.append(dims);
  bool whole = true;
  for (auto [dim, full] : llvm::zip(padded, stage)) {
    if (dim != full && !dim.isConstant(1))
      return {};
    whole &= dim == full;
  }
  if (!whole && !copies)
    return {};
  Dims to = heads;
  appendLastDims(to, dims);
  if (whole)
    return reshaped(value, to);
  value = reshaped(value, padded);
  for (size_t split = 0; split <= stage.size(); ++split)
    if (product(stage.take_front(split)) == heads[0] &&
        product(stage.drop_front(split)) == heads[1])
      return grouped(value, stage, split);
  if (graph::areOnes(ArrayRef(padded).drop_back(2)))
    return value;
  // Batch and heads are mixed in a way that shows in no axis.
  std::copy(stage.begin(), stage.end(), padded.begin());
  value = graph::BroadcastOp::create(
      b, softmax.getLoc(),
      graph::tensorOf(padded, graph::getElementType(value)), value);
  return reshaped(value, to);
}

/// `op` with `to` in place of `from`, and its other operands to match.
Value HeadUnfolder::copyOp(Operation *op, Value from, Value to) {
  Dims stage = leadingDims(from);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(operand == from ? to : regroup(operand, stage, true));
    if (!operands.back())
      return {};
  }
  Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  Dims dims = heads;
  Dims last = graph::getDims(op->getResult(0));
  appendLastDims(dims, last);
  copy->getResult(0).setType(
      graph::tensorOf(dims, graph::getElementType(op->getResult(0))));
  return copy->getResult(0);
}

std::optional<UnfoldedHeads> HeadUnfolder::copy() {
  b.setInsertionPoint(values);
  auto copyProduct = [&](graph::MatmulOp op, Value lhs) -> Value {
    Dims stage = leadingDims(op.getLhs());
    lhs = lhs ? lhs : regroup(op.getLhs(), stage, false);
    Value rhs = regroup(op.getRhs(), stage, false);
    Dims dims = heads, last = graph::getDims(op);
    appendLastDims(dims, last);
    return graph::MatmulOp::create(
        b, op.getLoc(), graph::tensorOf(dims, graph::getElementType(op)), lhs,
        rhs);
  };
  Value at = copyProduct(scores, {});
  for (auto [op, next] : llvm::reverse(path)) {
    if (isa<graph::ReshapeOp>(op))
      continue;
    Value copied = copyOp(op, next, at);
    if (!copied) {
      why = "an addend is not proven to fit the scores";
      eraseUnused(at.getDefiningOp());
      return std::nullopt;
    }
    at = copied;
  }
  UnfoldedHeads result;
  result.softmax = graph::SoftmaxOp::create(b, softmax.getLoc(), at.getType(),
                                            at, softmax.getAxisAttr());
  result.softmax.setAxis(3);
  at = result.softmax;
  if (guard) {
    auto test = copyOp(isNan, softmax, at);
    auto select = b.clone(*guard);
    select->setOperand(0, test);
    select->setOperand(2, at);
    select->getResult(0).setType(at.getType());
    at = select->getResult(0);
  }
  result.folded = values;
  Value product = copyProduct(values, at);
  // Always an op of its own: the product is to be replaced.
  result.result =
      graph::ReshapeOp::create(b, values.getLoc(), values.getType(), product);
  return result;
}

} // namespace

std::optional<UnfoldedHeads> unfoldHeads(graph::SoftmaxOp softmax,
                                         std::string &why) {
  HeadUnfolder unfolder(softmax);
  std::optional<UnfoldedHeads> result;
  if (unfolder.collect())
    result = unfolder.copy();
  why = unfolder.why;
  return result;
}

} // namespace tenon
