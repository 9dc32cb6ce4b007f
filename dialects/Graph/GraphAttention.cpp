//===- GraphAttention.cpp - Verifies kinds of attention -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon::graph {
namespace {

/// Numbers that differ; symbols may turn out equal.
bool clash(Expr a, Expr b) {
  return a.asConstant() && b.asConstant() && a != b;
}

LogicalResult checkHeads(AttentionOp op) {
  SmallVector<Expr> query = getDims(op.getQuery()), key = getDims(op.getKey());
  SmallVector<Expr> value = getDims(op.getValue());
  if (query.size() != 4 || key.size() != 4 || value.size() != 4)
    return op.emitOpError("query, key and value must have rank 4");
  Type element = getElementType(op.getQuery());
  if (getElementType(op.getKey()) != element ||
      getElementType(op.getValue()) != element)
    return op.emitOpError("query, key and value differ in element type");
  if (clash(query[0], key[0]) || clash(query[0], value[0]))
    return op.emitOpError("query, key and value differ in batch");
  if (clash(query[3], key[3]))
    return op.emitOpError("query and key differ in head size");
  if (clash(key[1], value[1]) || clash(key[2], value[2]))
    return op.emitOpError("key and value differ in heads or length");
  std::optional<int64_t> heads = query[1].asConstant();
  std::optional<int64_t> keyHeads = key[1].asConstant();
  if (!heads || !keyHeads || *keyHeads < 1 || *heads % *keyHeads != 0)
    return op.emitOpError("heads must be numbers, and those of key divide "
                          "those of query: ")
           << query[1].str() << " and " << key[1].str();
  RankedTensorType result =
      tensorOf({query[0], query[1], query[2], value[3]}, element);
  if (op.getResult().getType() != result)
    return op.emitOpError("result must be ") << result;
  return success();
}

LogicalResult checkMasks(AttentionOp op) {
  SmallVector<Expr> query = getDims(op.getQuery()), key = getDims(op.getKey());
  if (Value mask = op.getKeyMask()) {
    SmallVector<Expr> dims = getDims(mask);
    if (dims.size() != 2 || clash(dims[0], query[0]) || clash(dims[1], key[2]))
      return op.emitOpError("key_mask must be [batch, keys]");
  }
  if (Value offsets = op.getOffsets())
    if (getRank(offsets) != 1 || clash(getDim(offsets, 0), query[0]))
      return op.emitOpError("offsets must be [batch]");
  if (op.getOffset().size() != 1)
    return op.emitOpError("offset is one size");
  if (op.getWindow() > uint64_t(INT64_MAX) ||
      (op.getWindow() > 0 && !op.getCausal()))
    return op.emitOpError("a window needs causal");
  for (Value bias : op.getBiases()) {
    SmallVector<Expr> dims = getDims(bias);
    if (dims.size() != 4 ||
        getElementType(bias) != getElementType(op.getQuery()))
      return op.emitOpError("a bias must have rank 4 and the element type of "
                            "query");
    Expr whole[] = {query[1], query[2], key[2]};
    for (auto [dim, all] : llvm::zip(ArrayRef(dims).drop_front(), whole))
      if (!dim.isConstant(1) && clash(dim, all))
        return op.emitOpError("a bias has size ")
               << dim.str() << " where 1 or " << all.str() << " is needed";
  }
  return success();
}

/// Whether an operand has these dims, as far as numbers say; null: it is left
/// out.
bool fits(Value operand, ArrayRef<Expr> dims) {
  if (!operand)
    return true;
  SmallVector<Expr> own = getDims(operand);
  return own.size() == dims.size() &&
         !llvm::any_of(llvm::zip(own, dims), [](auto pair) {
           return clash(std::get<0>(pair), std::get<1>(pair));
         });
}

} // namespace

LogicalResult LinearAttentionOp::verify() {
  for (Value operand : getOperands())
    if (!getElementType(operand).isF32())
      return emitOpError("operands must be of f32");
  SmallVector<Expr> query = getDims(getQuery()), value = getDims(getValue());
  if (query.size() != 4 || value.size() != 4 || getRank(getKey()) != 4)
    return emitOpError("query, key and value must have rank 4");
  Expr batch = query[0], steps = query[1], depth = query[3];
  Expr states = value[2], one = Expr::constant(getContext(), 1);
  std::optional<int64_t> heads = query[2].asConstant();
  std::optional<int64_t> ofState = states.asConstant();
  if (!heads || !ofState || *ofState < 1 || *heads % *ofState != 0)
    return emitOpError("heads must be numbers, and those of value divide those "
                       "of query: ")
           << query[2].str() << " and " << states.str();
  if (!fits(getKey(), {batch, steps, states, depth}) ||
      !fits(getValue(), {batch, steps, states, value[3]}))
    return emitOpError("query, key and value differ in batch, steps, heads or "
                       "head size");
  if (!fits(getState(), {batch, states, depth, value[3]}))
    return emitOpError("state must be [batch, heads, key size, value size]");
  if (!fits(getDecay(), {batch, steps, states, depth}) &&
      !fits(getDecay(), {batch, steps, states, one}))
    return emitOpError("decay must be [batch, steps, heads, key size or 1]");
  if (!fits(getBeta(), {batch, steps, states}) &&
      !fits(getBeta(), {batch, steps, one}))
    return emitOpError("beta must be [batch, steps, heads or 1]");
  Type element = getElementType(getQuery());
  if (getAll().getType() !=
          tensorOf({batch, steps, query[2], value[3]}, element) ||
      getLast().getType() !=
          tensorOf({batch, states, depth, value[3]}, element))
    return emitOpError("results must be [batch, steps, heads, value size] and "
                       "[batch, heads of value, key size, value size]");
  return success();
}

LogicalResult AttentionOp::verify() {
  return success(succeeded(checkHeads(*this)) && succeeded(checkMasks(*this)));
}

} // namespace tenon::graph
