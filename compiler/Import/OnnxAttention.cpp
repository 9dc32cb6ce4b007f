//===- OnnxAttention.cpp - Attentions and RotaryEmbedding of ai.onnx ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/AttentionParts.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// The most columns of a table that one position of three is for.
constexpr int64_t maxSection = 1 << 15;

/// Query, key or value as [B, heads, S, D].
Value headsOf(NodeConverter &node, unsigned i, StringRef countName) {
  Value value = node.input(i);
  size_t rank = node.dimsOf(value).size();
  if (node.failed() || rank == 4)
    return value;
  if (rank != 3) {
    (void)node.invalid("a query, key or value must have rank 3 or 4");
    return {};
  }
  return splitHeads(node, value, headsAttr(node, countName));
}

/// The past followed by what is new, along the sequence.
Value withPast(NodeConverter &node, unsigned i, Value value) {
  Value past = node.optionalInput(i);
  return past ? node.concat({past, value}, 2) : value;
}

/// A mask may end early: what lies behind is hidden.
Value lengthened(NodeConverter &node, Value mask, Expr keys) {
  Emitter::Exprs dims = node.dimsOf(mask);
  if (node.failed() || dims.empty() || dims.back() == keys)
    return mask;
  node.require(dims.back(), Relation::LessEqual, keys,
               "the mask must not be longer than the keys");
  dims.back() = keys;
  Type element = node.elementOf(mask);
  Emitter::Exprs low(dims.size(), node.size(0));
  auto mode = graph::PadModeAttr::get(node.context(), graph::PadMode::Constant);
  double hidden = element.isInteger(1) ? 0 : -infinity;
  return node.emit<graph::PadOp>(
      {mask, node.scalar(element, hidden)},
      {node.dims("low", low), node.attr("mode", mode)},
      graph::tensorOf(dims, element));
}

/// The sum of all masks as one bias; null when there is none.
Value attentionBias(NodeConverter &node, Value query, Expr keys, Value past) {
  Emitter::Exprs dims = node.dimsOf(query);
  Value lengths = node.opset() >= 24 ? node.optionalInput(6) : Value();
  Window window;
  window.causal = node.flagAttr("is_causal", false);
  window.left = node.intAttr("left_window_size", -1);
  window.right = node.intAttr("right_window_size", -1);
  if (node.failed())
    return {};
  if (std::max(window.left, window.right) > INT32_MAX) {
    (void)node.invalid("a window is too large");
    return {};
  }
  Value offset, visible;
  if (lengths) {
    if (failed(node.expectRank(lengths, 1, "nonpad_kv_seqlen")))
      return {};
    lengths = node.reshape(
        node.cast(lengths, node.integer(64)),
        {node.dimOf(lengths, 0), node.size(1), node.size(1), node.size(1)});
    visible =
        node.emit<graph::LessOp>({node.iota(keys, node.integer(64)), lengths});
  }
  if (past)
    offset = node.sizeScalar(node.dimOf(past, 2));
  else if (lengths)
    offset = node.sub(lengths, node.sizeScalar(dims[2]));
  visible = bothVisible(node, visible,
                        visibleKeys(node, window, dims[2], keys, offset));
  Value mask = node.optionalInput(3), bias;
  if (mask && node.dimsOf(mask).size() > 4) {
    (void)node.invalid("the mask must have rank 4 or less");
    return {};
  }
  if (mask) {
    mask = lengthened(node, mask, keys);
    if (node.failed())
      return {};
    if (node.elementOf(mask).isInteger(1))
      visible = bothVisible(node, visible, mask);
    else
      bias = node.cast(mask, node.elementOf(query));
  }
  if (!visible)
    return bias;
  Value hidden = biasOf(node, visible, node.elementOf(query), -infinity);
  return bias ? node.add(bias, hidden) : hidden;
}

/// What scores are multiplied by: given, or of the size of a head.
double scaleOf(NodeConverter &node, Value query) {
  return node.hasAttr("scale") ? node.floatAttr("scale", 1)
                               : defaultScale(node, node.dimOf(query, 3));
}

/// The type that the node asks its softmax to be computed in.
Type softmaxTypeOf(NodeConverter &node, Type missing) {
  if (node.intAttr("softmax_precision", 0) == 0)
    return missing;
  Type type = node.typeAttr("softmax_precision");
  if (type && !isa<FloatType>(type))
    (void)node.invalid("softmax_precision must be a type of floats");
  return type;
}

LogicalResult convertAttention(NodeConverter &node) {
  AttentionCore core;
  core.query = headsOf(node, 0, "q_num_heads");
  Value key = headsOf(node, 1, "kv_num_heads");
  Value value = headsOf(node, 2, "kv_num_heads");
  Value past = node.optionalInput(4);
  if (!node.failed() && (bool(past) != node.hasInput(5)))
    return node.invalid("past_key and past_value must be given together");
  core.key = withPast(node, 4, key);
  core.value = withPast(node, 5, value);
  for (Value operand : {core.query, core.key, core.value})
    if (node.failed() ||
        failed(node.expectRank(operand, 4, "a query, key or value")))
      return failure();
  core.scale = scaleOf(node, core.query);
  core.softcap = node.floatAttr("softcap", 0);
  core.softmaxType = softmaxTypeOf(node, Type());
  core.bias = attentionBias(node, core.query, node.dimOf(core.key, 2), past);
  core.zeroWhereAllMasked = true;
  int64_t mode = node.intAttr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return node.invalid("qk_matmul_output_mode must be 0, 1, 2 or 3");
  if (node.failed())
    return failure();

  AttentionResult result = attention(node, core);
  bool packed = node.dimsOf(node.input(0)).size() == 3;
  node.setOutput(0, packed ? mergeHeads(node, result.output) : result.output);
  if (node.wantsOutput(1))
    node.setOutput(1, core.key);
  if (node.wantsOutput(2))
    node.setOutput(2, core.value);
  if (node.wantsOutput(3)) {
    Value shown[] = {result.scores, result.capped, result.biased,
                     result.weights};
    node.setOutput(3, shown[mode]);
  }
  return node.result();
}

//===----------------------------------------------------------------------===//
// FlexAttention
//===----------------------------------------------------------------------===//

/// What the body that an attribute holds makes of scores or weights, which
/// keeps their type; they themselves where there is none.
Value changedBy(NodeConverter &node, StringRef name, Value value) {
  const onnx::GraphProto *body = node.graphAttr(name);
  if (!body || node.failed())
    return value;
  SmallVector<NamedValue> given = node.importBody(*body, NamedValue::of(value));
  if (!node.failed() && given.size() != 1)
    (void)node.invalid(name + " must have one output");
  if (node.failed())
    return {};
  Value changed = node.tensorOf(given[0], "the output of " + name);
  if (node.failed())
    return {};
  if (node.elementOf(changed) != node.elementOf(value)) {
    (void)node.invalid(name + " must keep the element type");
    return {};
  }
  node.expectDims(changed, node.dimsOf(value), "the output of " + name.str());
  return changed;
}

LogicalResult convertFlexAttention(NodeConverter &node) {
  AttentionCore core;
  core.query = node.input(0);
  core.key = node.input(1);
  core.value = node.input(2);
  for (Value operand : {core.query, core.key, core.value})
    if (node.failed() ||
        failed(node.expectRank(operand, 4, "a query, key or value")))
      return failure();
  core.scale = scaleOf(node, core.query);
  core.softmaxType =
      softmaxTypeOf(node, node.computedType(node.elementOf(core.query)));
  auto scores = [&](Value value) {
    return changedBy(node, "score_mod", value);
  };
  auto weights = [&](Value value) {
    return changedBy(node, "prob_mod", value);
  };
  core.scoresOf = scores;
  core.weightsOf = weights;
  return node.output(attention(node, core).output);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Rows of a table [positions, R] picked by [B, S]; without indices the table
/// has a row per element already.
Value pickRows(NodeConverter &node, Value table, Value indices) {
  if (!indices)
    return table;
  if (node.failed() ||
      failed(node.expectRank(table, 2, "the cos or sin table")))
    return {};
  return node.gather(table, indices);
}

/// x as [B, S, heads, D], whether it came as that transposed or packed.
Value sequenceOfHeads(NodeConverter &node, Value x, Expr heads) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return {};
  if (dims.size() == 4)
    return node.transpose(x, {0, 2, 1, 3});
  if (dims.size() != 3 || !heads) {
    (void)node.invalid("the input must have rank 4, or rank 3 and num_heads");
    return {};
  }
  node.require(heads, Relation::Divides, dims[2],
               "the number of heads must divide the width");
  if (node.failed() || heads.isConstant(0))
    return {};
  return node.reshape(x, {dims[0], dims[1], heads, dims[2].floorDiv(heads)});
}

/// The inverse of sequenceOfHeads.
Value likeInput(NodeConverter &node, Value turned, Value x) {
  Emitter::Exprs dims = node.dimsOf(x);
  return dims.size() == 4 ? node.transpose(turned, {0, 2, 1, 3})
                          : node.reshape(turned, dims);
}

/// `rotary_embedding_dim`, when given, is what the tables say too.
void checkRotaryWidth(NodeConverter &node, Value table) {
  int64_t width = node.intAttr("rotary_embedding_dim", 0);
  Emitter::Exprs dims = node.dimsOf(table);
  if (node.failed() || width == 0 || dims.empty())
    return;
  node.require(dims.back() * 2, Relation::Equal, node.size(width),
               "rotary_embedding_dim must be twice the width of the tables");
}

LogicalResult convertRotary(NodeConverter &node) {
  Value x = node.input(0), indices = node.optionalInput(3);
  Value cosines = pickRows(node, node.input(1), indices);
  Value sines = pickRows(node, node.input(2), indices);
  int64_t count = node.intAttr("num_heads", 0);
  bool interleaved = node.flagAttr("interleaved", false);
  checkRotaryWidth(node, cosines);
  if (node.failed())
    return failure();
  Value heads = sequenceOfHeads(node, x, count > 0 ? node.size(count) : Expr());
  Value turned = rotated(node, heads, cosines, sines, interleaved);
  if (node.failed())
    return failure();
  if (!node.hasAttr("rotary_embedding_dim"))
    node.require(node.dimOf(cosines, 2) * 2, Relation::Equal,
                 node.dimOf(heads, 3),
                 "the tables must be half as wide as a head");
  return node.output(likeInput(node, turned, x));
}

/// How many heads x has, by operators of com.microsoft, whose tables are input
/// 2 and 3; null after a problem.
Expr headsOfContrib(NodeConverter &node, Value x, Value table) {
  int64_t count = node.intAttr("num_heads", 0);
  if (node.floatAttr("scale", 1) != 1 ||
      node.flagAttr("is_packed_batching", false))
    (void)node.unsupported("scale and is_packed_batching are not computed");
  checkRotaryWidth(node, table);
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed() || failed(node.expectRank(table, 2, "the cos table")))
    return {};
  if (dims.size() < 3 || dims.size() > 4) {
    (void)node.invalid("the input must have rank 3 or 4");
    return {};
  }
  return count > 0 ? node.size(count)
                   : dims.back().exactDiv(node.dimOf(table, 1) * 2);
}

/// That of com.microsoft: positions come before the tables, and may be one
/// number from which all count on.
LogicalResult convertContribRotary(NodeConverter &node) {
  Value x = node.input(0), positions = node.input(1), table = node.input(2);
  Expr heads = headsOfContrib(node, x, table);
  if (node.failed())
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.dimsOf(positions).size() == 1) {
    Expr length = dims[dims.size() == 4 ? 2 : 1];
    positions = node.add(node.iota(length, node.elementOf(positions)),
                         node.reshape(positions, {}));
    positions = node.unsqueeze(positions, 0);
  }
  bool interleaved = node.flagAttr("interleaved", false);
  Value turned = rotated(node, sequenceOfHeads(node, x, heads),
                         pickRows(node, table, positions),
                         pickRows(node, node.input(3), positions), interleaved);
  return node.output(likeInput(node, turned, x));
}

/// Which of the three positions of a token each column of the tables goes by:
/// time, height and width in a row, or in turn as long as there are columns of
/// the latter two.
SmallVector<int64_t> positionOfColumns(ArrayRef<int64_t> sections,
                                       bool inTurn) {
  SmallVector<int64_t> which;
  for (int64_t i = 0; i < 3; ++i)
    which.append(size_t(sections[i]), inTurn ? 0 : i);
  for (int64_t i = 1; i < 3 && inTurn; ++i)
    for (int64_t n = 0; n < sections[i]; ++n)
      if (size_t(3 * n + i) < which.size())
        which[size_t(3 * n + i)] = i;
  return which;
}

/// The rows [B, S, R] of a table that three positions [3, B, S] pick, each for
/// its columns.
Value pickColumns(NodeConverter &node, Value table, Value positions,
                  ArrayRef<int64_t> which) {
  Value all;
  for (int64_t i : {0, 1, 2}) {
    if (!llvm::is_contained(which, i))
      continue;
    Value own =
        node.squeeze(node.slice(positions, 0, node.size(i), node.size(1)), 0);
    Value rows = pickRows(node, table, own);
    SmallVector<double> isOwn;
    for (int64_t column : which)
      isOwn.push_back(column == i);
    Value mask = node.constant(node.boolean(), {int64_t(which.size())}, isOwn);
    all = all ? node.select(mask, rows, all) : rows;
  }
  return all;
}

/// Rotary embedding by the time, height and width of each token.
LogicalResult convertMultimodalRotary(NodeConverter &node) {
  Value x = node.input(0), positions = node.input(1), table = node.input(2);
  SmallVector<int64_t> sections = node.intsAttr("mrope_section");
  int64_t layout = node.intAttr("mrope_layout", 0);
  Expr heads = headsOfContrib(node, x, table);
  if (node.failed() || failed(node.expectRank(positions, 3, "the positions")))
    return failure();
  auto isSection = [](int64_t size) { return size >= 0 && size <= maxSection; };
  if (sections.size() != 3 || !llvm::all_of(sections, isSection) ||
      layout < 0 || layout > 1)
    return node.invalid("mrope_section must be three small numbers, and "
                        "mrope_layout 0 or 1");
  SmallVector<int64_t> which = positionOfColumns(sections, layout == 1);
  node.require(node.dimOf(table, 1), Relation::Equal,
               node.size(int64_t(which.size())),
               "mrope_section must add up to the width of the tables");
  node.require(node.dimOf(positions, 0), Relation::Equal, node.size(3),
               "each token must have three positions");
  bool interleaved = node.flagAttr("interleaved", false);
  Value turned =
      rotated(node, sequenceOfHeads(node, x, heads),
              pickColumns(node, table, positions, which),
              pickColumns(node, node.input(3), positions, which), interleaved);
  return node.output(likeInput(node, turned, x));
}

} // namespace

ArrayRef<OpRow> attentionRows() {
  static constexpr OpRow rows[] = {
      {"", "Attention", {23, 24, 25}, convertAttention},
      {"", "RotaryEmbedding", {23}, convertRotary},
      {"ai.onnx.preview", "FlexAttention", {1}, convertFlexAttention},
      {"com.microsoft", "MRotaryEmbedding", {1}, convertMultimodalRotary},
      {"com.microsoft", "RotaryEmbedding", {1}, convertContribRotary},
  };
  return rows;
}

} // namespace tenon
