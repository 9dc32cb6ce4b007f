//===- GraphAttention.cpp - Verifies graph.attention ----------------------===//
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

} // namespace

LogicalResult AttentionOp::verify() {
  return success(succeeded(checkHeads(*this)) && succeeded(checkMasks(*this)));
}

} // namespace tenon::graph
