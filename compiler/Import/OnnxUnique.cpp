//===- OnnxUnique.cpp - Which values, or rows, there are ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Rows are sorted column by column.
constexpr int64_t maxColumns = 64;

/// Where the elements of a vector lie in ascending order; of equal ones the
/// first is first.
Value placesInOrder(NodeConverter &node, Value vector) {
  Expr all = node.dimOf(vector, 0);
  return node.topk(vector, 0, all, /*largest=*/false).places;
}

/// `into` with values[i] at places[i], which all are different or, to be
/// added, not.
Value scattered(NodeConverter &node, Value into, Value places, Value values,
                graph::ScatterKind kind) {
  return node.emit<graph::ScatterElementsOp>(
      {into, places, values},
      {node.i64("axis", 0),
       node.attr("kind", graph::ScatterKindAttr::get(node.context(), kind))});
}

Value filled(NodeConverter &node, Expr length, int64_t value) {
  return node.broadcast(node.scalar(node.integer(64), double(value)), length);
}

/// Where the rows of a matrix lie in lexicographic order: sorted by the last
/// column first, since sorting keeps what is equal in order.
Value rowsInOrder(NodeConverter &node, Value rows, int64_t columns) {
  Expr count = node.dimOf(rows, 0);
  Value order;
  for (int64_t column = columns - 1; column >= 0 && !node.failed(); --column) {
    Value key = node.reshape(
        node.slice(rows, 1, node.size(column), node.size(1)), count);
    if (order)
      key = node.gather(key, order);
    Value places = placesInOrder(node, key);
    order = order ? node.gather(order, places) : places;
  }
  return order;
}

/// Which rows of a sorted matrix differ from the one before, the first one
/// included.
Value startsOfGroups(NodeConverter &node, Value sorted) {
  Value index = node.iota(node.dimOf(sorted, 0), node.integer(64));
  Value before = node.gather(sorted, node.maximum(node.sub(index, 1), 0));
  Value differs =
      node.emit<graph::NotOp>(node.emit<graph::EqualOp>({sorted, before}));
  Value any = node.reduce(differs, 1, graph::ReduceKind::Max,
                          /*keepDims=*/false);
  Value isFirst =
      node.emit<graph::EqualOp>({index, node.scalar(node.integer(64), 0)});
  return node.emit<graph::OrOp>({any, isFirst});
}

/// Rows that are equal.
struct Groups {
  Value first; // Of each group, where its first row lies.
  Value ofRow; // Of each row, which group it is in.
  Value sizes; // Of each group, how many rows.
};

/// The groups in the order of their rows.
Groups groupsOf(NodeConverter &node, Value rows, int64_t columns) {
  Value order = rowsInOrder(node, rows, columns);
  Value starts = startsOfGroups(node, node.gather(rows, order));
  Value found = node.nonzero(starts);
  if (node.failed())
    return {};
  Expr count = node.dimOf(rows, 0), number = node.dimOf(found, 1);
  auto sum = graph::ReduceKindAttr::get(node.context(), graph::ReduceKind::Sum);
  Value begun = node.emit<graph::CumulativeOp>(
      {node.cast(starts, node.integer(64))},
      {node.i64("axis", 0), node.attr("kind", sum),
       node.flag("exclusive", false), node.flag("reverse", false)});
  Value group = node.sub(begun, 1);
  return {node.gather(order, node.reshape(found, number)),
          scattered(node, filled(node, count, 0), order, group,
                    graph::ScatterKind::Assign),
          scattered(node, filled(node, number, 0), group,
                    filled(node, count, 1), graph::ScatterKind::Add)};
}

/// The groups in the order of their first rows.
void sortByPlace(NodeConverter &node, Groups &groups) {
  if (node.failed())
    return;
  Expr number = node.dimOf(groups.first, 0);
  Value byPlace = placesInOrder(node, groups.first);
  Value rank = scattered(node, filled(node, number, 0), byPlace,
                         node.iota(number, node.integer(64)),
                         graph::ScatterKind::Assign);
  groups = {node.gather(groups.first, byPlace), node.gather(rank, groups.ofRow),
            node.gather(groups.sizes, byPlace)};
}

/// The matrix whose rows are compared, of numbers.
Value rowsOf(NodeConverter &node, Value input, std::optional<int64_t> axis) {
  if (node.failed())
    return {};
  if (graph::getElementType(input).isInteger(1))
    input = node.cast(input, node.unsignedInteger(8));
  if (!axis)
    return node.reshape(input, {graph::elementCount(input), node.size(1)});
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, graph::getRank(input)));
  order.erase(order.begin() + *axis);
  order.insert(order.begin(), *axis);
  Value front = node.transpose(input, order);
  Exprs dims = node.dimsOf(front);
  if (node.failed())
    return {};
  Expr columns = graph::product(node.context(), ArrayRef(dims).drop_front());
  return node.reshape(front, {dims[0], columns});
}

LogicalResult convertUnique(NodeConverter &node) {
  Value input = node.input(0);
  std::optional<int64_t> axis;
  if (node.hasAttr("axis"))
    axis = node.axisAttr("axis", 0, int64_t(node.dimsOf(input).size()));
  Value rows = rowsOf(node, input, axis);
  if (node.failed())
    return failure();
  auto columns = graph::getDim(rows, 1).asConstant();
  if (!columns || *columns < 1 || *columns > maxColumns)
    return node.unsupported(
        "compares slices of " + graph::getDim(rows, 1).str() +
            " elements, where 1 to " + Twine(maxColumns) + " are supported",
        "do this before or after the model");
  Groups groups = groupsOf(node, rows, *columns);
  if (!node.flagAttr("sorted", true))
    sortByPlace(node, groups);
  Value flat = axis || node.failed()
                   ? input
                   : node.reshape(input, graph::elementCount(input));
  node.setOutput(0, node.gather(flat, groups.first, axis.value_or(0)));
  node.setOutput(1, groups.first);
  node.setOutput(2, groups.ofRow);
  node.setOutput(3, groups.sizes);
  return node.result();
}

} // namespace

ArrayRef<OpRow> uniqueRows() {
  static constexpr OpRow rows[] = {
      {"", "Unique", {11, 28}, convertUnique},
  };
  return rows;
}

} // namespace tenon
