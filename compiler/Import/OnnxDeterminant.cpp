//===- OnnxDeterminant.cpp - Determinants and inverses, by elimination ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Each row is some steps of the graph.
constexpr int64_t maxSize = 32;

/// Rows [B, rows, columns] that are not eliminated yet.
struct Elimination {
  Value left;
  Expr batch;
  int64_t rows, columns;
};

Value part(NodeConverter &node, Value value, int64_t axis, int64_t start,
           int64_t size) {
  return node.slice(value, axis, node.size(start), node.size(size));
}

Value isEqual(NodeConverter &node, Value lhs, Value rhs) {
  return node.emit<graph::EqualOp>({lhs, rhs});
}

/// Exchanges the first row of each matrix with that of its largest pivot, the
/// place of which [B, 1, 1] it gives.
Value pivot(NodeConverter &node, Elimination &at) {
  Value column = node.emit<graph::AbsOp>(part(node, at.left, 2, 0, 1));
  auto max = graph::ReduceKindAttr::get(node.context(), graph::ReduceKind::Max);
  Value best = node.emit<graph::ArgReduceOp>(
      {column},
      {node.i64("axis", 1), node.attr("kind", max), node.flag("last", false)});
  Exprs rows = {node.size(1), node.size(at.rows), node.size(1)};
  Value index =
      node.reshape(node.iota(node.size(at.rows), node.integer(64)), rows);
  Value zero = node.scalar(node.integer(64), 0);
  Value source =
      node.select(isEqual(node, index, zero), best,
                  node.select(isEqual(node, index, best), zero, index));
  Exprs whole = {at.batch, node.size(at.rows), node.size(at.columns)};
  at.left = node.emit<graph::GatherElementsOp>(
      {at.left, node.broadcast(source, whole)}, node.i64("axis", 1));
  return best;
}

/// The square matrices of the input as [B, n, n] of computed floats, n a known
/// number; none after a problem.
std::optional<Elimination> matricesOf(NodeConverter &node, Value input,
                                      StringRef what) {
  Exprs dims = node.dimsOf(input);
  if (!node.failed() && dims.size() < 2)
    (void)node.invalid("its input is no matrix");
  if (node.failed())
    return std::nullopt;
  Expr columns = dims.pop_back_val(), rows = dims.pop_back_val();
  node.require(rows, graph::Relation::Equal, columns,
               "only square matrices have " + what);
  auto size = rows.asConstant() ? rows.asConstant() : columns.asConstant();
  if (!size || *size > maxSize) {
    (void)node.unsupported("its matrices have " + rows.str() +
                               " rows, where numbers up to " + Twine(maxSize) +
                               " are supported",
                           "fix that size with --dim NAME=N");
    return std::nullopt;
  }
  Expr batch = graph::product(node.context(), dims), n = node.size(*size);
  Value wide = node.cast(input, node.computedType(node.elementOf(input)));
  return Elimination{node.reshape(wide, {batch, n, n}), batch, *size, *size};
}

//===----------------------------------------------------------------------===//
// Det
//===----------------------------------------------------------------------===//

/// Takes the first row and column away, and gives the number in both.
Value eliminate(NodeConverter &node, Elimination &at) {
  int64_t rest = at.rows - 1;
  Value top = part(node, at.left, 1, 0, 1);
  Value corner = part(node, top, 2, 0, 1);
  at.rows = at.columns = rest;
  if (rest == 0)
    return corner;
  Type element = node.elementOf(corner);
  // Where the largest pivot is 0, the determinant is, whatever is left.
  Value divisor = node.select(isEqual(node, corner, node.scalar(element, 0)),
                              node.scalar(element, 1), corner);
  Value below = part(node, at.left, 1, 1, rest);
  Value factors = node.div(part(node, below, 2, 0, 1), divisor);
  at.left = node.sub(part(node, below, 2, 1, rest),
                     node.mul(factors, part(node, top, 2, 1, rest)));
  return corner;
}

LogicalResult convertDeterminant(NodeConverter &node) {
  Value input = node.input(0);
  std::optional<Elimination> at = matricesOf(node, input, "a determinant");
  if (!at || node.failed())
    return failure();
  Type wide = node.elementOf(at->left);
  auto number = [&](double value) { return node.scalar(wide, value); };
  Value product =
      node.broadcast(number(1), {at->batch, node.size(1), node.size(1)});
  while (at->rows > 0 && !node.failed()) {
    if (at->rows > 1) {
      Value isFirst =
          isEqual(node, pivot(node, *at), node.scalar(node.integer(64), 0));
      product = node.mul(product, node.select(isFirst, number(1), number(-1)));
    }
    product = node.mul(product, eliminate(node, *at));
  }
  Exprs dims = node.dimsOf(input);
  dims.pop_back_n(2);
  return node.output(
      node.cast(node.reshape(product, dims), node.elementOf(input)));
}

//===----------------------------------------------------------------------===//
// Inverse
//===----------------------------------------------------------------------===//

/// The rows without the multiple of `top` that makes their first number 0, and
/// without that.
Value without(NodeConverter &node, Value rows, Value top, int64_t columns) {
  Value factors = part(node, rows, 2, 0, 1);
  return node.sub(part(node, rows, 2, 1, columns - 1),
                  node.mul(factors, part(node, top, 2, 1, columns - 1)));
}

/// Of the matrix and that of ones beside it, each column is eliminated from all
/// rows but one: what the matrix of ones has become is the inverse.
LogicalResult convertInverse(NodeConverter &node) {
  Value input = node.input(0);
  std::optional<Elimination> at = matricesOf(node, input, "an inverse");
  if (!at || node.failed())
    return failure();
  int64_t size = at->rows;
  if (size == 0)
    return node.output(input);
  std::vector<double> ones(size_t(size * size));
  for (int64_t i = 0; i < size; ++i)
    ones[size_t(i * (size + 1))] = 1;
  Value identity =
      node.constant(node.elementOf(at->left), {1, size, size}, ones);
  at->left = node.concat(
      {at->left,
       node.broadcast(identity, {at->batch, node.size(size), node.size(size)})},
      2);
  at->columns = 2 * size;
  Value done; // Rows whose own column has become 1.
  for (; at->rows > 0 && !node.failed(); --at->rows, --at->columns) {
    if (at->rows > 1)
      pivot(node, *at);
    Value top = part(node, at->left, 1, 0, 1);
    top = node.div(top, part(node, top, 2, 0, 1));
    Value own = part(node, top, 2, 1, at->columns - 1);
    done = done ? node.concat({without(node, done, top, at->columns), own}, 1)
                : own;
    if (at->rows > 1)
      at->left = without(node, part(node, at->left, 1, 1, at->rows - 1), top,
                         at->columns);
  }
  return node.output(
      node.cast(node.reshape(done, node.dimsOf(input)), node.elementOf(input)));
}

} // namespace

ArrayRef<OpRow> determinantRows() {
  static constexpr OpRow rows[] = {
      {"", "Det", {11, 22}, convertDeterminant},
      {"com.microsoft", "Inverse", {1}, convertInverse},
  };
  return rows;
}

} // namespace tenon
