//===- OnnxEinsum.cpp - Einstein sums -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are joined from left to right. Of two, the axes that only one has
// and nobody needs any more are summed away; the others are the batch, rows,
// columns and depth of one matrix product.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// Names an axis: a letter, or an axis of the ellipsis counted from its end.
using Label = int;
using Labels = SmallVector<Label>;
constexpr Label ellipsisLabel = 1000;

/// One side of the equation between commas.
struct Term {
  Labels letters;
  std::optional<size_t> ellipsis; // It stands before letters[*ellipsis].
};

struct Equation {
  SmallVector<Term> inputs;
  std::optional<Term> output;
};

std::optional<Term> parseTerm(StringRef text) {
  Term term;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (term.ellipsis)
        return std::nullopt;
      term.ellipsis = term.letters.size();
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return std::nullopt;
    term.letters.push_back(text.front());
    text = text.drop_front();
  }
  return term;
}

std::optional<Equation> parseEquation(StringRef text) {
  std::string compact;
  for (char c : text)
    if (c != ' ')
      compact += c;
  Equation equation;
  auto [left, right] = StringRef(compact).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  for (StringRef part : parts) {
    std::optional<Term> term = parseTerm(part);
    if (!term)
      return std::nullopt;
    equation.inputs.push_back(*term);
  }
  if (StringRef(compact).contains("->")) {
    equation.output = parseTerm(right);
    if (!equation.output)
      return std::nullopt;
  }
  return equation;
}

/// The labels of all axes when the ellipsis spans `count` of them.
Labels expand(const Term &term, size_t count) {
  Labels labels = term.letters;
  if (term.ellipsis)
    for (size_t i = 0; i < count; ++i)
      labels.insert(labels.begin() + *term.ellipsis, ellipsisLabel + Label(i));
  return labels;
}

/// A value whose axes have names.
struct Operand {
  Value value;
  Labels labels;

  int64_t axisOf(Label label) const {
    return llvm::find(labels, label) - labels.begin();
  }
  bool has(Label label) const { return llvm::is_contained(labels, label); }
};

class Einsum {
public:
  explicit Einsum(NodeConverter &node) : node(node) {}

  LogicalResult convert();

private:
  LogicalResult readOperands(const Equation &equation);
  LogicalResult findOutput(const Equation &equation);
  /// Replaces two axes of one name by their diagonal.
  void takeDiagonals(Operand &operand);
  /// Sums the axes whose labels `isNeeded` does not hold for.
  void sumOut(Operand &operand, llvm::function_ref<bool(Label)> isNeeded);
  Operand join(Operand lhs, Operand rhs,
               llvm::function_ref<bool(Label)> isNeeded);
  /// Axes of these groups in this order, each later group as one axis.
  Value grouped(const Operand &operand, ArrayRef<Label> batch,
                ArrayRef<Label> second, ArrayRef<Label> third);
  Expr dim(const Operand &operand, Label label) {
    return node.dimOf(operand.value, operand.axisOf(label));
  }

  NodeConverter &node;
  SmallVector<Operand> operands;
  size_t ellipsisRank = 0;
  Labels output;
};

LogicalResult Einsum::readOperands(const Equation &equation) {
  SmallVector<Value> inputs = node.inputs();
  if (node.failed())
    return failure();
  if (inputs.size() != equation.inputs.size())
    return node.invalid("the equation has " + Twine(equation.inputs.size()) +
                        " terms for " + Twine(inputs.size()) + " inputs");
  SmallVector<size_t> spans;
  for (auto [input, term] : llvm::zip(inputs, equation.inputs)) {
    size_t rank = node.dimsOf(input).size(), letters = term.letters.size();
    if (rank < letters || (rank > letters && !term.ellipsis))
      return node.invalid("a term of the equation does not fit an input of "
                          "rank " +
                          Twine(rank));
    spans.push_back(rank - letters);
    if (term.ellipsis)
      ellipsisRank = std::max(ellipsisRank, rank - letters);
  }
  for (auto [input, term, span] : llvm::zip(inputs, equation.inputs, spans)) {
    operands.push_back({input, expand(term, span)});
    takeDiagonals(operands.back());
  }
  return node.result();
}

LogicalResult Einsum::findOutput(const Equation &equation) {
  Labels all;
  for (const Term &term : equation.inputs)
    llvm::append_range(all, term.letters);
  if (equation.output) {
    output = expand(*equation.output, ellipsisRank);
    for (auto [i, label] : llvm::enumerate(output)) {
      bool repeats = llvm::is_contained(ArrayRef(output).take_front(i), label);
      if (repeats || (label < ellipsisLabel && !llvm::is_contained(all, label)))
        return node.invalid("a letter of the result repeats or is no letter of "
                            "an input");
    }
    return success();
  }
  // Without an arrow: the ellipsis, then all letters that occur once.
  Term term;
  term.ellipsis = 0;
  llvm::sort(all);
  for (Label label : all)
    if (llvm::count(all, label) == 1)
      term.letters.push_back(label);
  output = expand(term, ellipsisRank);
  return success();
}

void Einsum::takeDiagonals(Operand &operand) {
  for (size_t i = 0; i < operand.labels.size() && !node.failed(); ++i) {
    size_t j = i + 1;
    while (j < operand.labels.size() && operand.labels[j] != operand.labels[i])
      ++j;
    if (j == operand.labels.size())
      continue;
    Emitter::Exprs dims = node.dimsOf(operand.value);
    node.require(dims[i], graph::Relation::Equal, dims[j],
                 "axes of one letter must have one size");
    auto index = [&](size_t axis) {
      Emitter::Exprs along(dims.size() - axis, node.size(1));
      along[0] = dims[axis];
      return node.reshape(node.iota(dims[axis], node.integer(64)), along);
    };
    Value onDiagonal = node.emit<graph::EqualOp>({index(i), index(j)});
    Value zero = node.scalar(node.elementOf(operand.value), 0);
    operand.value =
        node.reduce(node.select(onDiagonal, operand.value, zero), int64_t(j),
                    graph::ReduceKind::Sum, /*keepDims=*/false);
    operand.labels.erase(operand.labels.begin() + j);
    --i; // A letter may stand three times.
  }
}

void Einsum::sumOut(Operand &operand,
                    llvm::function_ref<bool(Label)> isNeeded) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(operand.labels)) {
    if (isNeeded(label))
      kept.push_back(label);
    else
      axes.push_back(i);
  }
  if (axes.empty())
    return;
  operand.value = node.reduce(operand.value, axes, graph::ReduceKind::Sum,
                              /*keepDims=*/false);
  operand.labels = kept;
}

Value Einsum::grouped(const Operand &operand, ArrayRef<Label> batch,
                      ArrayRef<Label> second, ArrayRef<Label> third) {
  SmallVector<int64_t> permutation;
  Emitter::Exprs dims;
  for (ArrayRef<Label> group : {batch, second, third}) {
    Emitter::Exprs sizes;
    for (Label label : group) {
      permutation.push_back(operand.axisOf(label));
      sizes.push_back(dim(operand, label));
    }
    if (group.data() == batch.data() && group.size() == batch.size() &&
        dims.empty())
      dims = sizes;
    else
      dims.push_back(graph::product(node.context(), sizes));
  }
  while (dims.size() < batch.size() + 2)
    dims.push_back(node.size(1));
  return node.reshape(node.transpose(operand.value, permutation), dims);
}

Operand Einsum::join(Operand lhs, Operand rhs,
                     llvm::function_ref<bool(Label)> isNeeded) {
  sumOut(lhs, [&](Label label) { return rhs.has(label) || isNeeded(label); });
  sumOut(rhs, [&](Label label) { return lhs.has(label) || isNeeded(label); });
  if (node.failed())
    return {};
  Labels batch, rows, depth, columns;
  for (Label label : lhs.labels)
    (!rhs.has(label) ? rows : isNeeded(label) ? batch : depth).push_back(label);
  for (Label label : rhs.labels)
    if (!lhs.has(label))
      columns.push_back(label);
  // An axis of size one stands for all of the other operand's; the product
  // broadcasts its batch axes but not its depth.
  for (Label label : depth)
    for (Operand *operand : {&lhs, &rhs}) {
      Expr other = dim(operand == &lhs ? rhs : lhs, label);
      if (dim(*operand, label).isConstant(1) && !other.isConstant(1)) {
        Emitter::Exprs to = node.dimsOf(operand->value);
        to[operand->axisOf(label)] = other;
        operand->value = node.broadcast(operand->value, to);
      }
      if (node.failed())
        return {};
    }
  Value product = node.matmul(grouped(lhs, batch, rows, depth),
                              grouped(rhs, batch, depth, columns));
  if (node.failed())
    return {};
  Emitter::Exprs dims = node.dimsOf(product);
  dims.truncate(batch.size());
  for (Label label : rows)
    dims.push_back(dim(lhs, label));
  for (Label label : columns)
    dims.push_back(dim(rhs, label));
  Labels labels = batch;
  llvm::append_range(labels, rows);
  llvm::append_range(labels, columns);
  return {node.reshape(product, dims), labels};
}

LogicalResult Einsum::convert() {
  std::optional<Equation> equation =
      parseEquation(node.stringAttr("equation", ""));
  if (!equation || equation->inputs.empty())
    return node.invalid("the equation cannot be read");
  if (failed(readOperands(*equation)) || failed(findOutput(*equation)))
    return failure();
  Operand result = operands.front();
  for (size_t i = 1; i < operands.size() && !node.failed(); ++i)
    result = join(result, operands[i], [&](Label label) {
      return llvm::is_contained(output, label) ||
             llvm::any_of(ArrayRef(operands).drop_front(i + 1),
                          [&](const Operand &rest) { return rest.has(label); });
    });
  sumOut(result,
         [&](Label label) { return llvm::is_contained(output, label); });
  if (node.failed())
    return failure();
  SmallVector<int64_t> permutation;
  for (Label label : output) {
    if (!result.has(label))
      return node.invalid("the result has an ellipsis that no input has");
    permutation.push_back(result.axisOf(label));
  }
  return node.output(node.transpose(result.value, permutation));
}

LogicalResult convertEinsum(NodeConverter &node) {
  return Einsum(node).convert();
}

} // namespace

ArrayRef<OpRow> einsumRows() {
  static constexpr OpRow rows[] = {{"", "Einsum", {12, 28}, convertEinsum}};
  return rows;
}

} // namespace tenon
