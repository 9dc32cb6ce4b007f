//===- OnnxFusedAttention.cpp - Attentions of com.microsoft -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/AttentionParts.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

//===----------------------------------------------------------------------===//
// Attention, MultiHeadAttention
//===----------------------------------------------------------------------===//

/// A row of bools [1, T] or, per batch entry, [B, 1, 1, T]: j < or >= `limit`.
Value keysBelow(NodeConverter &node, Expr keys, Value limit, bool below) {
  Type index = node.integer(64);
  Emitter::Exprs dims = node.dimsOf(limit);
  if (node.failed())
    return {};
  Value perBatch =
      node.reshape(node.cast(limit, index),
                   {dims[0], node.size(1), node.size(1), node.size(1)});
  Value key = node.iota(keys, index);
  return below ? node.emit<graph::LessOp>({key, perBatch})
               : node.emit<graph::LessEqualOp>({perBatch, key});
}

/// The keys that a mask keeps, in one of its forms: a count per batch entry,
/// ends then starts, or one number per key (and query).
Value keptKeys(NodeConverter &node, Value mask, Expr batch, Expr keys) {
  Emitter::Exprs dims = node.dimsOf(mask);
  if (node.failed())
    return {};
  if (dims.size() == 1 && dims[0] == batch)
    return keysBelow(node, keys, mask, true);
  if (dims.size() == 1 && dims[0] == batch * 2) {
    Value ends = node.slice(mask, 0, node.size(0), batch);
    Value starts = node.slice(mask, 0, batch, batch);
    return bothVisible(node, keysBelow(node, keys, ends, true),
                       keysBelow(node, keys, starts, false));
  }
  if (dims.size() != 2 && dims.size() != 3) {
    (void)node.unsupported("a mask of this shape is not supported",
                           "use one of shape [B], [2 B], [B, T] or [B, S, T]; "
                           "--dim NAME=OTHER says which a size is");
    return {};
  }
  SmallVector<int64_t> heads = {1, 2};
  // Of more than 0, unlike in a cast to bool.
  Value kept =
      node.emit<graph::LessOp>({node.scalar(node.elementOf(mask), 0), mask});
  return node.unsqueeze(kept, ArrayRef(heads).take_front(4 - dims.size()));
}

/// What the masks of Attention and MultiHeadAttention add to the scores.
Value fusedBias(NodeConverter &node, const AttentionCore &core, Value mask,
                Value addend, Value past) {
  Emitter::Exprs query = node.dimsOf(core.query), key = node.dimsOf(core.key);
  bool causal = node.flagAttr("unidirectional", false);
  double hidden = node.floatAttr("mask_filter_value", -10000);
  if (node.failed())
    return {};
  Type element = node.elementOf(core.query);
  Value bias = addend;
  auto include = [&](Value part) { bias = bias ? node.add(bias, part) : part; };
  if (mask)
    include(
        biasOf(node, keptKeys(node, mask, query[0], key[2]), element, hidden));
  if (causal) {
    Window window;
    window.causal = true;
    Value offset = past ? node.sizeScalar(node.dimOf(past, 2)) : Value();
    include(biasOf(node, visibleKeys(node, window, query[2], key[2], offset),
                   element, -infinity));
  }
  return bias;
}

/// One of the two halves of a past [2, B, H, P, D].
Value halfOf(NodeConverter &node, Value past, int64_t i) {
  return node.squeeze(node.slice(past, 0, node.size(i), node.size(1)), 0);
}

/// The widths of q, k and v in the columns of the packed weight.
std::optional<Emitter::Exprs> packedWidths(NodeConverter &node, Expr total) {
  SmallVector<int64_t> given = node.intsAttr("qkv_hidden_sizes");
  if (node.failed())
    return std::nullopt;
  if (given.empty()) {
    node.require(node.size(3), Relation::Divides, total,
                 "the columns of the weight must be those of q, k and v");
    return Emitter::Exprs(3, total.floorDiv(node.size(3)));
  }
  if (given.size() != 3 ||
      llvm::any_of(given, [](int64_t n) { return n < 1 || n > INT32_MAX; })) {
    (void)node.invalid("qkv_hidden_sizes must be three positive numbers");
    return std::nullopt;
  }
  return node.sizes(given);
}

LogicalResult refuseUncommon(NodeConverter &node) {
  if (node.flagAttr("do_rotary", false))
    return node.unsupported("do_rotary is not computed here");
  if (node.flagAttr("past_present_share_buffer", false))
    return node.unsupported("a shared buffer of past and present is not "
                            "supported",
                            "export with past_present_share_buffer = 0");
  return node.result();
}

/// What Attention does with q, k and v that lie beside each other in `packed`
/// [B, S, widths].
LogicalResult attendPacked(NodeConverter &node, Value packed, Value mask,
                           Value past, Value addend) {
  int64_t heads = headsAttr(node, "num_heads");
  auto widths = packedWidths(node, node.dimOf(packed, 2));
  if (!widths || node.failed())
    return failure();
  Value parts[3];
  Expr start = node.size(0);
  for (auto [part, width] : llvm::zip(parts, *widths)) {
    part = splitHeads(node, node.slice(packed, 2, start, width), heads);
    start = start + width;
  }
  Value pastKey;
  if (past) {
    if (failed(node.expectRank(past, 5, "the past")))
      return failure();
    pastKey = halfOf(node, past, 0);
    parts[1] = node.concat({pastKey, parts[1]}, 2);
    parts[2] = node.concat({halfOf(node, past, 1), parts[2]}, 2);
  }
  AttentionCore core{parts[0], parts[1], parts[2], {}};
  if (node.failed())
    return failure();
  double scale = node.floatAttr("scale", 0);
  core.scale = scale != 0 ? scale : defaultScale(node, node.dimOf(parts[0], 3));
  core.bias = fusedBias(node, core, mask, addend, pastKey);
  node.setOutput(0, mergeHeads(node, attention(node, core).output));
  if (node.wantsOutput(1))
    node.setOutput(
        1, node.concat(
               {node.unsqueeze(parts[1], 0), node.unsqueeze(parts[2], 0)}, 0));
  return node.result();
}

/// The input [B, S, in] and the weight [in, widths], checked.
LogicalResult readPacked(NodeConverter &node, Value &x, Value &weight) {
  x = node.input(0);
  weight = node.input(1);
  if (node.failed() || failed(refuseUncommon(node)) ||
      failed(node.expectRank(x, 3, "the input")) ||
      failed(node.expectRank(weight, 2, "the weight")))
    return failure();
  return success();
}

LogicalResult convertFusedAttention(NodeConverter &node) {
  Value x, weight, bias = node.optionalInput(2);
  if (failed(readPacked(node, x, weight)))
    return failure();
  Value packed = node.matmul(x, weight);
  if (bias)
    packed = node.add(packed, bias);
  return attendPacked(node, packed, node.optionalInput(3),
                      node.optionalInput(4), node.optionalInput(5));
}

/// The product that makes q, k and v is of bytes, and exact.
LogicalResult convertQuantizedAttention(NodeConverter &node) {
  Value x, weight, bias = node.input(2);
  if (failed(readPacked(node, x, weight)))
    return failure();
  auto scalarOrColumns = [&](Value value) {
    return alongAxis(node, value, 0, 1);
  };
  Value sums = node.matmul(
      centered(node, x, scalarOrColumns(node.optionalInput(6))),
      centered(node, weight, scalarOrColumns(node.optionalInput(7))));
  Value scale =
      node.mul(scalarOrColumns(node.input(3)), scalarOrColumns(node.input(4)));
  if (node.failed())
    return failure();
  Value packed = node.mul(node.cast(sums, node.elementOf(scale)), scale);
  return attendPacked(node, node.add(packed, bias), node.optionalInput(5),
                      node.optionalInput(8), {});
}

/// Query, key and value of MultiHeadAttention as [B, H, S, D].
struct Projections {
  Value query, key, value;
};

/// Entry i of axis 3 of a packed [B, S, H, n, D], as [B, H, S, D].
Value unpackedHeads(NodeConverter &node, Value packed, int64_t i) {
  Value part = node.slice(packed, 3, node.size(i), node.size(1));
  return node.transpose(node.squeeze(part, 3), {0, 2, 1, 3});
}

/// x [B, S, W] plus columns [start, start + W) of a bias.
Value plusBias(NodeConverter &node, Value x, Value bias, Expr start) {
  if (!bias || node.failed())
    return x;
  return node.add(x, node.slice(bias, 0, start, node.dimOf(x, 2)));
}

std::optional<Projections> projections(NodeConverter &node, int64_t heads) {
  Value query = node.input(0), key = node.optionalInput(1);
  Value value = node.optionalInput(2), bias = node.optionalInput(3);
  size_t rank = node.dimsOf(query).size();
  if (node.failed())
    return std::nullopt;
  if (rank == 5) {
    if (bias) {
      (void)node.unsupported("a bias of packed operands is not supported");
      return std::nullopt;
    }
    return Projections{unpackedHeads(node, query, 0),
                       unpackedHeads(node, query, 1),
                       unpackedHeads(node, query, 2)};
  }
  if (!key || rank != 3) {
    (void)node.invalid(
        "it needs a packed query, or a query of rank 3 and a key");
    return std::nullopt;
  }
  Projections result;
  result.query =
      splitHeads(node, plusBias(node, query, bias, node.size(0)), heads);
  size_t keyRank = node.dimsOf(key).size();
  if (keyRank == 5) {
    result.key = unpackedHeads(node, key, 0);
    result.value = unpackedHeads(node, key, 1);
    return result;
  }
  if (!value) {
    (void)node.invalid("it needs a value beside the key");
    return std::nullopt;
  }
  if (keyRank == 4) { // Ready from an earlier step.
    result.key = key;
    result.value = value;
    return result;
  }
  if (keyRank != 3 || failed(node.expectRank(value, 3, "the value")))
    return std::nullopt;
  Expr width = node.dimOf(query, 2);
  result.key = splitHeads(node, plusBias(node, key, bias, width), heads);
  result.value = splitHeads(
      node, plusBias(node, value, bias, width + node.dimOf(key, 2)), heads);
  return result;
}

LogicalResult convertMultiHead(NodeConverter &node) {
  int64_t heads = headsAttr(node, "num_heads");
  if (node.failed() || failed(refuseUncommon(node)))
    return failure();
  if (node.hasInput(8) || node.hasInput(9))
    return node.unsupported("a shared buffer of past and present is not "
                            "supported",
                            "export without past_sequence_length");
  std::optional<Projections> parts = projections(node, heads);
  if (!parts)
    return failure();
  Value mask = node.optionalInput(4), addend = node.optionalInput(5);
  Value pastKey = node.optionalInput(6), pastValue = node.optionalInput(7);
  if (bool(pastKey) != bool(pastValue))
    return node.invalid("past_key and past_value must be given together");
  if (pastKey) {
    if (failed(node.expectRank(pastKey, 4, "the past")))
      return failure();
    parts->key = node.concat({pastKey, parts->key}, 2);
    parts->value = node.concat({pastValue, parts->value}, 2);
  }
  AttentionCore core{parts->query, parts->key, parts->value, {}};
  if (node.failed())
    return failure();
  double scale = node.floatAttr("scale", 0);
  core.scale =
      scale != 0 ? scale : defaultScale(node, node.dimOf(parts->query, 3));
  core.bias = fusedBias(node, core, mask, addend, pastKey);
  AttentionResult result = attention(node, core);
  node.setOutput(0, mergeHeads(node, result.output));
  Value others[] = {parts->key, parts->value, result.scores};
  for (unsigned i = 1; i < 4; ++i)
    if (node.wantsOutput(i))
      node.setOutput(i, others[i - 1]);
  return node.result();
}

} // namespace

ArrayRef<OpRow> fusedAttentionRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "Attention", {1}, convertFusedAttention},
      {"com.microsoft", "MultiHeadAttention", {1}, convertMultiHead},
      {"com.microsoft", "QAttention", {1}, convertQuantizedAttention},
  };
  return rows;
}

} // namespace tenon
