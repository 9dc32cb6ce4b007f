//===- IndexMovement.cpp - Where data movement reads an element -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/IndexExpression.h"

using namespace mlir;

namespace tenon {

using graph::Expr;

namespace {

/// First element and distance of integers that are equally far apart.
std::optional<std::pair<int64_t, int64_t>>
progressionOf(DenseElementsAttr dense) {
  // Far enough from the ends of 64 bits that no distance wraps.
  constexpr unsigned bits = 62;
  Type element = dense.getElementType();
  if (!element.isSignlessInteger() || element.isInteger(1) ||
      dense.getNumElements() < 2)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const APInt &each : dense.getValues<APInt>()) {
    if (each.getSignificantBits() > bits)
      return std::nullopt;
    values.push_back(each.getSExtValue());
  }
  int64_t step = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step)
      return std::nullopt;
  return std::pair(values[0], step);
}

} // namespace

/// Elements 0, 1, 2, .. of a table, at an index that is no number.
const Term *IndexExpressions::readProgression(graph::ConstantOp op,
                                              Indices at) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  std::optional<std::pair<int64_t, int64_t>> found = progressionOf(dense);
  if (!found)
    return nullptr;
  Expr flat = constant(0);
  for (auto [size, each] : llvm::zip(dense.getType().getShape(), at))
    flat = flat * size + (size == 1 ? constant(0) : each);
  Expr value = flat * found->second + found->first;
  return value ? integer(value) : nullptr;
}

const Term *IndexExpressions::readConstant(graph::ConstantOp op, Indices at) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || dense.getNumElements() == 0)
    return nullptr;
  bool isNumber =
      llvm::all_of(at, [](Expr each) { return each.asConstant().has_value(); });
  if (!dense.isSplat() && !isNumber)
    return readProgression(op, at);
  int64_t flat = 0;
  if (!dense.isSplat())
    for (auto [size, each] : llvm::zip(dense.getType().getShape(), at)) {
      std::optional<int64_t> position = each.asConstant();
      if (!position || *position < 0 || *position >= size)
        return nullptr;
      flat = flat * size + *position;
    }
  Type element = dense.getElementType();
  if (isa<FloatType>(element)) {
    APFloat value = dense.getValues<APFloat>()[flat];
    bool inexact = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &inexact);
    return make({Term::Kind::Number, {}, value.convertToDouble(), {}, {}, {}});
  }
  APInt value = dense.getValues<APInt>()[flat];
  if (element.isInteger(1))
    return boolean(!value.isZero());
  if (element.isUnsignedInteger() && value.getActiveBits() > 62)
    return nullptr;
  return integer(constant(element.isUnsignedInteger()
                              ? int64_t(value.getZExtValue())
                              : value.getSExtValue()));
}

const Term *IndexExpressions::readSizes(graph::SizesOp op, Indices at) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t flat = 0;
  for (auto [size, each] : llvm::zip(type.getShape(), at)) {
    Expr position = size == 1 ? constant(0) : each;
    if (!position.asConstant() || *position.asConstant() < 0 ||
        *position.asConstant() >= size)
      return nullptr;
    flat = flat * size + *position.asConstant();
  }
  return integer(op.getValue()[flat]);
}

const Term *IndexExpressions::readMovement(Operation *op, Indices at) {
  Value input = op->getOperand(0);
  if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    auto from = graph::getDims(input), to = graph::getDims(op->getResult(0));
    for (auto [a, b] : llvm::zip(from, ArrayRef(to).take_back(from.size())))
      if (a != b && !a.isConstant(1))
        return nullptr;
    return readBroadcast(input, at);
  }
  SmallVector<Expr> from(at.size());
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    for (auto [axis, each] : llvm::zip(transpose.getPermutation(), at))
      from[axis] = each;
  } else {
    auto slice = cast<graph::SliceOp>(op);
    for (size_t i = 0; i < at.size(); ++i)
      from[i] = slice.getStarts()[i] + at[i] * slice.getSteps()[i];
  }
  return read(input, from);
}

const Term *IndexExpressions::readReshape(graph::ReshapeOp op, Indices at) {
  auto in = graph::getDims(op.getInput()), out = graph::getDims(op.getResult());
  SmallVector<Expr> from(in.size(), constant(0));
  size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    // The shortest groups of axes with equally many elements.
    size_t iEnd = i, oEnd = o;
    bool found = false;
    for (size_t total = 1; !found && total <= in.size() + out.size(); ++total)
      for (size_t a = 0; !found && a <= total; ++a) {
        if (i + a > in.size() || o + total - a > out.size())
          continue;
        Expr left = graph::product(context, ArrayRef(in).slice(i, a));
        found = left && left == graph::product(
                                    context, ArrayRef(out).slice(o, total - a));
        iEnd = i + a;
        oEnd = o + total - a;
      }
    if (!found)
      return nullptr;
    Expr flat = constant(0);
    for (; o < oEnd; ++o)
      flat = flat * out[o] + (out[o].isConstant(1) ? flat * 0 : at[o]);
    for (size_t axis = iEnd; axis-- > i;) {
      if (in[axis].isConstant(1))
        continue;
      bool last = llvm::all_of(llvm::seq(i, axis), [&](size_t outer) {
        return in[outer].isConstant(1);
      });
      Expr quotient;
      if (last)
        from[axis] = flat;
      else if (!split(flat, in[axis], quotient, from[axis]))
        return nullptr;
      if (last)
        break;
      flat = quotient;
    }
    i = iEnd;
  }
  return read(op.getInput(), from);
}

const Term *IndexExpressions::readConcat(graph::ConcatOp op, Indices at) {
  Expr begin = constant(0), where = at[op.getAxis()];
  for (Value input : op.getInputs()) {
    Expr end = begin + graph::getDim(input, op.getAxis());
    if (!end)
      return nullptr;
    if (isNonNegative(where - begin) && isNonNegative(end - 1 - where)) {
      SmallVector<Expr> from(at);
      from[op.getAxis()] = where - begin;
      return read(input, from);
    }
    begin = end;
  }
  return nullptr;
}

const Term *IndexExpressions::readGather(graph::GatherOp op, Indices at) {
  size_t axis = op.getAxis(), rank = graph::getRank(op.getIndices());
  const Term *index = read(op.getIndices(), at.slice(axis, rank));
  // A negative one counts from the end.
  if (index->kind != Term::Kind::Integer || !isNonNegative(index->expr))
    return nullptr;
  SmallVector<Expr> from(at.take_front(axis));
  from.push_back(index->expr);
  llvm::append_range(from, at.drop_front(axis + rank));
  return read(op.getInput(), from);
}

const Term *IndexExpressions::readGatherNd(graph::GatherNdOp op, Indices at) {
  size_t batch = op.getBatchDims();
  auto dims = graph::getDims(op.getIndices());
  std::optional<int64_t> depth = dims.back().asConstant();
  if (!depth || *depth > 8)
    return nullptr;
  SmallVector<Expr> from(at.take_front(batch));
  for (int64_t i = 0; i < *depth; ++i) {
    SmallVector<Expr> where(at.take_front(dims.size() - 1));
    where.push_back(constant(i));
    const Term *index = read(op.getIndices(), where);
    if (index->kind != Term::Kind::Integer || !isNonNegative(index->expr))
      return nullptr;
    from.push_back(index->expr);
  }
  llvm::append_range(from, at.drop_front(dims.size() - 1));
  return read(op.getInput(), from);
}

/// Updates that are all written where they lie anyway.
const Term *IndexExpressions::readScatterNd(graph::ScatterNdOp op, Indices at) {
  auto dims = graph::getDims(op.getIndices());
  if (op.getKind() != graph::ScatterKind::Assign ||
      !dims.back().isConstant(at.size()) ||
      graph::getDims(op.getUpdates()) != graph::getDims(op.getResult()))
    return nullptr;
  for (size_t i = 0; i < at.size(); ++i) {
    SmallVector<Expr> where(at);
    where.push_back(constant(i));
    const Term *index = read(op.getIndices(), where);
    if (index->kind != Term::Kind::Integer || index->expr != at[i])
      return nullptr;
  }
  return read(op.getUpdates(), at);
}

} // namespace tenon
