//===- OnnxRecurrent.cpp - LSTM, GRU and RNN ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::CellKind;
using graph::Expr;

/// What differs between the cells.
struct Cell {
  CellKind kind;
  int64_t gates;
  ArrayRef<StringRef> activations; // Of one direction.
};

constexpr StringRef rnnActivations[] = {"Tanh"};
constexpr StringRef gruActivations[] = {"Sigmoid", "Tanh"};
constexpr StringRef lstmActivations[] = {"Sigmoid", "Tanh", "Tanh"};

Cell cellOf(CellKind kind) {
  switch (kind) {
  case CellKind::Rnn:
    return {kind, 1, rnnActivations};
  case CellKind::Gru:
    return {kind, 3, gruActivations};
  case CellKind::Lstm:
    return {kind, 4, lstmActivations};
  }
  llvm_unreachable("covered switch");
}

struct Activations {
  SmallVector<std::string> names;
  SmallVector<double> alpha, beta; // One per name, defaults filled in.
};

/// The names that ONNX allows, with the defaults of alpha and beta.
struct ActivationDefault {
  StringLiteral name;
  bool takesAlpha, takesBeta;
  double alpha, beta;
};
constexpr ActivationDefault activationDefaults[] = {
    {"Affine", true, true, 1, 0},           {"Elu", true, false, 1, 0},
    {"HardSigmoid", true, true, 0.2, 0.5},  {"LeakyRelu", true, false, 0.01, 0},
    {"Relu", false, false, 0, 0},           {"ScaledTanh", true, true, 1, 1},
    {"Sigmoid", false, false, 0, 0},        {"Softplus", false, false, 0, 0},
    {"Softsign", false, false, 0, 0},       {"Tanh", false, false, 0, 0},
    {"ThresholdedRelu", true, false, 1, 0},
};

/// Reads the activations of all directions. The lists of alpha and beta hold
/// numbers for those activations only that take one.
Activations readActivations(NodeConverter &node, const Cell &cell,
                            size_t directions) {
  Activations result;
  result.names = node.stringsAttr("activations");
  if (result.names.empty())
    for (size_t i = 0; i < directions; ++i)
      llvm::append_range(result.names, cell.activations);
  // What RNN's own default names is for two directions, also where there is
  // one; tools write it out.
  if (directions == 1 && cell.activations.size() == 1 &&
      result.names.size() == 2)
    result.names.pop_back();
  if (result.names.size() != directions * cell.activations.size()) {
    (void)node.invalid("it needs " +
                       Twine(directions * cell.activations.size()) +
                       " activations, not " + Twine(result.names.size()));
    return result;
  }
  SmallVector<double> alphas = node.floatsAttr("activation_alpha");
  SmallVector<double> betas = node.floatsAttr("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  for (std::string &name : result.names) {
    auto found = llvm::find_if(activationDefaults, [&](const auto &each) {
      return each.name.equals_insensitive(name);
    });
    if (found == std::end(activationDefaults)) {
      (void)node.invalid("one of its activations is none of ONNX's");
      return result;
    }
    name = found->name.str();
    result.alpha.push_back(found->takesAlpha && nextAlpha < alphas.size()
                               ? alphas[nextAlpha++]
                               : found->alpha);
    result.beta.push_back(found->takesBeta && nextBeta < betas.size()
                              ? betas[nextBeta++]
                              : found->beta);
  }
  return result;
}

/// Without weights, `input` is multiplied by them already.
struct Operands {
  Value input, weights, recurrence, bias, lengths, initialH, initialC,
      peepholes;
  Expr steps, batch, hidden, directions;
};

/// A weight [D, K, G*H] of a quantized cell, with a scale and a zero point of
/// each direction, or of each of its columns.
struct QuantizedCellWeight {
  Value numbers, scale, zero; // zero: null for 0.

  /// `at` is the input that has the scales, with zero points behind it.
  static QuantizedCellWeight read(NodeConverter &node, unsigned weights,
                                  unsigned at) {
    QuantizedCellWeight weight{node.input(weights), node.input(at),
                               node.optionalInput(at + 1)};
    if (!node.failed())
      (void)node.expectRank(weight.numbers, 3, "a weight");
    return weight;
  }

  /// As a float cell has it, [D, G*H, K].
  Value floats(NodeConverter &node) const {
    if (node.failed())
      return {};
    auto alongUnits = [&](Value side) -> Value {
      if (!side)
        return {};
      Emitter::Exprs own = node.dimsOf(side);
      return own.size() == 2
                 ? node.reshape(side, {own[0], own[1], node.size(1)})
                 : alongAxis(node, side, 0, 3);
    };
    return dequantized(node, node.transpose(numbers, {0, 2, 1}),
                       alongUnits(scale), alongUnits(zero));
  }

  /// As a matrix [K, D*G*H] whose columns have scales and zero points.
  QuantizedCellWeight matrix(NodeConverter &node) const {
    if (node.failed())
      return {};
    Emitter::Exprs dims = node.dimsOf(numbers);
    Expr directions = dims[0], units = dims[2];
    auto perColumn = [&](Value side) -> Value {
      if (!side)
        return {};
      Emitter::Exprs own = node.dimsOf(side);
      if (own.size() == 1 && own[0].isConstant(1))
        return alongAxis(node, side, 0, 1);
      if (own.size() == 1)
        side = node.unsqueeze(side, 1);
      return node.reshape(node.broadcast(side, {directions, units}),
                          {directions * units});
    };
    Value columns = node.reshape(node.transpose(numbers, {1, 0, 2}),
                                 {dims[1], directions * units});
    return {columns, perColumn(scale), perColumn(zero)};
  }
};

/// What a quantized cell makes of its input and its bias, for all steps, [S, B,
/// D*G*H]: the input is quantized by its own range.
Value quantizedProjection(NodeConverter &node, Value input, Value bias,
                          const QuantizedCellWeight &weight) {
  QuantizedCellWeight matrix = weight.matrix(node);
  if (node.failed())
    return {};
  Emitter::Exprs dims = node.dimsOf(input);
  DynamicQuantization rows = dynamicallyQuantized(
      node, node.reshape(input, {dims[0] * dims[1], dims[2]}));
  Value sums = node.matmul(centered(node, rows.value, rows.zeroPoint),
                           centered(node, matrix.numbers, matrix.zero));
  Value all =
      node.mul(node.cast(sums, node.f32()), node.mul(rows.scale, matrix.scale));
  if (node.failed())
    return {};
  Expr columns = node.dimsOf(all)[1];
  if (bias) { // One of the input, and one of the state.
    Expr directions = node.dimsOf(bias)[0];
    Expr units = node.dimsOf(weight.numbers)[2];
    auto half = [&](Expr from) {
      return node.reshape(node.slice(bias, 1, from, units),
                          {directions * units});
    };
    all = node.add(all, node.add(half(node.size(0)), half(units)));
  }
  return node.reshape(all, {dims[0], dims[1], columns});
}

/// Reads the inputs in the layout [S, B, ..] and holds their dims against each
/// other.
Operands readOperands(NodeConverter &node, const Cell &cell, bool batchFirst,
                      int64_t directions) {
  constexpr unsigned scaleOfWeights = 8, scaleOfRecurrence = 10;
  bool isQuantized = node.op() == "DynamicQuantizeLSTM";
  Operands ops;
  ops.input = node.input(0);
  QuantizedCellWeight weights;
  if (isQuantized) {
    weights = QuantizedCellWeight::read(node, 1, scaleOfWeights);
    ops.recurrence =
        QuantizedCellWeight::read(node, 2, scaleOfRecurrence).floats(node);
  } else {
    ops.weights = node.input(1);
    ops.recurrence = node.input(2);
  }
  ops.bias = node.optionalInput(3);
  ops.lengths = node.optionalInput(4);
  ops.initialH = node.optionalInput(5);
  bool isLstm = cell.kind == CellKind::Lstm;
  ops.initialC = isLstm ? node.optionalInput(6) : Value();
  ops.peepholes = isLstm ? node.optionalInput(7) : Value();
  if (node.failed() || failed(node.expectRank(ops.input, 3, "X")) ||
      failed(node.expectRank(ops.recurrence, 3, "R")))
    return ops;
  if (batchFirst) {
    ops.input = node.transpose(ops.input, {1, 0, 2});
    if (ops.initialH)
      ops.initialH = node.transpose(ops.initialH, {1, 0, 2});
    if (ops.initialC)
      ops.initialC = node.transpose(ops.initialC, {1, 0, 2});
  }
  Emitter::Exprs input = node.dimsOf(ops.input);
  Emitter::Exprs recurrence = node.dimsOf(ops.recurrence);
  if (node.failed())
    return ops;
  ops.steps = input[0];
  ops.batch = input[1];
  ops.hidden = recurrence[2];
  ops.directions = node.size(directions);
  if (node.hasAttr("hidden_size"))
    node.require(ops.hidden, graph::Relation::Equal,
                 node.size(node.intAttr("hidden_size")),
                 "hidden_size must be that of R");
  Expr d = ops.directions, h = ops.hidden, gates = h * cell.gates;
  node.expectDims(ops.weights, {d, gates, input[2]}, "W");
  node.expectDims(weights.numbers, {d, input[2], gates}, "W");
  node.expectDims(ops.recurrence, {d, gates, h}, "R");
  node.expectDims(ops.bias, {d, gates * 2}, "B");
  node.expectDims(ops.lengths, {ops.batch}, "sequence_lens");
  node.expectDims(ops.initialH, {d, ops.batch, h}, "initial_h");
  node.expectDims(ops.initialC, {d, ops.batch, h}, "initial_c");
  node.expectDims(ops.peepholes, {d, h * 3}, "P");
  if (isQuantized && !node.failed()) {
    ops.input = quantizedProjection(node, ops.input, ops.bias, weights);
    ops.bias = {};
  }
  return ops;
}

/// The op itself; its three results, or none after a problem.
SmallVector<Value> emitRecurrent(NodeConverter &node, const Cell &cell,
                                 const Operands &ops, StringRef direction,
                                 const Activations &activations) {
  Type element = node.elementOf(ops.input);
  Expr s = ops.steps, d = ops.directions, b = ops.batch, h = ops.hidden;
  if (node.failed())
    return {};
  Type all = graph::tensorOf({s, d, b, h}, element);
  Type last = graph::tensorOf({d, b, h}, element);
  if (!all || !last) {
    (void)node.invalid("a size is negative or overflows");
    return {};
  }
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  for (Value optional :
       {ops.input, ops.weights, ops.recurrence, ops.bias, ops.lengths,
        ops.initialH, ops.initialC, ops.peepholes}) {
    segments.push_back(optional ? 1 : 0);
    if (optional)
      operands.push_back(optional);
  }
  SmallVector<StringRef> names(activations.names.begin(),
                               activations.names.end());
  return node.emitAll<graph::RecurrentOp>(
      operands,
      {node.attr("operandSegmentSizes",
                 node.builder.getDenseI32ArrayAttr(segments)),
       node.attr("cell", graph::CellKindAttr::get(node.context(), cell.kind)),
       node.text("direction", direction), node.texts("activations", names),
       node.f64s("alpha", activations.alpha),
       node.f64s("beta", activations.beta),
       node.f64("clip", node.floatAttr("clip", 0)),
       node.flag("linear_before_reset",
                 node.flagAttr("linear_before_reset", false)),
       node.flag("input_forget", node.flagAttr("input_forget", false))},
      {all, last, last});
}

template <CellKind kind> LogicalResult convertRecurrent(NodeConverter &node) {
  Cell cell = cellOf(kind);
  std::string direction = node.stringAttr("direction", "forward");
  bool batchFirst = node.opset() >= 14 && node.flagAttr("layout", false);
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return node.invalid("direction must be forward, reverse or bidirectional");
  size_t directions = direction == "bidirectional" ? 2 : 1;
  Activations activations = readActivations(node, cell, directions);
  Operands ops = readOperands(node, cell, batchFirst, directions);
  auto results = emitRecurrent(node, cell, ops, direction, activations);
  if (results.size() != 3)
    return failure();
  if (batchFirst) {
    results[0] = node.transpose(results[0], {2, 0, 1, 3});
    results[1] = node.transpose(results[1], {1, 0, 2});
    results[2] = node.transpose(results[2], {1, 0, 2});
  }
  unsigned count = kind == CellKind::Lstm ? 3 : 2;
  for (unsigned i = 0; i < count; ++i)
    if (node.wantsOutput(i))
      node.setOutput(i, results[i]);
  return node.result();
}

} // namespace

ArrayRef<OpRow> recurrentRows() {
  static constexpr OpRow rows[] = {
      {"", "GRU", {7, 14, 22}, convertRecurrent<CellKind::Gru>},
      {"", "LSTM", {7, 14, 22}, convertRecurrent<CellKind::Lstm>},
      {"", "RNN", {7, 14, 22}, convertRecurrent<CellKind::Rnn>},
      {"com.microsoft",
       "DynamicQuantizeLSTM",
       {1},
       convertRecurrent<CellKind::Lstm>},
  };
  return rows;
}

} // namespace tenon
