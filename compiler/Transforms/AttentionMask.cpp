//===- AttentionMask.cpp - Masks as predicates ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AttentionMask.h"
#include "compiler/Transforms/Matching.h"
#include <cmath>

using namespace mlir;

namespace tenon {

using graph::Expr;
using Kind = Term::Kind;

namespace {
enum Axis : size_t { Batch, Head, Query, Key };
} // namespace

void requireCover(OpBuilder &builder, Location loc, Expr lhs, Expr rhs) {
  if ((rhs - lhs).isNonNegative())
    return;
  auto sizes = graph::DimsAttr::get(builder.getContext(), {lhs, rhs});
  auto same = [&](graph::RequireOp op) {
    return op.getSizes() == sizes &&
           op.getRelation() == graph::Relation::LessEqual;
  };
  if (llvm::any_of(builder.getBlock()->getOps<graph::RequireOp>(), same))
    return;
  std::string node;
  if (auto name = dyn_cast<NameLoc>(loc))
    node = "node '" + name.getName().str() + "': ";
  graph::RequireOp::create(builder, loc, sizes, graph::Relation::LessEqual,
                           node + "the mask must cover the batch and all keys");
}

AttentionMask::AttentionMask(ArrayRef<Value> addends, ArrayRef<Expr> scores)
    : extents(scores), expressions(addends[0].getContext(), scores) {
  predicate = true;
  for (Value addend : addends) {
    const Term *term = expressions.readAligned(addend);
    zero &= term && term->isNumber(0.0);
    predicate = predicate && term && match(term);
  }
  predicate = predicate && matchWindow();
}

bool AttentionMask::match(const Term *term) {
  if (term->kind != Kind::Select)
    return false;
  const Term *condition = term->operands[0];
  const Term *kept = term->operands[1], *masked = term->operands[2];
  if (!kept->isNumber(0.0)) {
    std::swap(kept, masked);
    condition = expressions.negate(condition);
  }
  if (!condition || !kept->isNumber(0.0) || masked->kind != Kind::Number ||
      std::isnan(masked->number))
    return false;
  filling = std::max(filling, masked->number);
  return addConjuncts(condition);
}

/// Lower ends of the keys count from the upper one.
bool AttentionMask::matchWindow() {
  for (Expr low : lowest) {
    std::optional<int64_t> size;
    if (causal)
      size = (*causal + low + 1).asConstant();
    if (!size || *size < 1 || (windowSize && windowSize != *size))
      return false;
    windowSize = *size;
  }
  return true;
}

bool AttentionMask::addConjuncts(const Term *condition) {
  if (condition->isTrue())
    return true;
  if (condition->kind == Kind::And)
    return addConjuncts(condition->operands[0]) &&
           addConjuncts(condition->operands[1]);
  if (condition->kind == Kind::NonNegative)
    return addPositions(condition->expr);
  if (!isOfKeys(condition, /*boolean=*/true))
    return false;
  keys.push_back(condition);
  return true;
}

/// 0 <= i - j + e, or 0 <= j - i + e.
bool AttentionMask::addPositions(Expr expr) {
  Expr i = expressions.index(Query), j = expressions.index(Key);
  std::optional<int64_t> ofQuery = coefficientOf(expr, i);
  std::optional<int64_t> ofKey = coefficientOf(expr, j);
  if (!ofQuery || !ofKey || (*ofQuery != 1 && *ofQuery != -1) ||
      *ofKey != -*ofQuery)
    return false;
  Expr rest = expr - i * *ofQuery - j * *ofKey;
  if (!rest || expressions.dependsOnIndex(rest))
    return false;
  if (*ofKey == 1) {
    lowest.push_back(rest);
    return true;
  }
  if (causal && *causal != rest)
    return false;
  causal = rest;
  return true;
}

/// Whether an index is a number, or runs along with the batch or the key.
bool AttentionMask::isOfKeys(Expr at, std::optional<size_t> &index) const {
  index.reset();
  for (size_t each : {Batch, Key})
    if (expressions.dependsOn(at, each))
      index = each;
  Expr start = at;
  if (index) {
    if (coefficientOf(at, expressions.index(*index)) != 1)
      return false;
    start = at - expressions.index(*index);
  }
  return start && start.isNonNegative() && !expressions.dependsOnIndex(start);
}

bool AttentionMask::isOfKeys(const Term *term, bool boolean) const {
  if (term->kind == Kind::NonZero)
    return isOfKeys(term->operands[0], /*boolean=*/false);
  if (term->kind == Kind::Computed)
    return graph::getElementType(term->tensor).isInteger(1) == boolean &&
           llvm::all_of(term->operands, [&](const Term *of) {
             if (of->kind != Kind::Load && of->kind != Kind::Computed)
               return true; // A number.
             Type element = graph::getElementType(of->tensor);
             return isOfKeys(of, element.isInteger(1));
           });
  if (term->kind == Kind::Load) {
    size_t last = 0; // One more than the index that was met last.
    for (Expr at : term->at) {
      std::optional<size_t> index;
      if (!isOfKeys(at, index) || (index && *index < last))
        return false;
      last = index ? *index + 1 : last;
    }
    return graph::getElementType(term->tensor).isInteger(1) == boolean;
  }
  bool logic = term->kind == Kind::And || term->kind == Kind::Or ||
               term->kind == Kind::Not;
  return logic && boolean && llvm::all_of(term->operands, [&](const Term *of) {
           return isOfKeys(of, /*boolean=*/true);
         });
}

bool AttentionMask::keepsAKey() const {
  if (!keys.empty())
    return false;
  if (!causal)
    return true;
  // Key i + offset, or without a window the first one, takes part.
  return causal->isNonNegative() &&
         (windowSize == 0 ||
          (extents[Key] - extents[Query] - *causal).isNonNegative());
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The elements [B or 1, T or 1] that a load goes through.
Value AttentionMask::emitLoad(const Term *term, OpBuilder &builder,
                              Location loc) const {
  SmallVector<Expr> starts, sizes, dims = graph::getDims(term->tensor);
  Expr one = Expr::constant(builder.getContext(), 1);
  SmallVector<Expr> shape = {one, one};
  for (auto [at, dim] : llvm::zip(term->at, dims)) {
    std::optional<size_t> index;
    isOfKeys(at, index);
    sizes.push_back(index ? extents[*index] : one);
    starts.push_back(index ? at - expressions.index(*index) : at);
    if (index)
      shape[*index == Key] = extents[*index];
    requireCover(builder, loc, starts.back() + sizes.back(), dim);
  }
  Type element = graph::getElementType(term->tensor);
  Value value = term->tensor;
  if (!starts.empty())
    value = graph::SliceOp::create(
        builder, loc, graph::tensorOf(sizes, element), value,
        graph::DimsAttr::get(builder.getContext(), starts),
        graph::DimsAttr::get(builder.getContext(),
                             SmallVector<Expr>(starts.size(), one)));
  return graph::ReshapeOp::create(builder, loc, graph::tensorOf(shape, element),
                                  value);
}

/// The op on what its operands are at each batch and key.
Value AttentionMask::emitComputed(const Term *term, OpBuilder &builder,
                                  Location loc) const {
  Operation *op = term->tensor.getDefiningOp();
  SmallVector<Value> operands;
  SmallVector<Expr> dims;
  for (auto [operand, of] : llvm::zip(op->getOperands(), term->operands)) {
    Type element = graph::getElementType(operand);
    if (of->kind == Kind::Number)
      operands.push_back(
          scalarOf(builder, loc, builder.getFloatAttr(element, of->number)));
    else if (of->kind == Kind::Integer)
      operands.push_back(
          scalarOf(builder, loc,
                   builder.getIntegerAttr(element, *of->expr.asConstant())));
    else
      operands.push_back(emit(of, builder, loc));
    SmallVector<Expr> each = graph::getDims(operands.back());
    if (dims.empty() || each.empty())
      dims = dims.empty() ? each : dims;
    else
      for (auto [dim, other] : llvm::zip(dims, each))
        dim = dim.isConstant(1) ? other : dim;
  }
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  Type element = graph::getElementType(term->tensor);
  copy->getResult(0).setType(graph::tensorOf(dims, element));
  return copy->getResult(0);
}

Value AttentionMask::emit(const Term *term, OpBuilder &builder,
                          Location loc) const {
  if (term->kind == Kind::Load)
    return emitLoad(term, builder, loc);
  if (term->kind == Kind::Computed)
    return emitComputed(term, builder, loc);
  SmallVector<Value> operands;
  for (const Term *each : term->operands)
    operands.push_back(emit(each, builder, loc));
  SmallVector<Expr> dims = graph::getDims(operands[0]);
  for (Value each : ArrayRef(operands).drop_front())
    for (auto [dim, other] : llvm::zip(dims, graph::getDims(each)))
      dim = dim.isConstant(1) ? other : dim;
  Type boolean = builder.getI1Type();
  switch (term->kind) {
  case Kind::NonZero:
    return graph::CastOp::create(builder, loc, graph::tensorOf(dims, boolean),
                                 operands[0]);
  case Kind::Not:
    return graph::NotOp::create(builder, loc, operands[0].getType(),
                                operands[0]);
  case Kind::And:
    return graph::AndOp::create(builder, loc, operands[0], operands[1]);
  default:
    return graph::OrOp::create(builder, loc, operands[0], operands[1]);
  }
}

void AttentionMask::emitRequirements(OpBuilder &builder, Location loc) const {
  for (auto [lhs, rhs] : expressions.obligations())
    requireCover(builder, loc, lhs, rhs);
}

Value AttentionMask::emitKeyMask(OpBuilder &builder, Location loc) const {
  Value all;
  for (const Term *term : keys) {
    Value each = emit(term, builder, loc);
    all = all ? Value(graph::AndOp::create(builder, loc, all, each)) : each;
  }
  RankedTensorType whole =
      graph::tensorOf({extents[Batch], extents[Key]}, builder.getI1Type());
  if (all.getType() == whole)
    return all;
  return graph::BroadcastOp::create(builder, loc, whole, all);
}

} // namespace tenon
