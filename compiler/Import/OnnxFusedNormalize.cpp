//===- OnnxFusedNormalize.cpp - Normalizations of com.microsoft -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those that swallow the sum before them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/NormalizedRows.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

constexpr double usualEpsilon = 1e-12;

/// Outputs 1 and 2 hold statistics for training.
LogicalResult refuseStatistics(NodeConverter &node) {
  if (node.wantsOutput(1) || node.wantsOutput(2))
    return node.unsupported("mean and deviation are not given out",
                            "export the model for inference");
  return node.result();
}

/// y = normalize(input + skip + bias) * gamma + beta; output 3 is the sum.
/// Without beta (`Op` is RmsNormOp) the bias comes one input earlier.
template <typename Op> LogicalResult convertSkipNorm(NodeConverter &node) {
  constexpr bool hasBeta = std::is_same_v<Op, graph::LayerNormOp>;
  Value x = node.input(0), skip = node.input(1), gamma = node.input(2);
  Value beta = hasBeta ? node.optionalInput(3) : Value();
  Value bias = node.optionalInput(hasBeta ? 4 : 3);
  if (failed(refuseStatistics(node)))
    return failure();
  Value sum = node.add(x, skip);
  if (bias)
    sum = node.add(sum, bias);
  Value y = node.mul(normalizedRows<Op>(node, sum, usualEpsilon), gamma);
  if (beta)
    y = node.add(y, beta);
  node.setOutput(0, y);
  if (node.wantsOutput(3))
    node.setOutput(3, sum);
  return node.result();
}

/// A table of an embedding or a vector, in floats, or in bytes with a scale and
/// a zero point.
struct Table {
  Value values, scale = {}, zero = {};

  Value dequantized(NodeConverter &node, Value picked) const {
    return scale
               ? tenon::dequantized(node, picked, alongAxis(node, scale, 0, 1),
                                    alongAxis(node, zero, 0, 1))
               : picked;
  }
  /// The rows that `indices` name, dequantized after they are picked.
  Value rows(NodeConverter &node, Value indices) const {
    if (node.failed() || failed(node.expectRank(values, 2, "a table")))
      return {};
    return dequantized(node, node.gather(values, indices));
  }
};

/// How many tokens of each sequence the mask keeps.
Value keptTokens(NodeConverter &node, Value mask, graph::Expr sequences) {
  Type count = node.integer(32);
  if (!mask)
    return node.broadcast(node.scalar(count, 0), sequences);
  Value isKept =
      node.emit<graph::EqualOp>({mask, node.scalar(node.elementOf(mask), 1)});
  return node.reduce(node.cast(isKept, count), 1, graph::ReduceKind::Sum,
                     /*keepDims=*/false);
}

/// The sum of word, position and segment embeddings, normalized; and how many
/// tokens the mask keeps. `table` gives inputs 2 to 6.
LogicalResult embedAndNormalize(NodeConverter &node, Value positions,
                                llvm::function_ref<Table(unsigned)> table) {
  Value ids = node.input(0), segments = node.optionalInput(1);
  Value mask = node.optionalInput(7);
  if (node.failed() || failed(node.expectRank(ids, 2, "the ids")))
    return failure();
  Emitter::Exprs dims = node.dimsOf(ids);
  if (!positions)
    positions = node.iota(dims[1], node.integer(64));
  Value sum =
      node.add(table(2).rows(node, ids), table(3).rows(node, positions));
  if (segments)
    sum = node.add(sum, table(4).rows(node, segments));
  auto whole = [&](unsigned i) {
    Table vector = table(i);
    return vector.dequantized(node, vector.values);
  };
  Value y = node.mul(
      normalizedRows<graph::LayerNormOp>(node, sum, usualEpsilon), whole(5));
  node.setOutput(0, node.add(y, whole(6)));
  if (node.wantsOutput(1))
    node.setOutput(1, keptTokens(node, mask, dims[0]));
  if (node.wantsOutput(2))
    node.setOutput(2, sum);
  return node.result();
}

LogicalResult convertEmbedNorm(NodeConverter &node) {
  return embedAndNormalize(node, node.optionalInput(8),
                           [&](unsigned i) { return Table{node.input(i)}; });
}

/// Scales and zero points come behind the mask, in the order of the tables.
LogicalResult convertQuantizedEmbedNorm(NodeConverter &node) {
  return embedAndNormalize(node, {}, [&](unsigned i) {
    return Table{node.input(i), node.input(i + 6), node.optionalInput(i + 11)};
  });
}

} // namespace

ArrayRef<OpRow> fusedNormalizeRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "EmbedLayerNormalization", {1}, convertEmbedNorm},
      {"com.microsoft",
       "QEmbedLayerNormalization",
       {1},
       convertQuantizedEmbedNorm},
      {"com.microsoft",
       "SkipLayerNormalization",
       {1},
       convertSkipNorm<graph::LayerNormOp>},
      {"com.microsoft",
       "SkipSimplifiedLayerNormalization",
       {1},
       convertSkipNorm<graph::RmsNormOp>},
  };
  return rows;
}

} // namespace tenon
