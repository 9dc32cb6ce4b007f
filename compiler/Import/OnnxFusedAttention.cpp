//===- OnnxFusedAttention.cpp - The attentions of com.microsoft -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/AttentionParts.h"
#include "compiler/Import/OpFamilies.h"

#include <limits>

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

constexpr double infinity = std::numeric_limits<double>::infinity();

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
                           "use one of shape [B], [2 B], [B, T] or [B, S, T]");
    return {};
  }
  SmallVector<int64_t> heads = {1, 2};
  Value kept = node.cast(mask, node.boolean());
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
    Value offset = past ? sizeScalar(node, node.dimOf(past, 2)) : Value();
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

LogicalResult convertFusedAttention(NodeConverter &node) {
  Value x = node.input(0), weight = node.input(1), bias = node.optionalInput(2);
  Value mask = node.optionalInput(3), past = node.optionalInput(4);
  Value addend = node.optionalInput(5);
  int64_t heads = headsAttr(node, "num_heads");
  if (node.failed() || failed(refuseUncommon(node)) ||
      failed(node.expectRank(x, 3, "the input")) ||
      failed(node.expectRank(weight, 2, "the weight")))
    return failure();
  Value packed = node.matmul(x, weight);
  if (bias)
    packed = node.add(packed, bias);
  auto widths = packedWidths(node, node.dimOf(weight, 1));
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

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Batch entries may have pasts of different lengths in buffers of one. With
/// t[b] = seqlens_k[b] + 1 keys, the past is t[b] - S long, or nothing when
/// the queries are all there is (S = total).
class GroupQuery {
public:
  explicit GroupQuery(NodeConverter &node) : node(node) {}
  LogicalResult convert();

private:
  LogicalResult refuse();
  /// Splits query, key and value into [B, S, heads, D].
  LogicalResult readOperands();
  /// The length of the past per batch entry, i64 [B].
  Value pastLengths();
  /// Query and key turned by their positions.
  LogicalResult rotate(Value pastLength);
  /// `fresh` written into `buffer` behind the past.
  Value append(Value buffer, Value fresh, Value pastLength);
  Value bias(Value pastLength);
  /// i64 [B], shaped [B, 1, ..] of a rank.
  Value perBatch(Value value, size_t rank) {
    Emitter::Exprs dims(rank, node.size(1));
    dims[0] = batch;
    return node.reshape(value, dims);
  }

  NodeConverter &node;
  int64_t heads = 0, keyHeads = 0;
  Value query, key, value;      // [B, S, heads, D]
  Expr batch, length, headSize; // B, S, D
  Expr total, capacity;         // Keys, and places in the present buffers.
};

LogicalResult GroupQuery::refuse() {
  if (node.flagAttr("smooth_softmax", false) || node.hasInput(11))
    return node.unsupported("smooth_softmax and head_sink are not computed");
  if (node.intAttr("qk_output", 0) != 0)
    return node.unsupported("the output of the scores is not computed");
  if (node.hasAttr("k_quant_type") &&
      node.stringAttr("k_quant_type", "NONE") != "NONE")
    return node.unsupported("a quantized cache is not supported");
  return node.result();
}

LogicalResult GroupQuery::readOperands() {
  heads = headsAttr(node, "num_heads");
  keyHeads = headsAttr(node, "kv_num_heads");
  Value packed = node.input(0);
  if (node.failed() || failed(node.expectRank(packed, 3, "the query")))
    return failure();
  Emitter::Exprs dims = node.dimsOf(packed);
  batch = dims[0];
  length = dims[1];
  bool isPacked = !node.hasInput(1);
  Expr count = node.size(heads + (isPacked ? 2 * keyHeads : 0));
  node.require(count, Relation::Divides, dims[2],
               "the numbers of heads must divide the width");
  headSize = dims[2].floorDiv(count);
  if (node.failed())
    return failure();
  auto headsOf = [&](Value part, int64_t number) {
    return node.reshape(part, {batch, length, node.size(number), headSize});
  };
  if (!isPacked) {
    query = headsOf(packed, heads);
    key = headsOf(node.input(1), keyHeads);
    value = headsOf(node.input(2), keyHeads);
    return node.result();
  }
  Value all = headsOf(packed, heads + 2 * keyHeads);
  query = node.slice(all, 2, node.size(0), node.size(heads));
  key = node.slice(all, 2, node.size(heads), node.size(keyHeads));
  value = node.slice(all, 2, node.size(heads + keyHeads), node.size(keyHeads));
  return node.result();
}

Value GroupQuery::pastLengths() {
  Type index = node.integer(64);
  Value keys = node.add(node.cast(node.input(5), index), 1);
  Value count = sizeScalar(node, length);
  Value isPrompt = node.emit<graph::EqualOp>({count, sizeScalar(node, total)});
  return node.select(isPrompt, node.scalar(index, 0), node.sub(keys, count));
}

LogicalResult GroupQuery::rotate(Value pastLength) {
  Value cosines = node.input(7), sines = node.input(8);
  bool interleaved = node.flagAttr("rotary_interleaved", false);
  Value position = node.optionalInput(9);
  if (!position)
    position =
        node.add(perBatch(pastLength, 2), node.iota(length, node.integer(64)));
  auto rows = [&](Value table) {
    return node.emit<graph::GatherOp>({table, position}, node.i64("axis", 0));
  };
  if (node.failed() || failed(node.expectRank(cosines, 2, "the cos table")) ||
      failed(node.expectRank(sines, 2, "the sin table")))
    return failure();
  Value cos = rows(cosines), sin = rows(sines);
  query = rotated(node, query, cos, sin, interleaved);
  key = rotated(node, key, cos, sin, interleaved);
  return node.result();
}

Value GroupQuery::append(Value buffer, Value fresh, Value pastLength) {
  fresh = node.transpose(fresh, {0, 2, 1, 3});
  Type element = node.elementOf(fresh);
  if (node.failed())
    return {};
  Emitter::Exprs dims = {batch, node.size(keyHeads), capacity, headSize};
  if (!buffer) {
    buffer = node.broadcast(node.scalar(element, 0), dims);
  } else {
    auto mode =
        graph::PadModeAttr::get(node.context(), graph::PadMode::Constant);
    Type type = graph::tensorOf(dims, element);
    if (!type || failed(node.expectRank(buffer, 4, "the past")))
      return {};
    buffer = node.emit<graph::PadOp>(
        {buffer, node.scalar(element, 0)},
        {node.dims("low", node.sizes({0, 0, 0, 0})), node.attr("mode", mode)},
        type);
  }
  Type index = node.integer(64);
  Value step = node.unsqueeze(node.iota(length, index), 1); // [S, 1]
  Value place = node.broadcast(node.add(step, perBatch(pastLength, 4)),
                               node.dimsOf(fresh));
  auto kind =
      graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
  return node.emit<graph::ScatterElementsOp>(
      {buffer, place, fresh}, {node.i64("axis", 2), node.attr("kind", kind)});
}

Value GroupQuery::bias(Value pastLength) {
  Window window;
  window.causal = true;
  int64_t local = node.intAttr("local_window_size", -1);
  if (local > INT32_MAX) {
    (void)node.invalid("local_window_size is too large");
    return {};
  }
  window.left = local > 0 ? local - 1 : -1;
  Value visible =
      visibleKeys(node, window, length, capacity, perBatch(pastLength, 4));
  Value result = biasOf(node, visible, node.elementOf(query), -infinity);
  Value addend = node.optionalInput(10);
  if (!addend || node.failed())
    return result;
  Emitter::Exprs dims = node.dimsOf(addend);
  if (dims.empty() || dims.back() == capacity)
    return node.add(result, addend);
  // The buffers are longer than the keys that the addend speaks of.
  node.require(dims.back(), Relation::LessEqual, capacity,
               "attention_bias must not be longer than the keys");
  Emitter::Exprs low(dims.size(), node.size(0));
  dims.back() = capacity;
  auto mode = graph::PadModeAttr::get(node.context(), graph::PadMode::Constant);
  Type type = graph::tensorOf(dims, node.elementOf(addend));
  return node.add(result,
                  node.emit<graph::PadOp>(
                      {addend, node.scalar(node.elementOf(addend), 0)},
                      {node.dims("low", low), node.attr("mode", mode)}, type));
}

LogicalResult GroupQuery::convert() {
  if (failed(refuse()) || failed(readOperands()))
    return failure();
  Value pastKey = node.optionalInput(3), pastValue = node.optionalInput(4);
  if (bool(pastKey) != bool(pastValue))
    return node.invalid("past_key and past_value must be given together");
  if (pastKey && failed(node.expectRank(pastKey, 4, "the past")))
    return failure();
  Emitter::Exprs totals = node.readSizes(node.input(6));
  if (node.failed())
    return failure();
  if (totals.size() != 1)
    return node.invalid("total_sequence_length must be one number");
  total = totals[0];
  capacity = pastKey ? total.max(node.dimOf(pastKey, 2)) : total;
  Value pastLength = node.reshape(pastLengths(), batch);
  if (node.flagAttr("do_rotary", false) && failed(rotate(pastLength)))
    return failure();
  AttentionCore core;
  core.key = append(pastKey, key, pastLength);
  core.value = append(pastValue, value, pastLength);
  core.query = node.transpose(query, {0, 2, 1, 3});
  double scale = node.floatAttr("scale", 0);
  core.scale = scale != 0 ? scale : defaultScale(node, headSize);
  core.softcap = node.floatAttr("softcap", 0);
  core.bias = bias(pastLength);
  node.setOutput(0, mergeHeads(node, attention(node, core).output));
  if (node.wantsOutput(1))
    node.setOutput(1, core.key);
  if (node.wantsOutput(2))
    node.setOutput(2, core.value);
  return node.result();
}

LogicalResult convertGroupQuery(NodeConverter &node) {
  return GroupQuery(node).convert();
}

} // namespace

ArrayRef<OpRow> fusedAttentionRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "Attention", {1}, convertFusedAttention},
      {"com.microsoft", "GroupQueryAttention", {1}, convertGroupQuery},
      {"com.microsoft", "MultiHeadAttention", {1}, convertMultiHead},
  };
  return rows;
}

} // namespace tenon
