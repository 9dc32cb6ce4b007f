//===- AttentionParts.cpp - What all attention operators are made of ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/AttentionParts.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon {

using graph::Expr;
using graph::Relation;

namespace {

/// [B, KV, M, N] -> [B, heads, M, N], each head next to its copies. The
/// recogniser of attention reads them in place.
Value repeatHeads(NodeConverter &node, Value value, Expr heads) {
  Emitter::Exprs dims = node.dimsOf(value);
  if (node.failed() || dims[1] == heads)
    return value;
  node.require(dims[1], Relation::Divides, heads,
               "heads of the keys must divide those of the queries");
  if (node.failed() || dims[1].isConstant(0))
    return {};
  Value copies = node.broadcast(
      node.unsqueeze(value, 2),
      {dims[0], dims[1], heads.floorDiv(dims[1]), dims[2], dims[3]});
  return node.reshape(copies, {dims[0], heads, dims[2], dims[3]});
}

Value capped(NodeConverter &node, Value scores, double softcap) {
  Value ratio = node.div(scores, softcap);
  return ratio
             ? node.mul(node.emit<graph::TanhOp>({ratio}, {}, ratio.getType()),
                        softcap)
             : Value();
}

/// Zeros for the rows in which `bias` hides every key.
Value zeroHiddenRows(NodeConverter &node, Value weights, Value bias) {
  int64_t last = int64_t(node.dimsOf(bias).size()) - 1;
  Value highest = node.reduce(bias, last, graph::ReduceKind::Max);
  Value isHidden = node.emit<graph::IsInfOp>(
      {highest}, {node.flag("negative", true), node.flag("positive", false)});
  return node.select(isHidden, node.scalar(node.elementOf(weights), 0),
                     weights);
}

} // namespace

AttentionResult attention(NodeConverter &node, const AttentionCore &core) {
  AttentionResult result;
  if (node.failed())
    return result;
  for (Value operand : {core.query, core.key, core.value})
    if (!operand ||
        failed(node.expectRank(operand, 4, "a query, key or value")))
      return result;
  Type element = node.elementOf(core.query);
  Expr heads = node.dimOf(core.query, 1);
  Value key = repeatHeads(node, core.key, heads);
  result.scores = node.matmul(node.mul(core.query, core.scale),
                              node.transpose(key, {0, 1, 3, 2}));
  result.capped = core.softcap == 0 ? result.scores
                                    : capped(node, result.scores, core.softcap);
  result.biased =
      core.bias ? node.add(result.capped, core.bias) : result.capped;
  Value scores = core.softmaxType ? node.cast(result.biased, core.softmaxType)
                                  : result.biased;
  if (core.scoresOf)
    scores = core.scoresOf(scores);
  result.weights = node.softmax(scores, 3);
  if (core.weightsOf)
    result.weights = core.weightsOf(result.weights);
  if (core.bias && core.zeroWhereAllMasked)
    result.weights = zeroHiddenRows(node, result.weights, core.bias);
  result.weights = node.cast(result.weights, element);
  result.output =
      node.matmul(result.weights, repeatHeads(node, core.value, heads));
  return result;
}

Value splitHeads(NodeConverter &node, Value value, int64_t heads) {
  if (node.failed() || failed(node.expectRank(value, 3, "a packed operand")))
    return {};
  Emitter::Exprs dims = node.dimsOf(value);
  Expr count = node.size(heads);
  node.require(count, Relation::Divides, dims[2],
               "the number of heads must divide the width");
  if (node.failed())
    return {};
  Value split =
      node.reshape(value, {dims[0], dims[1], count, dims[2].floorDiv(count)});
  return node.transpose(split, {0, 2, 1, 3});
}

Value mergeHeads(NodeConverter &node, Value value) {
  Value rows = node.transpose(value, {0, 2, 1, 3});
  Emitter::Exprs dims = node.dimsOf(rows);
  if (node.failed())
    return {};
  return node.reshape(rows, {dims[0], dims[1], dims[2] * dims[3]});
}

int64_t headsAttr(NodeConverter &node, StringRef name) {
  int64_t heads = node.intAttr(name);
  if (node.failed())
    return 0;
  if (heads < 1 || heads > 65536) {
    (void)node.invalid(Twine(name) + " must be positive, not " + Twine(heads));
    return 0;
  }
  return heads;
}

double defaultScale(NodeConverter &node, Expr headSize) {
  std::optional<int64_t> size = headSize ? headSize.asConstant() : std::nullopt;
  if (!size || *size < 1) {
    (void)node.unsupported("the head size is not a positive number",
                           "export with a fixed head size, or give a scale");
    return 1;
  }
  return 1 / std::sqrt(double(*size));
}

Value bothVisible(NodeConverter &node, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return node.emit<graph::AndOp>({lhs, rhs});
}

Value keysAhead(NodeConverter &node, Expr queries, Expr keys, Value offset) {
  Type index = node.integer(64);
  Value place = node.unsqueeze(node.iota(queries, index), 1);
  if (offset)
    place = node.add(place, offset);
  return node.sub(node.iota(keys, index), place);
}

Value visibleKeys(NodeConverter &node, const Window &window, Expr queries,
                  Expr keys, Value offset) {
  if (node.failed() || (!window.causal && window.left < 0 && window.right < 0))
    return {};
  Value ahead = keysAhead(node, queries, keys, offset);
  auto within = [&](Value lhs, Value rhs) {
    return node.emit<graph::LessEqualOp>({lhs, rhs});
  };
  Value visible;
  if (window.causal)
    visible = within(ahead, node.scalar(node.integer(64), 0));
  if (window.right >= 0)
    visible = bothVisible(
        node, visible, within(ahead, node.sizeScalar(node.size(window.right))));
  if (window.left >= 0)
    visible = bothVisible(
        node, visible, within(node.sizeScalar(node.size(-window.left)), ahead));
  return visible;
}

Value biasOf(NodeConverter &node, Value mask, Type element, double hidden) {
  return node.select(mask, node.scalar(element, 0),
                     node.scalar(element, hidden));
}

namespace {

/// Every second element of the last axis, from `start` on.
Value everySecond(NodeConverter &node, Value x, int64_t start, Expr count) {
  Emitter::Exprs to = node.dimsOf(x);
  if (node.failed())
    return {};
  Emitter::Exprs starts(to.size(), node.size(0)),
      steps(to.size(), node.size(1));
  starts.back() = node.size(start);
  steps.back() = node.size(2);
  to.back() = count;
  return node.emit<graph::SliceOp>(
      {x}, {node.dims("starts", starts), node.dims("steps", steps)},
      graph::tensorOf(to, node.elementOf(x)));
}

/// Whether graph.rotary takes heads [B, H, S, D] and these tables: all sizes
/// must be proven to fit, since it does not broadcast positions.
bool isRotary(NodeConverter &node, ArrayRef<Expr> heads, Value cosines,
              Value sines) {
  Emitter::Exprs table = node.dimsOf(cosines);
  std::optional<int64_t> half = table[2].asConstant(),
                         width = heads[3].asConstant();
  return table == node.dimsOf(sines) && half && width && 2 * *half <= *width &&
         (table[0].isConstant(1) || table[0] == heads[0]) &&
         table[1] == heads[2];
}

/// The rotation written out, for sizes that are only known at run time.
Value rotatedByParts(NodeConverter &node, Value x, Value cosines, Value sines,
                     bool interleaved) {
  if (node.failed())
    return {};
  Emitter::Exprs dims = node.dimsOf(x);
  Expr half = node.dimOf(cosines, 2), width = half * 2;
  node.require(width, Relation::LessEqual, dims[3],
               "the rotation must fit the head size");
  Value turning = node.slice(x, 3, node.size(0), width);
  Value cos = node.unsqueeze(cosines, 2), sin = node.unsqueeze(sines, 2);
  Value first = interleaved ? everySecond(node, turning, 0, half)
                            : node.slice(turning, 3, node.size(0), half);
  Value second = interleaved ? everySecond(node, turning, 1, half)
                             : node.slice(turning, 3, half, half);
  Value real = node.sub(node.mul(first, cos), node.mul(second, sin));
  Value imaginary = node.add(node.mul(first, sin), node.mul(second, cos));
  Value turned;
  if (interleaved) {
    Value pairs =
        node.concat({node.unsqueeze(real, 4), node.unsqueeze(imaginary, 4)}, 4);
    turned = node.reshape(pairs, {dims[0], dims[1], dims[2], width});
  } else {
    turned = node.concat({real, imaginary}, 3);
  }
  if (width == dims[3])
    return turned;
  Value rest = node.slice(x, 3, width, dims[3] - width);
  return node.concat({turned, rest}, 3);
}

} // namespace

Value rotated(NodeConverter &node, Value x, Value cosines, Value sines,
              bool interleaved) {
  if (node.failed() || failed(node.expectRank(x, 4, "the rotated input")) ||
      failed(node.expectRank(cosines, 3, "the cosines")) ||
      failed(node.expectRank(sines, 3, "the sines")))
    return {};
  Value heads = node.transpose(x, {0, 2, 1, 3});
  if (node.failed() || !isRotary(node, node.dimsOf(heads), cosines, sines))
    return rotatedByParts(node, x, cosines, sines, interleaved);
  auto order = BoolAttr::get(node.context(), interleaved);
  Value turned = node.emit<graph::RotaryOp>({heads, cosines, sines},
                                            {node.attr("interleaved", order)});
  return node.transpose(turned, {0, 2, 1, 3});
}

} // namespace tenon
