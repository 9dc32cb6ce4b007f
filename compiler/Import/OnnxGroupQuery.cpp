//===- OnnxGroupQuery.cpp - GroupQueryAttention of com.microsoft ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/AttentionParts.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

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
  /// The past in a buffer of the present's size, zero behind what is valid.
  Value validPast(Value past, Value pastLength);
  /// `fresh` written behind the past.
  Value append(Value past, Value fresh, Value pastLength);
  Value bias(Value pastLength);
  /// The op of the dialect, which knows pasts per batch entry.
  Value attend(Value pastLength, const AttentionCore &core);
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
  Value count = node.sizeScalar(length);
  Value isPrompt = node.emit<graph::EqualOp>({count, node.sizeScalar(total)});
  return node.select(isPrompt, node.scalar(index, 0), node.sub(keys, count));
}

LogicalResult GroupQuery::rotate(Value pastLength) {
  Value cosines = node.input(7), sines = node.input(8);
  bool interleaved = node.flagAttr("rotary_interleaved", false);
  Value position = node.optionalInput(9);
  if (!position)
    position =
        node.add(perBatch(pastLength, 2), node.iota(length, node.integer(64)));
  auto rows = [&](Value table) { return node.gather(table, position); };
  if (node.failed() || failed(node.expectRank(cosines, 2, "the cos table")) ||
      failed(node.expectRank(sines, 2, "the sin table")))
    return failure();
  Value cos = rows(cosines), sin = rows(sines);
  query = rotated(node, query, cos, sin, interleaved);
  key = rotated(node, key, cos, sin, interleaved);
  return node.result();
}

Value GroupQuery::validPast(Value past, Value pastLength) {
  Emitter::Exprs dims = node.dimsOf(past);
  if (node.failed() || failed(node.expectRank(past, 4, "the past")))
    return {};
  Emitter::Exprs to = {batch, node.size(keyHeads), capacity, headSize};
  for (int64_t axis : {0, 1, 3})
    node.require(
        dims[axis], Relation::Equal, to[axis],
        "the past must have the batch, heads and head size of the key");
  Type element = node.elementOf(past);
  Type type = graph::tensorOf(to, element);
  auto mode = graph::PadModeAttr::get(node.context(), graph::PadMode::Constant);
  Value zero = node.scalar(element, 0);
  if (node.failed() || !type)
    return {};
  Value buffer = node.emit<graph::PadOp>(
      {past, zero},
      {node.dims("low", node.sizes({0, 0, 0, 0})), node.attr("mode", mode)},
      type);
  Value place = node.unsqueeze(node.iota(capacity, node.integer(64)), 1);
  Value isPast = node.emit<graph::LessOp>({place, perBatch(pastLength, 4)});
  return node.select(isPast, buffer, zero);
}

Value GroupQuery::append(Value past, Value fresh, Value pastLength) {
  fresh = node.transpose(fresh, {0, 2, 1, 3});
  if (node.failed())
    return {};
  Value buffer =
      past ? validPast(past, pastLength)
           : node.broadcast(node.scalar(node.elementOf(fresh), 0),
                            {batch, node.size(keyHeads), capacity, headSize});
  Value step = node.unsqueeze(node.iota(length, node.integer(64)), 1);
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

Value GroupQuery::attend(Value pastLength, const AttentionCore &core) {
  int64_t local = node.intAttr("local_window_size", -1);
  if (local > INT32_MAX) {
    (void)node.invalid("local_window_size is too large");
    return {};
  }
  node.require(node.size(keyHeads), Relation::Divides, node.size(heads),
               "heads of the keys must divide those of the queries");
  if (node.failed())
    return {};
  const int32_t segments[] = {1, 1, 1, 0, 1, 0};
  return node.emit<graph::AttentionOp>(
      {core.query, core.key, core.value, pastLength},
      {node.attr("operandSegmentSizes",
                 node.builder.getDenseI32ArrayAttr(segments)),
       node.f64("scale", core.scale), node.f64("softcap", core.softcap),
       node.flag("causal", true), node.dims("offset", {node.size(0)}),
       node.i64("window", std::max<int64_t>(local, 0)),
       node.attr("dead_rows", graph::DeadRowsAttr::get(node.context(),
                                                       graph::DeadRows::NaN))},
      core.query.getType());
}

LogicalResult GroupQuery::convert() {
  if (failed(refuse()) || failed(readOperands()))
    return failure();
  Value pastKey = node.optionalInput(3), pastValue = node.optionalInput(4);
  if (bool(pastKey) != bool(pastValue))
    return node.invalid("past_key and past_value must be given together");
  if (pastKey && failed(node.expectRank(pastKey, 4, "the past")))
    return failure();
  total = node.readSize(node.input(6), "total_sequence_length");
  if (node.failed())
    return failure();
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
  Value result;
  if (node.hasInput(10)) {
    core.bias = bias(pastLength);
    result = attention(node, core).output;
  } else {
    result = attend(pastLength, core);
  }
  node.setOutput(0, mergeHeads(node, result));
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

ArrayRef<OpRow> groupQueryRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "GroupQueryAttention", {1}, convertGroupQuery},
  };
  return rows;
}

} // namespace tenon
