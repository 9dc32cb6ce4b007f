//===- Indexing.cpp - Elements picked by index ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <cmath>

using namespace mlir;

namespace tenon::reference {
namespace {

/// The index in [0, size), a negative one counting from the end.
llvm::Expected<int64_t> resolve(int64_t index, int64_t size) {
  int64_t resolved = index < 0 ? index + size : index;
  if (resolved < 0 || resolved >= size)
    return fault("index " + std::to_string(index) +
                 " is out of range for an axis of " + std::to_string(size) +
                 " elements");
  return resolved;
}

llvm::Error checkShape(const Tensor &result, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(result.shape) == shape)
    return llvm::Error::success();
  return fault("the operands give a result of shape " + str(shape) +
               " but it is declared " + str(result.shape));
}

/// Combines an update with what is there.
void combine(Tensor &to, int64_t at, const Tensor &updates, int64_t from,
             graph::ScatterKind kind) {
  if (kind == graph::ScatterKind::Assign) {
    copyWords(to, at, updates, from);
    return;
  }
  if (to.isFloat()) {
    double &old = reinterpret_cast<double *>(to.data.get())[at];
    double update = reinterpret_cast<const double *>(updates.data.get())[from];
    if (kind == graph::ScatterKind::Add)
      old += update;
    else if (kind == graph::ScatterKind::Mul)
      old *= update;
    else if (std::isnan(old) || std::isnan(update))
      old += update;
    else if (kind == graph::ScatterKind::Max ? old < update : update < old)
      old = update;
    return;
  }
  IntKind type = IntKind::of(to.element);
  int64_t &old = reinterpret_cast<int64_t *>(to.data.get())[at];
  int64_t update = reinterpret_cast<const int64_t *>(updates.data.get())[from];
  if (kind == graph::ScatterKind::Add) // Of bools: or.
    old = type.width == 1 ? old | update : type.wrap(wrapAdd(old, update));
  else if (kind == graph::ScatterKind::Mul)
    old = type.wrap(wrapMul(old, update));
  else if (kind == graph::ScatterKind::Max ? type.less(old, update)
                                           : type.less(update, old))
    old = update;
}

void copyAll(Tensor &to, const Tensor &from) {
  copyWords(to, 0, from, 0, to.count());
}

/// Calls `body(i, offset)` for each element i of `indices`, whose place in
/// `input` is its own but for `axis`, where it is the index.
llvm::Error
forEachElementIndex(const Tensor &indices, const Tensor &input, int64_t axis,
                    llvm::function_ref<void(int64_t, int64_t)> body) {
  if (!indices.count())
    return llvm::Error::success();
  for (size_t i = 0; i < input.rank(); ++i)
    if (static_cast<int64_t>(i) != axis && indices.shape[i] > input.shape[i])
      return fault("indices of shape " + str(indices.shape) +
                   " do not fit an input of shape " + str(input.shape));
  Shape strides = stridesOf(input.shape), index(input.rank(), 0);
  ArrayRef<int64_t> picks = indices.ints();
  int64_t i = 0;
  do {
    auto picked = resolve(picks[i], input.shape[axis]);
    if (!picked)
      return picked.takeError();
    int64_t offset = *picked * strides[axis];
    for (size_t j = 0; j < index.size(); ++j)
      if (static_cast<int64_t>(j) != axis)
        offset += index[j] * strides[j];
    body(i++, offset);
  } while (step(index, indices.shape));
  return llvm::Error::success();
}

/// The offset in `shape` of index vector `row` of a table, each `depth` long.
llvm::Expected<int64_t> offsetOf(ArrayRef<int64_t> table, int64_t row,
                                 int64_t depth, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (int64_t i = 0; i < depth; ++i) {
    auto picked = resolve(table[row * depth + i], shape[i]);
    if (!picked)
      return picked.takeError();
    offset += *picked * strides[i];
  }
  return offset;
}

} // namespace

llvm::Error evaluateGather(Call &call) {
  const Tensor &input = call.operands[0], &indices = call.operands[1];
  int64_t axis = cast<graph::GatherOp>(call.op).getAxis();
  ArrayRef<int64_t> sizes = input.shape;
  Shape shape(sizes.take_front(axis));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, sizes.drop_front(axis + 1));
  if (auto error = checkShape(call.results[0], shape))
    return error;
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  AxisView view(input.shape, axis);
  SmallVector<int64_t> picks;
  for (int64_t index : indices.ints()) {
    auto picked = resolve(index, view.size);
    if (!picked)
      return picked.takeError();
    picks.push_back(*picked);
  }
  int64_t at = 0;
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t pick : picks) {
      copyWords(result, at, input, (outer * view.size + pick) * view.inner,
                view.inner);
      at += view.inner;
    }
  return llvm::Error::success();
}

llvm::Error evaluateGatherElements(Call &call) {
  const Tensor &input = call.operands[0], &indices = call.operands[1];
  if (auto error = checkShape(call.results[0], indices.shape))
    return error;
  Tensor &result = call.make();
  return forEachElementIndex(
      indices, input, cast<graph::GatherElementsOp>(call.op).getAxis(),
      [&](int64_t i, int64_t offset) { copyWords(result, i, input, offset); });
}

llvm::Error evaluateGatherNd(Call &call) {
  const Tensor &input = call.operands[0], &indices = call.operands[1];
  size_t batchRank = cast<graph::GatherNdOp>(call.op).getBatchDims();
  ArrayRef<int64_t> sizes = input.shape, places = indices.shape;
  size_t depth = places.back();
  if (batchRank + depth > sizes.size() ||
      places.take_front(batchRank) != sizes.take_front(batchRank))
    return fault("indices of shape " + str(places) +
                 " do not fit an input of shape " + str(sizes));
  Shape shape(places.drop_back());
  llvm::append_range(shape, sizes.drop_front(batchRank + depth));
  if (auto error = checkShape(call.results[0], shape))
    return error;
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  int64_t batches = *countOf(places.take_front(batchRank));
  int64_t rows = *countOf(places.drop_back()) / batches;
  int64_t slice = *countOf(sizes.drop_front(batchRank + depth));
  int64_t batchSize = *countOf(sizes.drop_front(batchRank));
  Shape strides = stridesOf(sizes);
  for (int64_t row = 0; row < batches * rows; ++row) {
    auto offset =
        offsetOf(indices.ints(), row, depth, sizes.drop_front(batchRank),
                 ArrayRef(strides).drop_front(batchRank));
    if (!offset)
      return offset.takeError();
    copyWords(result, row * slice, input, row / rows * batchSize + *offset,
              slice);
  }
  return llvm::Error::success();
}

llvm::Error evaluateScatterElements(Call &call) {
  auto op = cast<graph::ScatterElementsOp>(call.op);
  const Tensor &input = call.operands[0], &indices = call.operands[1],
               &updates = call.operands[2];
  if (indices.shape != updates.shape)
    return fault("indices have shape " + str(indices.shape) + " but updates " +
                 str(updates.shape));
  if (auto error = checkShape(call.results[0], input.shape))
    return error;
  Tensor &result = call.make();
  copyAll(result, input);
  auto error = forEachElementIndex(
      indices, input, op.getAxis(), [&](int64_t i, int64_t offset) {
        combine(result, offset, updates, i, op.getKind());
      });
  if (error)
    return error;
  call.round();
  return llvm::Error::success();
}

llvm::Error evaluateScatterNd(Call &call) {
  auto op = cast<graph::ScatterNdOp>(call.op);
  const Tensor &input = call.operands[0], &indices = call.operands[1],
               &updates = call.operands[2];
  ArrayRef<int64_t> sizes = input.shape, places = indices.shape;
  size_t depth = places.back();
  Shape shape(places.drop_back());
  if (depth <= sizes.size())
    llvm::append_range(shape, sizes.drop_front(depth));
  if (depth > sizes.size() || shape != updates.shape)
    return fault("updates of shape " + str(updates.shape) + " do not fit " +
                 str(input.shape) + " at indices of shape " + str(places));
  if (auto error = checkShape(call.results[0], input.shape))
    return error;
  Tensor &result = call.make();
  copyAll(result, input);
  if (!updates.count())
    return llvm::Error::success();
  int64_t rows = *countOf(places.drop_back());
  int64_t slice = *countOf(sizes.drop_front(depth));
  Shape strides = stridesOf(sizes);
  for (int64_t row = 0; row < rows; ++row) {
    auto offset = offsetOf(indices.ints(), row, depth, sizes, strides);
    if (!offset)
      return offset.takeError();
    for (int64_t i = 0; i < slice; ++i)
      combine(result, *offset + i, updates, row * slice + i, op.getKind());
  }
  call.round();
  return llvm::Error::success();
}

llvm::Error evaluateNonzero(Call &call) {
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  SmallVector<Shape> found;
  Shape index(input.rank(), 0);
  if (int64_t count = input.count())
    for (int64_t i = 0; i < count; ++i, step(index, input.shape))
      if (input.number(i) != 0)
        found.push_back(index);
  Shape shape = {static_cast<int64_t>(input.rank()),
                 static_cast<int64_t>(found.size())};
  if (auto error = checkShape(result, shape))
    return error;
  MutableArrayRef<int64_t> to = result.writeInts();
  for (auto [i, place] : llvm::enumerate(found))
    for (auto [axis, at] : llvm::enumerate(place))
      to[axis * found.size() + i] = at;
  return llvm::Error::success();
}

} // namespace tenon::reference
