//===- Movement.cpp - Elements under other shapes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

/// result[i..] = input[offset + i.. * strides].
void copyStrided(Tensor &result, const Tensor &input, int64_t offset,
                 const Shape &strides) {
  int64_t length = rowLength(result.shape), stride = rowStride(strides);
  forEachRow(result.shape, {strides}, [&](int64_t at, ArrayRef<int64_t> from) {
    if (stride == 1) {
      copyWords(result, at, input, offset + from[0], length);
      return;
    }
    for (int64_t i = 0; i < length; ++i)
      copyWords(result, at + i, input, offset + from[0] + i * stride);
  });
}

/// Where pad reads for position `i` of an axis of n elements; nothing outside
/// of them in mode constant.
std::optional<int64_t> padSource(graph::PadMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n)
    return i;
  switch (mode) {
  case graph::PadMode::Constant:
    return std::nullopt;
  case graph::PadMode::Edge:
    return i < 0 ? 0 : n - 1;
  case graph::PadMode::Wrap:
    return *graph::floorModulo(i, n);
  case graph::PadMode::Reflect: {
    if (n == 1)
      return 0;
    int64_t period = 2 * (n - 1), phase = *graph::floorModulo(i, period);
    return phase < n ? phase : period - phase;
  }
  }
  return std::nullopt;
}

} // namespace

llvm::Error evaluateReshape(Call &call) {
  const Tensor &input = call.operands[0];
  if (input.count() != call.results[0].count())
    return fault("cannot reshape " + str(input.shape) + " to " +
                 str(call.results[0].shape));
  call.results[0].data = input.data;
  return llvm::Error::success();
}

llvm::Error evaluateBroadcast(Call &call) {
  auto strides =
      broadcastStrides(call.operands[0].shape, call.results[0].shape);
  if (!strides)
    return strides.takeError();
  copyStrided(call.make(), call.operands[0], 0, *strides);
  return llvm::Error::success();
}

llvm::Error evaluateTranspose(Call &call) {
  const Tensor &input = call.operands[0];
  Shape own = stridesOf(input.shape), strides, shape;
  for (int64_t axis : cast<graph::TransposeOp>(call.op).getPermutation()) {
    strides.push_back(own[axis]);
    shape.push_back(input.shape[axis]);
  }
  if (shape != call.results[0].shape)
    return fault("the transposed input has shape " + str(shape) + ", not " +
                 str(call.results[0].shape));
  copyStrided(call.make(), input, 0, strides);
  return llvm::Error::success();
}

llvm::Error evaluateSlice(Call &call) {
  auto op = cast<graph::SliceOp>(call.op);
  const Tensor &input = call.operands[0];
  auto starts = call.sizes(op.getStarts());
  if (!starts)
    return starts.takeError();
  auto steps = call.sizes(op.getSteps());
  if (!steps)
    return steps.takeError();
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  Shape own = stridesOf(input.shape), strides;
  int64_t offset = 0;
  for (size_t i = 0; i < result.rank(); ++i) {
    int64_t first = (*starts)[i], last, n = input.shape[i];
    if (llvm::MulOverflow(result.shape[i] - 1, (*steps)[i], last) ||
        llvm::AddOverflow(first, last, last) || first < 0 || first >= n ||
        last < 0 || last >= n)
      return fault("the slice from " + std::to_string(first) + " by " +
                   std::to_string((*steps)[i]) + " leaves axis " +
                   std::to_string(i) + " of " + str(input.shape));
    offset += first * own[i];
    strides.push_back(own[i] * (*steps)[i]);
  }
  copyStrided(result, input, offset, strides);
  return llvm::Error::success();
}

llvm::Error evaluateWindows(Call &call) {
  auto op = cast<graph::WindowsOp>(call.op);
  const Tensor &input = call.operands[0];
  int64_t axis = op.getAxis(), stride = op.getStride(), step = op.getStep();
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  int64_t windows = result.shape[axis], positions = result.shape[axis + 1];
  int64_t first, last;
  if (llvm::MulOverflow(windows - 1, stride, first) ||
      llvm::MulOverflow(positions - 1, step, last) ||
      llvm::AddOverflow(first, last, last) || last >= input.shape[axis])
    return fault("the windows leave axis " + std::to_string(axis) + " of " +
                 str(input.shape));
  Shape own = stridesOf(input.shape), strides = own;
  strides[axis] = own[axis] * stride;
  strides.insert(strides.begin() + axis + 1, own[axis] * step);
  copyStrided(result, input, 0, strides);
  return llvm::Error::success();
}

llvm::Error evaluateConcat(Call &call) {
  int64_t axis = cast<graph::ConcatOp>(call.op).getAxis();
  Tensor &result = call.make();
  int64_t total = 0;
  for (const Tensor &input : call.operands) {
    Shape shape = input.shape;
    total += shape[axis];
    shape[axis] = result.shape[axis];
    if (shape != result.shape)
      return fault("an operand of shape " + str(input.shape) +
                   " does not fit the result " + str(result.shape));
  }
  if (total != result.shape[axis])
    return fault("the operands have " + std::to_string(total) +
                 " elements along axis " + std::to_string(axis) + ", not " +
                 std::to_string(result.shape[axis]));
  if (!result.count())
    return llvm::Error::success();
  AxisView view(result.shape, axis);
  int64_t at = 0;
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (const Tensor &input : call.operands) {
      int64_t length = input.shape[axis] * view.inner;
      copyWords(result, at, input, outer * length, length);
      at += length;
    }
  return llvm::Error::success();
}

llvm::Error evaluateAppend(Call &call) {
  auto op = cast<graph::AppendOp>(call.op);
  const Tensor &buffer = call.operands[0], &rows = call.operands[1];
  auto sizes = call.sizes(op.getLength());
  if (!sizes)
    return sizes.takeError();
  int64_t axis = op.getAxis(), length = sizes->front();
  Tensor &result = call.make();
  int64_t room = result.shape[axis], added = rows.shape[axis];
  if (length > buffer.shape[axis] || length > room || added > room - length)
    return fault("a buffer has no room for " + std::to_string(length) +
                 " and " + std::to_string(added) + " rows");
  if (!result.count())
    return llvm::Error::success();
  AxisView view(result.shape, axis);
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    int64_t to = outer * room * view.inner;
    copyWords(result, to, buffer, outer * buffer.shape[axis] * view.inner,
              length * view.inner);
    copyWords(result, to + length * view.inner, rows,
              outer * added * view.inner, added * view.inner);
  }
  return llvm::Error::success();
}

llvm::Error evaluatePad(Call &call) {
  auto op = cast<graph::PadOp>(call.op);
  const Tensor &input = call.operands[0], &fill = call.operands[1];
  auto low = call.sizes(op.getLow());
  if (!low)
    return low.takeError();
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  if (!input.count() && op.getMode() != graph::PadMode::Constant)
    return fault("an empty input has no border to repeat");
  // Per axis, the source offset of each position; -1 for the fill value.
  Shape own = stridesOf(input.shape);
  SmallVector<std::vector<int64_t>> sources(result.rank());
  for (size_t axis = 0; axis < result.rank(); ++axis)
    for (int64_t i = 0; i < result.shape[axis]; ++i) {
      std::optional<int64_t> source =
          padSource(op.getMode(), wrapSub(i, (*low)[axis]), input.shape[axis]);
      sources[axis].push_back(source ? *source * own[axis] : -1);
    }
  Shape index(result.rank(), 0);
  int64_t at = 0;
  do {
    int64_t from = 0;
    for (size_t axis = 0; axis < result.rank() && from >= 0; ++axis) {
      int64_t offset = sources[axis][index[axis]];
      from = offset < 0 ? -1 : from + offset;
    }
    copyWords(result, at++, from < 0 ? fill : input, from < 0 ? 0 : from);
  } while (step(index, result.shape));
  return llvm::Error::success();
}

/// A rotation of pairs by angles that depend on batch and position.
llvm::Error evaluateRotary(Call &call) {
  auto op = cast<graph::RotaryOp>(call.op);
  const Tensor &input = call.operands[0], &cos = call.operands[1],
               &sin = call.operands[2];
  const Shape &shape = input.shape;
  if (shape != call.results[0].shape || cos.shape != sin.shape ||
      (cos.shape[0] != 1 && cos.shape[0] != shape[0]) ||
      cos.shape[1] != shape[2] || 2 * cos.shape[2] > shape[3])
    return fault("tables of shapes " + str(cos.shape) + " and " +
                 str(sin.shape) + " do not fit the input " + str(shape));
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  ArrayRef<double> from = input.floats();
  MutableArrayRef<double> to = result.writeFloats();
  llvm::copy(from, to.begin());
  int64_t half = cos.shape[2];
  int64_t apart = op.getInterleaved() ? 1 : half,
          stride = op.getInterleaved() ? 2 : 1;
  Shape index(3, 0), heads = {shape[0], shape[1], shape[2]};
  int64_t row = 0;
  do {
    int64_t batch = cos.shape[0] == 1 ? 0 : index[0];
    int64_t angle = (batch * shape[2] + index[2]) * half;
    for (int64_t i = 0; i < half; ++i) {
      double c = cos.floats()[angle + i], s = sin.floats()[angle + i];
      int64_t first = row + i * stride, second = first + apart;
      to[first] = from[first] * c - from[second] * s;
      to[second] = from[second] * c + from[first] * s;
    }
    row += shape[3];
  } while (step(index, heads));
  call.round();
  return llvm::Error::success();
}

} // namespace tenon::reference
