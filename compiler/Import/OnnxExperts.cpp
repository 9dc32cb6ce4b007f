//===- OnnxExperts.cpp - Mixtures of experts ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MoE and QMoE of com.microsoft: for each token the k experts that a router
// prefers, each a network of two layers, and the sum of what they give. All
// experts are products of a matrix per expert here, as exporters write
// mixtures; kernels skip those that no token chose (docs/decisions/0017).
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/BlockedWeight.h"
#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

/// The first inputs of a layer of MoE and of QMoE; -1: has none.
struct LayerInputs {
  int weight, scale, bias, zero;
};

/// One layer of all experts: weights [experts, rows, columns] by `bits` bits
/// (0: as they are), of QMoE with scales and zero points [experts, rows,
/// blocks], and a bias [experts, rows]. All but the weight may be null.
struct Layer {
  StringRef name;
  Value weight, scale, zero, bias;
  int64_t bits = 0;
  int64_t rows = 0;
};

class Mixture {
public:
  Mixture(NodeConverter &node, bool isQuantized)
      : node(node), isQuantized(isQuantized) {}

  LogicalResult convert() {
    Value x = node.input(0);
    Emitter::Exprs dims = node.dimsOf(x);
    if (failed(readForm()) || node.failed())
      return failure();
    if (dims.size() != 2 && dims.size() != 3)
      return node.invalid("the input must have rank 2 or 3");
    if (!isa<FloatType>(node.elementOf(x)))
      return node.invalid("the input must be of floats");
    std::optional<int64_t> columns = dims.back().asConstant();
    if (!columns)
      return node.unsupported("the last size of the input is not known");
    if (*columns < 1)
      return node.invalid("the input has no columns");
    hidden = *columns;
    Expr tokens = dims.size() == 2 ? dims[0] : dims[0] * dims[1];
    if (failed(readLayers()))
      return failure();
    Type element = node.elementOf(x);
    x = node.reshape(wide(x), {tokens, dims.back()});
    Value gates = chosen(tokens);
    Value y = product(activated(x), down, gate.rows);
    // [experts, tokens, 1]
    gates = node.unsqueeze(node.transpose(gates, {1, 0}), 2);
    y = node.reduce(node.mul(y, gates), {0}, graph::ReduceKind::Sum,
                    /*keepDims=*/false);
    return node.output(node.cast(node.reshape(y, dims), element));
  }

private:
  using Expr = graph::Expr;

  static constexpr LayerInputs plain[] = {
      {2, -1, 3, -1}, {4, -1, 5, -1}, {6, -1, 7, -1}};
  static constexpr LayerInputs quantized[] = {
      {2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}};
  static constexpr unsigned routerWeights = 14, firstGlobalScale = 15;

  /// In f32, in which mixtures are computed whatever they come as.
  Value wide(Value value) {
    return node.failed() ? Value() : node.cast(value, node.f32());
  }

  LogicalResult readForm() {
    activation = node.stringAttr("activation_type", "relu");
    fusion = node.intAttr("swiglu_fusion", 0);
    count = node.intAttr("k", 1);
    block = isQuantized ? node.intAttr("block_size", 0) : 0;
    if (node.flagAttr("use_sparse_mixer", false))
      return node.unsupported("use_sparse_mixer is not supported");
    if (node.flagAttr("swiglu_limit_after_activation", false))
      return node.unsupported("limits behind the activation are not supported");
    std::string kind = node.stringAttr("quant_type", "int");
    if (kind != "int")
      return node.unsupported("weights of the type '" + kind +
                                  "' are not supported",
                              "quantize to integers");
    for (unsigned i = firstGlobalScale; i < node.numInputs(); ++i)
      if (isQuantized && node.hasInput(i))
        return node.invalid("integers have no global scales");
    if (fusion < 0 || fusion > 2)
      return node.invalid("swiglu_fusion must be 0, 1 or 2");
    if (block < 0 || block > INT32_MAX || block % 8 != 0)
      return node.invalid("block_size must be a multiple of 8");
    return success();
  }

  /// The layers, and that their sizes fit.
  LogicalResult readLayers() {
    Layer up = layer(0, "fc1");
    down = layer(1, "fc2");
    if (node.failed())
      return failure();
    bool isGated = activation == "swiglu";
    if (node.hasInput(inputsOf(2).weight) != (isGated && fusion == 0))
      return isGated && fusion == 0
                 ? node.invalid("swiglu that is not fused needs fc3")
                 : node.unsupported(
                       "fc3 is only supported with unfused swiglu");
    gate = up;
    if (isGated && fusion == 0) {
      linear = layer(2, "fc3");
      if (!node.failed() && linear.rows != up.rows)
        return node.invalid("fc3 must have as many rows as fc1");
    } else if (isGated) {
      if (up.rows % 2 != 0)
        return node.invalid("fc1 must have two rows for each of fc2's columns");
      int64_t half = up.rows / 2, step = fusion == 1 ? 2 : 1;
      gate = rowsOf(up, 0, step, half);
      linear = rowsOf(up, fusion == 1 ? 1 : half, step, half);
    }
    if (!node.failed() && down.rows != hidden)
      return node.invalid("fc2 must have as many rows as the input columns");
    if (!node.failed() && (count < 1 || count > experts))
      return node.invalid("k must be from 1 to the number of experts");
    return node.result();
  }

  const LayerInputs &inputsOf(unsigned which) const {
    return isQuantized ? quantized[which] : plain[which];
  }

  Layer layer(unsigned which, StringRef name) {
    const LayerInputs &at = inputsOf(which);
    auto optional = [&](int i) {
      return i < 0 ? Value() : node.optionalInput(unsigned(i));
    };
    Layer result;
    result.name = name;
    result.weight = node.input(unsigned(at.weight));
    result.bias = optional(at.bias);
    if (isQuantized) {
      result.scale = node.input(unsigned(at.scale));
      result.zero = optional(at.zero);
      int64_t all = node.intAttr("expert_weight_bits", 4);
      result.bits = node.intAttr((name + "_expert_weight_bits").str(), all);
      if (result.bits != 2 && result.bits != 4 && result.bits != 8)
        (void)node.unsupported("only 2, 4 and 8 bits are supported, not " +
                               Twine(result.bits));
      // Those of several rows share a byte.
      if (result.zero && block == 0 && result.bits < 8)
        (void)node.unsupported(
            "zero points of few bits are not supported without block_size",
            "quantize by blocks");
    }
    SmallVector<int64_t> sizes;
    for (Expr dim : node.dimsOf(result.weight))
      sizes.push_back(dim.asConstant().value_or(0));
    if (node.failed())
      return result;
    if (sizes.size() != 3 || llvm::is_contained(sizes, 0)) {
      problem(result, "must have rank 3 and known sizes");
      return result;
    }
    if (experts == 0)
      experts = sizes[0];
    result.rows = sizes[1];
    if (sizes[0] != experts)
      problem(result, "must have as many experts as fc1");
    return result;
  }

  /// Every `step`th row of all experts.
  Layer rowsOf(const Layer &whole, int64_t start, int64_t step, int64_t rows) {
    auto some = [&](Value value) {
      Emitter::Exprs dims = node.dimsOf(value);
      if (!value || node.failed())
        return Value();
      if (dims.size() >= 2 && dims[0].isConstant(experts) &&
          dims[1].isConstant(whole.rows))
        return rowsOf(value, start, step, rows);
      (void)node.invalid("what comes with fc1 must have its experts and rows");
      return Value();
    };
    Layer part = whole;
    part.weight = some(whole.weight);
    part.scale = some(whole.scale);
    part.zero = some(whole.zero);
    part.bias = some(whole.bias);
    part.rows = rows;
    return part;
  }

  Value rowsOf(Value value, int64_t start, int64_t step, int64_t rows) {
    if (Value stored = storedRowsOf(value, start, step, rows))
      return stored;
    if (step == 1)
      return node.slice(value, 1, node.size(start), node.size(rows));
    Emitter::Exprs apart = node.dimsOf(value);
    apart[1] = node.size(rows);
    apart.insert(apart.begin() + 2, node.size(step));
    value = node.reshape(value, apart);
    return node.squeeze(node.slice(value, 2, node.size(start), node.size(1)),
                        {2});
  }

  /// The same of a weight, as one; null for other values.
  Value storedRowsOf(Value value, int64_t start, int64_t step, int64_t rows) {
    const Weight *weight = node.weightOf(value);
    if (!weight || weight->isMade() || node.isNarrow(value))
      return {};
    SmallVector<int64_t> shape(weight->shape);
    size_t all = size_t(shape[0]) * size_t(shape[1]);
    size_t width = weight->bytes().size() / all;
    std::vector<char> bytes;
    bytes.reserve(size_t(shape[0] * rows) * width);
    for (int64_t expert = 0; expert < shape[0]; ++expert)
      for (int64_t row = 0; row < rows; ++row) {
        size_t at = size_t(expert * shape[1] + start + row * step) * width;
        llvm::append_range(bytes, weight->bytes().slice(at, width));
      }
    shape[1] = rows;
    auto added = node.state.weights.addOwned(weight->name, weight->elementType,
                                             shape, std::move(bytes));
    return node.weight(std::move(added),
                       RankedTensorType::get(shape, node.elementOf(value)));
  }

  /// What a token makes of each expert it chose, zero of the others: [tokens,
  /// experts].
  Value chosen(Expr tokens) {
    Value router = wide(node.input(1));
    Emitter::Exprs all = {tokens, node.size(experts)};
    if (node.failed() || failed(fits(router, all, "router_probs")))
      return {};
    Value weights = node.softmax(router, 1);
    Value taken;
    if (Value given = isQuantized ? node.optionalInput(routerWeights) : Value())
      taken =
          succeeded(fits(given, all, "router_weights")) ? wide(given) : Value();
    auto [values, places] = node.topk(weights, 1, node.size(count));
    if (node.failed())
      return {};
    if (taken)
      values = node.emit<graph::GatherElementsOp>({taken, places},
                                                  node.i64("axis", 1));
    if (node.flagAttr("normalize_routing_weights", false))
      values =
          node.div(values, node.reduce(values, {1}, graph::ReduceKind::Sum));
    if (node.failed())
      return {};
    Value zeros = node.broadcast(node.scalar(node.elementOf(values), 0), all);
    auto kind =
        graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
    return node.emit<graph::ScatterElementsOp>(
        {zeros, places, values},
        {node.i64("axis", 1), node.attr("kind", kind)});
  }

  LogicalResult fits(Value value, ArrayRef<Expr> dims, StringRef name) {
    Emitter::Exprs own = node.dimsOf(value);
    if (own.size() != dims.size())
      return node.invalid(name + " must have rank 2");
    node.require(own[0], graph::Relation::Equal, dims[0],
                 name + " must have a row for each token");
    node.require(own[1], graph::Relation::Equal, dims[1],
                 name + " must have a column for each expert");
    return node.result();
  }

  /// The hidden layer, [experts, tokens, columns of fc2].
  Value activated(Value x) {
    Value y = product(x, gate, hidden);
    if (node.failed() || activation == "identity")
      return y;
    if (activation == "relu")
      return node.maximum(y, 0.0);
    if (activation == "silu")
      return swishOf(node, y);
    if (activation == "gelu")
      return geluOf(node, y, graph::GeluKind::Tanh);
    if (activation == "swiglu")
      return swiglu(y, product(x, linear, hidden));
    (void)node.unsupported("the activation '" + activation +
                               "' is not supported",
                           "known are relu, gelu, silu, swiglu and identity");
    return {};
  }

  Value swiglu(Value x, Value factor) {
    if (node.hasAttr("swiglu_limit")) {
      double limit = node.floatAttr("swiglu_limit", 0);
      if (!(limit >= 0))
        (void)node.invalid("swiglu_limit must not be negative");
      x = node.minimum(x, limit);
      factor = node.maximum(node.minimum(factor, limit), -limit);
    }
    if (double beta = node.floatAttr("activation_beta", 0))
      factor = node.add(factor, beta);
    return node.mul(swishOf(node, x, node.floatAttr("activation_alpha", 1)),
                    factor);
  }

  /// x * transpose(weight) + bias of each expert, for `columns` columns.
  Value product(Value x, const Layer &layer, int64_t columns) {
    Value weights = wide(rows(layer, columns));
    Value y = node.matmul(x, node.transpose(weights, {0, 2, 1}));
    return layer.bias ? node.add(y, node.unsqueeze(wide(layer.bias), 1)) : y;
  }

  /// The weights of a layer, [experts, rows, columns].
  Value rows(const Layer &layer, int64_t columns) {
    Emitter::Exprs dims = node.sizes({experts, layer.rows, columns});
    if (node.failed())
      return {};
    if (!isQuantized) {
      if (!isa<FloatType>(node.elementOf(layer.weight)))
        problem(layer, "must be of floats");
      if (node.dimsOf(layer.weight) != dims)
        problem(layer,
                "must have " + Twine(columns) + " columns, as many as meet it");
      return layer.weight;
    }
    int64_t each = block == 0 ? columns : block;
    if (columns % each != 0) {
      (void)node.invalid("block_size must divide the columns of all layers");
      return {};
    }
    int64_t blocks = columns / each;
    if (!node.elementOf(layer.weight).isUnsignedInteger(8) ||
        columns * layer.bits % 8 != 0 ||
        !node.dimOf(layer.weight, 2).isConstant(columns * layer.bits / 8))
      return problem(layer, "must have the bytes of " + Twine(columns) +
                                " numbers of " + Twine(layer.bits) +
                                " bits in each row");
    if (!isa<FloatType>(node.elementOf(layer.scale)) ||
        !hasShape(layer.scale, layer.rows, blocks))
      return problem(layer, "must have a scale for each row and block");
    int64_t spared = (blocks * layer.bits + 7) / 8;
    if (layer.zero && !hasShape(layer.zero, layer.rows, spared))
      return problem(layer, "must have a zero point for each row and block");
    BlockedWeight shape = {experts * layer.rows, columns, layer.bits, each,
                           blocks};
    return node.reshape(
        blockedRows(node, shape, layer.weight, wide(layer.scale), layer.zero),
        dims);
  }

  Value problem(const Layer &layer, const Twine &what) {
    (void)node.invalid(layer.name + " " + what);
    return {};
  }

  /// [experts, rows, last], the last left out where there are no blocks.
  bool hasShape(Value value, int64_t rows, int64_t last) {
    SmallVector<int64_t> shape = {experts, rows};
    if (block != 0)
      shape.push_back(last);
    return node.dimsOf(value) == node.sizes(shape);
  }

  NodeConverter &node;
  bool isQuantized;
  std::string activation;
  int64_t fusion = 0, count = 0, block = 0; // Block 0: one for all columns.
  int64_t hidden = 0, experts = 0;
  Layer gate, linear, down; // Linear: of swiglu.
};

template <bool isQuantized> LogicalResult convertMixture(NodeConverter &node) {
  return Mixture(node, isQuantized).convert();
}

} // namespace

ArrayRef<OpRow> expertsRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "MoE", {1}, convertMixture<false>},
      {"com.microsoft", "QMoE", {1}, convertMixture<true>},
  };
  return rows;
}

} // namespace tenon
