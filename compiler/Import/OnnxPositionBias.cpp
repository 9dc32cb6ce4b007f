//===- OnnxPositionBias.cpp - Biases of scores by distance ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those of com.microsoft: T5's, and the gated one of WavLM.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/AttentionParts.h"
#include "compiler/Import/OpFamilies.h"

#include <cmath>

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// A table has a bucket for each distance below this.
constexpr int64_t maxDistance = 1 << 20;

/// The bucket of each distance up to `most`: half of them hold one distance
/// each, the others ever more up to `most`, by logarithms.
std::vector<double> bucketsOfDistances(int64_t count, int64_t most) {
  int64_t exact = count / 2;
  std::vector<double> buckets;
  for (int64_t distance = 0; distance < exact; ++distance)
    buckets.push_back(double(distance));
  for (int64_t distance = exact; distance <= most; ++distance) {
    // In f32, as the models compute it that were trained so.
    float share = std::log(float(distance) / float(exact)) /
                  std::log(float(most) / float(exact));
    int64_t beyond = exact + int64_t(share * float(count - exact));
    buckets.push_back(double(std::min(beyond, count - 1)));
  }
  return buckets;
}

/// [1, heads, queries, keys] from a table of [buckets, heads] numbers that lies
/// head by head.
LogicalResult convertRelativePositionBias(NodeConverter &node) {
  Value table = node.input(0);
  Expr queries = node.readSize(node.input(1), "a length");
  Expr keys = node.readSize(node.input(2), "a length");
  int64_t most = node.intAttr("max_distance");
  bool isBothWays = node.flagAttr("is_bidirectional", false);
  if (node.failed() || failed(node.expectRank(table, 2, "the table")))
    return failure();
  Expr heads = node.dimOf(table, 1);
  std::optional<int64_t> all = node.dimOf(table, 0).asConstant();
  if (!all)
    return node.unsupported("the size of its table is not known",
                            "export it with a table of known size");
  int64_t count = isBothWays ? *all / 2 : *all;
  if (count < 2 || most <= count / 2 || most > maxDistance)
    return node.invalid("max_distance must be more than half of the buckets, "
                        "and at most " +
                        Twine(maxDistance));
  Value buckets = node.constant(node.integer(64), {most + 1},
                                bucketsOfDistances(count, most));
  Value ahead = keysAhead(node, queries, keys);
  Value zero = node.scalar(node.integer(64), 0);
  Value size = isBothWays ? node.emit<graph::AbsOp>({ahead})
                          : node.maximum(node.sub(zero, ahead), 0.0);
  Value bucket = node.gather(buckets, node.minimum(size, double(most)));
  if (isBothWays)
    bucket = node.select(node.emit<graph::LessOp>({zero, ahead}),
                         node.add(bucket, double(count)), bucket);
  Value rows = node.reshape(table, {heads, node.size(*all)});
  return node.output(node.unsqueeze(node.gather(rows, bucket, 1), {0}));
}

/// rel_pos * (u (r a - 1) + 2) with gates u and r [B, heads, S, 1], which come
/// of the queries.
LogicalResult convertGatedPositionBias(NodeConverter &node) {
  Value query = node.input(0), positions = node.input(2);
  Value weight = node.input(3), factor = node.input(5);
  int64_t heads = node.intAttr("num_heads");
  if (node.hasInput(6))
    return node.unsupported("queries without their padding are not supported",
                            "export the model without token_offset");
  if (failed(node.expectRank(query, 3, "the queries")) ||
      failed(node.expectRank(weight, 2, "the weight")))
    return failure();
  if (heads < 1)
    return node.invalid("num_heads must be positive");
  Emitter::Exprs dims = node.dimsOf(query);
  Expr size = node.dimOf(weight, 0), width = node.dimOf(weight, 1);
  node.require(size * heads, Relation::Equal, dims[2],
               "the weight must have the rows of a head");
  node.require(node.size(2), Relation::Divides, width,
               "the weight must have two halves");
  if (node.failed())
    return failure();
  Value rows = node.reshape(node.add(query, node.input(1)),
                            {dims[0], dims[1], node.size(heads), size});
  Value sums = node.add(node.matmul(node.transpose(rows, {0, 2, 1, 3}), weight),
                        node.input(4));
  sums = node.reshape(sums, {dims[0], node.size(heads), dims[1], node.size(2),
                             width.floorDiv(node.size(2))});
  Value gates = node.emit<graph::SigmoidOp>(
      {node.reduce(sums, {4}, graph::ReduceKind::Sum, /*keepDims=*/false)});
  auto gate = [&](int64_t i) {
    return node.slice(gates, 3, node.size(i), node.size(1));
  };
  Value open = node.add(
      node.mul(gate(0), node.sub(node.mul(gate(1), factor), 1.0)), 2.0);
  return node.output(node.mul(open, positions));
}

} // namespace

ArrayRef<OpRow> positionBiasRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft",
       "GatedRelativePositionBias",
       {1},
       convertGatedPositionBias},
      {"com.microsoft",
       "RelativePositionBias",
       {1},
       convertRelativePositionBias},
  };
  return rows;
}

} // namespace tenon
