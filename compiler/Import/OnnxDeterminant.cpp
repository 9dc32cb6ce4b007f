//===- OnnxDeterminant.cpp - Determinants, by elimination -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Each row is a step of the graph.
constexpr int64_t maxSize = 32;

/// Matrices [B, n, n] on the way to their determinants [B, 1, 1].
struct Elimination {
  Value left, product;
  Expr batch;
  int64_t size;
};

Value part(NodeConverter &node, Value value, int64_t axis, int64_t start,
           int64_t size) {
  return node.slice(value, axis, node.size(start), node.size(size));
}

/// Exchanges the first row of each matrix with that of its largest pivot, and
/// the sign with it.
void pivot(NodeConverter &node, Elimination &at) {
  Value column = node.emit<graph::AbsOp>(part(node, at.left, 2, 0, 1));
  auto max = graph::ReduceKindAttr::get(node.context(), graph::ReduceKind::Max);
  Value best = node.emit<graph::ArgReduceOp>(
      {column},
      {node.i64("axis", 1), node.attr("kind", max), node.flag("last", false)});
  Exprs rows = {node.size(1), node.size(at.size), node.size(1)};
  Value index =
      node.reshape(node.iota(node.size(at.size), node.integer(64)), rows);
  Value zero = node.scalar(node.integer(64), 0);
  auto equals = [&](Value lhs, Value rhs) {
    return node.emit<graph::EqualOp>({lhs, rhs});
  };
  Value source = node.select(equals(index, zero), best,
                             node.select(equals(index, best), zero, index));
  Exprs whole = {at.batch, node.size(at.size), node.size(at.size)};
  at.left = node.emit<graph::GatherElementsOp>(
      {at.left, node.broadcast(source, whole)}, node.i64("axis", 1));
  Type element = node.elementOf(at.left);
  at.product = node.mul(at.product,
                        node.select(equals(best, zero), node.scalar(element, 1),
                                    node.scalar(element, -1)));
}

/// Takes the first row and column away.
void eliminate(NodeConverter &node, Elimination &at) {
  int64_t rest = at.size - 1;
  Value top = part(node, at.left, 1, 0, 1);
  Value corner = part(node, top, 2, 0, 1);
  at.product = node.mul(at.product, corner);
  --at.size;
  if (rest == 0)
    return;
  Type element = node.elementOf(corner);
  // Where the largest pivot is 0, the determinant is, whatever is left.
  Value isZero = node.emit<graph::EqualOp>({corner, node.scalar(element, 0)});
  Value divisor = node.select(isZero, node.scalar(element, 1), corner);
  Value below = part(node, at.left, 1, 1, rest);
  Value factors = node.div(part(node, below, 2, 0, 1), divisor);
  at.left = node.sub(part(node, below, 2, 1, rest),
                     node.mul(factors, part(node, top, 2, 1, rest)));
}

LogicalResult convertDeterminant(NodeConverter &node) {
  Value input = node.input(0);
  Exprs dims = node.dimsOf(input);
  if (node.failed())
    return failure();
  if (dims.size() < 2)
    return node.invalid("its input is no matrix");
  Expr columns = dims.pop_back_val(), rows = dims.pop_back_val();
  node.require(rows, graph::Relation::Equal, columns,
               "only square matrices have a determinant");
  auto size = rows.asConstant() ? rows.asConstant() : columns.asConstant();
  if (!size || *size > maxSize)
    return node.unsupported("its matrices have " + rows.str() +
                                " rows, where numbers up to " + Twine(maxSize) +
                                " are supported",
                            "fix that size with --dim NAME=N");
  Type type = node.elementOf(input);
  bool isDouble = type.isF64();
  Value wide = isDouble ? input : node.cast(input, node.f32());
  Expr batch = graph::product(node.context(), dims), n = node.size(*size);
  Value one = node.scalar(isDouble ? type : node.f32(), 1);
  Elimination at = {node.reshape(wide, {batch, n, n}),
                    node.broadcast(one, {batch, node.size(1), node.size(1)}),
                    batch, *size};
  while (at.size > 0 && !node.failed()) {
    if (at.size > 1)
      pivot(node, at);
    eliminate(node, at);
  }
  return node.output(node.cast(node.reshape(at.product, dims), type));
}

} // namespace

ArrayRef<OpRow> determinantRows() {
  static constexpr OpRow rows[] = {
      {"", "Det", {11, 22}, convertDeterminant},
  };
  return rows;
}

} // namespace tenon
