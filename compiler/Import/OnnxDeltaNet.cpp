//===- OnnxDeltaNet.cpp - GatedDeltaNet of onnxruntime --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear attention with what precedes it: lengths of keys, decays and rates are
// made here. Tokens are [B, T, ..], or in one axis of all sequences, whose
// number the state has then. States have the elements of values first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/LinearAttentionParts.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

class DeltaNet {
public:
  explicit DeltaNet(NodeConverter &node) : node(node) {}

  LogicalResult convert() {
    std::optional<UpdateRule> rule = readUpdateRule(node);
    if (!rule || failed(refuseWhatIsNotDone()))
      return failure();
    Value query = node.input(0), state = node.optionalInput(6);
    if (node.failed() || (state && failed(node.expectRank(state, 4, "state"))))
      return failure();
    readTokens(query, state);
    if (node.failed() || failed(readHeads(state)))
      return failure();
    if (rule->decays)
      the.decay = readDecay();
    if (rule->corrects)
      the.beta = readBeta();
    if (state)
      the.state = node.transpose(state, {0, 1, 3, 2});
    if (node.failed())
      return failure();
    SmallVector<Value> results = linearAttention(node, the);
    if (results.empty())
      return failure();
    Value y = node.reshape(results[0], ofTokens({heads, sizeOfValue}));
    node.setOutput(0, node.cast(y, node.elementOf(query)));
    if (node.wantsOutput(1))
      node.setOutput(1, node.transpose(results[1], {0, 1, 3, 2}));
    return node.result();
  }

private:
  LogicalResult refuseWhatIsNotDone() {
    if (node.hasInput(3))
      return node.unsupported("sequences of different lengths (cu_seqlens) are "
                              "not computed",
                              "give it one length for all");
    if (node.intAttr("state_update_capacity", 0) != 0 || node.wantsOutput(2))
      return node.unsupported("state_update is not computed",
                              "export it with state_update_capacity = 0");
    return node.result();
  }

  /// What tokens are counted by: one axis, or two.
  void readTokens(Value query, Value state) {
    Emitter::Exprs dims = node.dimsOf(query);
    size_t rank = dims.size(), behind = node.hasInput(1) ? 2 : 1;
    if (rank != behind + 1 && rank != behind + 2) {
      (void)node.invalid("the query must have one or two axes of tokens");
      return;
    }
    lead.assign(dims.begin(), dims.end() - behind);
    if (lead.size() == 2) {
      sequences = lead[0];
      length = lead[1];
    } else if (!state) {
      (void)node.invalid("without a state the number of sequences is not "
                         "known");
    } else {
      sequences = node.dimOf(state, 0);
      node.require(sequences, Relation::Divides, lead[0],
                   "the sequences must have one length");
      length = lead[0].floorDiv(sequences);
    }
  }

  /// [tokens.., rest..]
  Emitter::Exprs ofTokens(ArrayRef<Expr> rest) const {
    Emitter::Exprs dims = lead;
    dims.append(rest.begin(), rest.end());
    return dims;
  }

  /// [tokens.., rest..] as f32 [B, T, rest..].
  Value inSequences(Value x, ArrayRef<Expr> rest) {
    Emitter::Exprs dims = {sequences, length};
    dims.append(rest.begin(), rest.end());
    return node.reshape(node.cast(x, node.f32()), dims);
  }

  /// [tokens.., H, size], of any H and size.
  Value readVectors(unsigned i, StringRef what) {
    Value x = node.input(i);
    if (node.failed() ||
        failed(node.expectRank(x, int64_t(lead.size()) + 2, what)))
      return {};
    Emitter::Exprs dims = node.dimsOf(x);
    Emitter::Exprs rest(dims.end() - 2, dims.end());
    node.expectDims(x, ofTokens(rest), what);
    return inSequences(x, rest);
  }

  /// Query, key and value side by side, whose sizes the state has.
  void splitAll(Value state) {
    if (!state) {
      (void)node.invalid("it needs a state to know the sizes of heads");
      return;
    }
    Emitter::Exprs sizes = node.dimsOf(state);
    Value packed = node.input(0);
    Expr width = node.dimsOf(packed).back(), ofValue = sizes[1] * sizes[2];
    std::optional<int64_t> rest = (width - ofValue).asConstant();
    std::optional<int64_t> depth = sizes[3].asConstant();
    if (!rest || !depth || *depth < 1 || *rest < 2 * *depth ||
        *rest % (2 * *depth) != 0) {
      (void)node.unsupported("the sizes of its heads are not known, or do not "
                             "fill the rows",
                             "export the model with known sizes of heads");
      return;
    }
    Expr ofKey = node.size(*rest / 2), count = node.size(*rest / 2 / *depth);
    Value rows = inSequences(packed, width);
    auto part = [&](Expr from, Expr size, Expr heads) {
      return node.reshape(node.slice(rows, 2, from, size),
                          {sequences, length, heads, size.floorDiv(heads)});
    };
    the.query = part(node.size(0), ofKey, count);
    the.key = part(ofKey, ofKey, count);
    the.value = part(node.size(*rest), ofValue, sizes[1]);
  }

  LogicalResult readHeads(Value state) {
    if (!node.hasInput(1) && !node.hasInput(2)) {
      splitAll(state);
    } else {
      the.query = readVectors(0, "query");
      the.key = readVectors(1, "key");
      the.value = readVectors(2, "value");
    }
    if (node.failed())
      return failure();
    Emitter::Exprs q = node.dimsOf(the.query), v = node.dimsOf(the.value);
    node.expectDims(the.key, q, "key");
    heads = v[2];
    sizeOfKey = q[3];
    sizeOfValue = v[3];
    node.expectDims(state, {sequences, heads, sizeOfValue, sizeOfKey},
                    "the state");
    std::optional<int64_t> ofQuery = q[2].asConstant(),
                           ofValue = heads.asConstant();
    if (node.failed())
      return failure();
    if (!ofQuery || !ofValue || *ofQuery < 1 || *ofValue % *ofQuery != 0)
      return node.invalid("the number of heads of the value must be a known "
                          "multiple of those of the query");
    if (node.flagAttr("qk_l2_norm", false)) {
      the.query = ofLengthOne(the.query);
      the.key = ofLengthOne(the.key);
    }
    the.query = repeatedHeads(node, the.query, *ofValue / *ofQuery);
    the.key = repeatedHeads(node, the.key, *ofValue / *ofQuery);
    return node.result();
  }

  /// x / sqrt(sum(x * x)), and zero for zeros.
  Value ofLengthOne(Value x) {
    Value square = node.reduce(node.mul(x, x), {3}, graph::ReduceKind::Sum);
    Value length = node.emit<graph::SqrtOp>({node.add(square, 1e-12)});
    return node.div(x, length);
  }

  /// One factor per head, or one per element of its keys: [B, T, H, 1 or D].
  Value readDecay() {
    Value decay = node.input(4);
    if (node.failed())
      return {};
    bool isOfHead = node.dimsOf(decay).size() == lead.size() + 1;
    Expr last = isOfHead ? node.size(1) : sizeOfKey;
    node.expectDims(decay, isOfHead ? ofTokens(heads) : ofTokens({heads, last}),
                    "decay");
    if (node.failed())
      return {};
    Value g = inSequences(decay, {heads, last});
    std::string activation = node.stringAttr("gate_activation", "none");
    bool isBounded = activation == "sigmoid" || activation == "kda";
    if (activation == "softplus" || activation == "qwen" || isBounded)
      g = activated(g, last, isBounded);
    else if (activation != "none")
      (void)node.invalid("gate_activation must be none, softplus or sigmoid");
    return node.failed() ? Value() : node.emit<graph::ExpOp>({g});
  }

  Value activated(Value g, Expr last, bool isBounded) {
    Value logs = node.input(7), bias = node.optionalInput(8);
    if (node.failed())
      return {};
    node.expectDims(logs, {heads}, "a_log");
    if (bias)
      g = node.add(g, biasOf(bias, last));
    Value rate = node.emit<graph::ExpOp>({node.unsqueeze(logs, {1})});
    if (node.failed())
      return {};
    if (isBounded)
      return node.mul(node.emit<graph::SigmoidOp>({node.mul(g, rate)}),
                      node.floatAttr("gate_lower_bound", -5));
    Value plus = node.emit<graph::SoftplusOp>({g});
    return node.emit<graph::NegOp>({node.mul(plus, rate)});
  }

  /// dt_bias of a decay [B, T, H, last].
  Value biasOf(Value bias, Expr last) {
    Expr count = graph::elementCount(bias);
    if (count == heads)
      return node.reshape(bias, {heads, node.size(1)});
    node.require(count, Relation::Equal, heads * sizeOfKey,
                 "dt_bias must have a number for each head, or each "
                 "element of its keys");
    if (!node.failed() && last.isConstant(1))
      (void)node.invalid("dt_bias has a number for each element of keys, and "
                         "decay one for each head");
    return node.failed() ? Value() : node.reshape(bias, {heads, sizeOfKey});
  }

  Value readBeta() {
    Value beta = node.input(5);
    node.expectDims(beta, ofTokens(heads), "beta");
    if (node.failed())
      return {};
    beta = inSequences(beta, heads);
    std::string activation = node.stringAttr("beta_activation", "none");
    if (activation == "sigmoid")
      return node.emit<graph::SigmoidOp>({beta});
    if (activation != "none")
      (void)node.invalid("beta_activation must be none or sigmoid");
    return beta;
  }

  NodeConverter &node;
  LinearAttention the;
  Emitter::Exprs lead;    // Axes of tokens.
  Expr sequences, length; // The same as two.
  Expr heads, sizeOfKey, sizeOfValue;
};

LogicalResult convertDeltaNet(NodeConverter &node) {
  return DeltaNet(node).convert();
}

} // namespace

ArrayRef<OpRow> deltaNetRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "GatedDeltaNet", {1}, convertDeltaNet},
  };
  return rows;
}

} // namespace tenon
