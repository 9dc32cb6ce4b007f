//===- Normalize.cpp - Softmax and normalisations -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::reference {
namespace {

llvm::Error checkSameShape(const Call &call) {
  if (call.operands[0].shape != call.results[0].shape)
    return fault("the input has shape " + str(call.operands[0].shape) +
                 " but the result " + str(call.results[0].shape));
  return llvm::Error::success();
}

/// One row; a NaN in it, or an infinity as its largest, makes NaN.
void softmaxRow(const double *from, double *to, int64_t n, int64_t stride,
                bool isLog) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, from[i * stride]);
  for (int64_t i = 0; i < n; ++i)
    sum += to[i * stride] = std::exp(from[i * stride] - largest);
  double logSum = std::log(sum);
  for (int64_t i = 0; i < n; ++i)
    to[i * stride] =
        isLog ? from[i * stride] - largest - logSum : to[i * stride] / sum;
}

} // namespace

llvm::Error evaluateSoftmax(Call &call) {
  auto log = dyn_cast<graph::LogSoftmaxOp>(call.op);
  int64_t axis =
      log ? log.getAxis() : cast<graph::SoftmaxOp>(call.op).getAxis();
  if (auto error = checkSameShape(call))
    return error;
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  const double *from = call.operands[0].floats().data();
  double *to = result.writeFloats().data();
  AxisView view(result.shape, axis);
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      int64_t at = outer * view.size * view.inner + inner;
      softmaxRow(from + at, to + at, view.size, view.inner, bool(log));
    }
  call.round();
  return llvm::Error::success();
}

llvm::Error evaluateNorm(Call &call) {
  auto layer = dyn_cast<graph::LayerNormOp>(call.op);
  auto rms = dyn_cast<graph::RmsNormOp>(call.op);
  int64_t axis = layer ? layer.getAxis() : rms.getAxis();
  double epsilon =
      (layer ? layer.getEpsilon() : rms.getEpsilon()).convertToDouble();
  if (auto error = checkSameShape(call))
    return error;
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  int64_t n = *countOf(ArrayRef(result.shape).drop_front(axis));
  const double *from = call.operands[0].floats().data();
  double *to = result.writeFloats().data();
  for (int64_t at = 0, count = result.count(); at < count; at += n) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; layer && i < n; ++i)
      mean += from[at + i];
    mean /= static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      squares += (from[at + i] - mean) * (from[at + i] - mean);
    double deviation = std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (int64_t i = 0; i < n; ++i)
      to[at + i] = (from[at + i] - mean) / deviation;
  }
  call.round();
  return llvm::Error::success();
}

} // namespace tenon::reference
