//===- OnnxLinearAttention.cpp - Attention by a state ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What models put between layers of attention whose caches grow: Gated DeltaNet
// and other linear attention, and the causal convolution in front of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/LinearAttentionParts.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

struct Heads {
  int64_t ofQuery, ofState;
};

/// onnxruntime's operator may have fewer heads of queries than states, too.
Heads readHeads(NodeConverter &node) {
  Heads heads = {node.intAttr("q_num_heads"), node.intAttr("kv_num_heads")};
  auto isIn = [](int64_t count) { return count >= 1 && count <= INT32_MAX; };
  bool isRight = isIn(heads.ofState) && isIn(heads.ofQuery) &&
                 (heads.ofQuery % heads.ofState == 0 ||
                  heads.ofState % heads.ofQuery == 0);
  if (!node.failed() && !isRight)
    (void)node.invalid("q_num_heads must be a positive multiple of "
                       "kv_num_heads");
  return heads;
}

/// A problem for an attribute of onnxruntime's that is not what it is by
/// default.
void expectDefault(NodeConverter &node, StringRef name, int64_t missing = 0) {
  if (node.intAttr(name, missing) != missing && !node.failed())
    (void)node.unsupported(name + " is not supported yet",
                           "export the model without it");
}

/// Input i [B, T, heads * size] as f32 [B, T, heads, size].
Value unpack(NodeConverter &node, unsigned i, int64_t heads, StringRef what) {
  Value packed = node.input(i);
  if (node.failed() || failed(node.expectRank(packed, 3, what)))
    return {};
  Emitter::Exprs dims = node.dimsOf(packed);
  Expr count = node.size(heads);
  node.require(count, graph::Relation::Divides, dims[2],
               "the heads of " + what.str() + " must divide its last axis");
  if (node.failed())
    return {};
  return node.reshape(node.cast(packed, node.f32()),
                      {dims[0], dims[1], count, dims[2].floorDiv(count)});
}

/// exp of input 4, [B, T, heads, size of a key or 1], where keys have these
/// dims.
Value readDecay(NodeConverter &node, int64_t heads, const Emitter::Exprs &key) {
  Value decay = unpack(node, 4, heads, "decay");
  if (node.failed())
    return {};
  Expr last = node.dimOf(decay, 3);
  node.expectDims(decay,
                  {key[0], key[1], key[2], last.isConstant(1) ? last : key[3]},
                  "decay");
  return node.failed() ? Value() : node.emit<graph::ExpOp>({decay});
}

/// Input 5, [B, T, heads or 1].
Value readBeta(NodeConverter &node, const Emitter::Exprs &value) {
  Value beta = node.input(5);
  if (node.failed() || failed(node.expectRank(beta, 3, "beta")))
    return {};
  Expr last = node.dimOf(beta, 2);
  node.expectDims(
      beta, {value[0], value[1], last.isConstant(1) ? last : value[2]}, "beta");
  return node.failed() ? Value() : node.cast(beta, node.f32());
}

LogicalResult convertLinearAttention(NodeConverter &node) {
  std::optional<UpdateRule> rule = readUpdateRule(node);
  if (!rule)
    return failure();
  Heads heads = readHeads(node);
  if (node.failed())
    return failure();
  Type element = node.elementOf(node.input(0));
  expectDefault(node, "state_window");
  LinearAttention the;
  the.query = unpack(node, 0, heads.ofQuery, "query");
  if (heads.ofQuery < heads.ofState)
    the.query = repeatedHeads(node, the.query, heads.ofState / heads.ofQuery);
  the.key = unpack(node, 1, heads.ofState, "key");
  the.value = unpack(node, 2, heads.ofState, "value");
  if (node.failed())
    return failure();
  Emitter::Exprs q = node.dimsOf(the.query), v = node.dimsOf(the.value);
  Emitter::Exprs k = {q[0], q[1], v[2], q[3]};
  node.expectDims(the.key, k, "key");
  node.expectDims(the.value, {q[0], q[1], v[2], v[3]}, "value");
  Value state = node.optionalInput(3);
  Type ofState = state && !node.failed() ? node.elementOf(state) : element;
  node.expectDims(state, {q[0], v[2], q[3], v[3]}, "past_state");
  if (state)
    the.state = node.cast(state, node.f32());
  if (rule->decays)
    the.decay = readDecay(node, heads.ofState, k);
  if (rule->corrects)
    the.beta = readBeta(node, v);
  SmallVector<Value> results;
  if (!node.failed())
    results = linearAttention(node, the);
  if (results.empty())
    return failure();
  Value packed = node.reshape(results[0], {q[0], q[1], q[2] * v[3]});
  node.setOutput(0, node.cast(packed, element));
  if (node.wantsOutput(1))
    node.setOutput(1, node.cast(results[1], ofState));
  return node.result();
}

/// decay_scale * softplus(a + dt_bias), and sigmoid(b).
LogicalResult convertLinearAttentionGate(NodeConverter &node) {
  Value a = node.input(0), bias = node.input(1), scale = node.input(2);
  if (node.failed())
    return failure();
  Type element = node.elementOf(a);
  auto wide = [&](Value x) { return node.cast(x, node.f32()); };
  Value sum = node.add(wide(a), wide(bias));
  if (node.failed())
    return failure();
  Value decay = node.mul(node.emit<graph::SoftplusOp>({sum}), wide(scale));
  node.setOutput(0, node.cast(decay, element));
  if (node.wantsOutput(1)) {
    Value b = node.input(3);
    if (!node.failed())
      node.setOutput(
          1, node.cast(node.emit<graph::SigmoidOp>({wide(b)}), element));
  }
  return node.result();
}

/// Where an image and a state have their channels in memory.
enum class Channels { Second, Last };

/// An image, or what precedes it, as [B, L, C]: of [B, C, L] or [B, L, ..].
Value channelsLast(NodeConverter &node, Value x, Expr count, Channels place,
                   StringRef what) {
  if (node.failed() || !x)
    return {};
  Emitter::Exprs dims = node.dimsOf(x);
  if (place == Channels::Second)
    return failed(node.expectRank(x, 3, what)) ? Value()
                                               : node.transpose(x, {0, 2, 1});
  if (dims.size() < 3) {
    (void)node.invalid(what + Twine(" must have rank 3 or more"));
    return {};
  }
  return node.reshape(x, {dims[0], dims[1], count});
}

/// A problem for what Tenon does not do of onnxruntime's operator.
void expectPlainConv(NodeConverter &node) {
  expectDefault(node, "ndim", 1);
  for (StringRef name :
       {"state_update_capacity", "state_window", "state_length",
        "input_channel_offset", "input_channels"})
    expectDefault(node, name);
  expectDefault(node, "state_channels_last", -1);
}

/// A depthwise convolution that goes on from the last elements before it. What
/// lies in memory has channels last: such models' products do.
LogicalResult convertCausalConv(NodeConverter &node) {
  expectPlainConv(node);
  Channels place =
      node.flagAttr("channels_last", false) ? Channels::Last : Channels::Second;
  int64_t dilation = node.intAttr("dilation", 1);
  std::string activation = node.stringAttr("activation", "none");
  if (!node.failed() && (dilation < 1 || dilation > INT32_MAX))
    return node.invalid("dilation must be positive");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.invalid("activation must be silu, swish or none");
  Value input = node.input(0), filter = node.input(1);
  Value bias = node.optionalInput(2), past = node.optionalInput(3);
  if (node.failed() || failed(node.expectRank(filter, 3, "the weight")))
    return failure();
  Expr channels = node.dimOf(filter, 0);
  Expr before = (node.dimOf(filter, 2) - 1) * dilation;
  std::optional<int64_t> groups = channels.asConstant();
  if (!groups || *groups < 1 || !before)
    return node.unsupported("the number of its channels is not known",
                            "export the model with a weight of known shape");
  Value x = channelsLast(node, input, channels, place, "the input");
  Value state = channelsLast(node, past, channels, place, "past_state");
  if (node.failed())
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  node.expectDims(x, {dims[0], dims[1], channels}, "the input");
  node.expectDims(filter, {channels, node.size(1), node.dimOf(filter, 2)},
                  "the weight");
  node.expectDims(state, {dims[0], before, channels}, "past_state");
  node.expectDims(bias, {channels}, "the bias");
  if (node.failed())
    return failure();
  if (!state)
    state = node.broadcast(node.scalar(node.elementOf(x), 0),
                           {dims[0], before, channels});
  Value all = before.isConstant(0) ? x : node.concat({state, x}, 1);
  Value y = node.emit<graph::ConvOp>(
      {node.transpose(all, {0, 2, 1}), filter},
      {node.i64s("strides", {1}), node.i64s("dilations", {dilation}),
       node.dims("pads", {node.size(0), node.size(0)}),
       node.i64("group", *groups)});
  if (bias)
    y = node.add(y, node.unsqueeze(bias, {1}));
  if (activation != "none")
    y = swishOf(node, y);
  Value last = node.slice(all, 1, dims[1], before);
  if (node.failed())
    return failure();
  if (place == Channels::Second) {
    last = node.transpose(last, {0, 2, 1});
  } else {
    Emitter::Exprs shape = node.dimsOf(input);
    y = node.reshape(node.transpose(y, {0, 2, 1}), shape);
    shape[1] = before;
    last = node.reshape(last, shape);
  }
  node.setOutput(0, y);
  if (node.wantsOutput(1))
    node.setOutput(1, last);
  return node.result();
}

} // namespace

ArrayRef<OpRow> linearAttentionRows() {
  static constexpr OpRow rows[] = {
      {"", "CausalConvWithState", {27}, convertCausalConv},
      {"", "LinearAttention", {27}, convertLinearAttention},
      {"com.microsoft", "CausalConvWithState", {1}, convertCausalConv},
      {"com.microsoft", "LinearAttention", {1}, convertLinearAttention},
      {"com.microsoft", "LinearAttentionGate", {1}, convertLinearAttentionGate},
  };
  return rows;
}

} // namespace tenon
