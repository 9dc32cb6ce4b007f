//===- Rows.cpp - Reductions, running sums and selections along axes ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;

namespace tenon::reference {
namespace {

using graph::ReduceKind;

constexpr double infinity = std::numeric_limits<double>::infinity();

double startFloat(ReduceKind kind) {
  return kind == ReduceKind::Max    ? -infinity
         : kind == ReduceKind::Min  ? infinity
         : kind == ReduceKind::Prod ? 1
                                    : 0;
}
int64_t startInt(ReduceKind kind, IntKind type) {
  return kind == ReduceKind::Max    ? type.lowest()
         : kind == ReduceKind::Min  ? type.highest()
         : kind == ReduceKind::Prod ? 1
                                    : 0;
}

double joinFloat(ReduceKind kind, double sum, double x) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return sum + x;
  case ReduceKind::Prod:
    return sum * x;
  case ReduceKind::Max:
    return std::isnan(sum) || sum >= x ? sum : x; // x may be NaN.
  case ReduceKind::Min:
    return std::isnan(sum) || sum <= x ? sum : x;
  }
  return sum;
}
int64_t joinInt(ReduceKind kind, int64_t sum, int64_t x, IntKind type) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return wrapAdd(sum, x);
  case ReduceKind::Prod:
    return wrapMul(sum, x);
  case ReduceKind::Max:
    return type.less(sum, x) ? x : sum;
  case ReduceKind::Min:
    return type.less(x, sum) ? x : sum;
  }
  return sum;
}

/// Strides that send each element of the input to its element of the result.
Shape reducedStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  Shape kept(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  Shape strides = stridesOf(kept);
  for (int64_t axis : axes)
    strides[axis] = 0;
  return strides;
}

/// Whether a comes before b when the largest (or smallest) is sought. NaN is
/// above every number when the largest is, below it otherwise.
bool isBetter(double a, double b, bool largest) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && !std::isnan(b);
  return largest ? a > b : a < b;
}
bool isBetter(int64_t a, int64_t b, bool largest, IntKind type) {
  return largest ? type.less(b, a) : type.less(a, b);
}

/// Calls `body(offset, line, stride)` for each line of elements along an axis
/// of a tensor that is not empty across it.
void forEachLine(ArrayRef<int64_t> shape, int64_t axis,
                 llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  AxisView view(shape, axis);
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner)
      body(outer * view.size * view.inner + inner, outer * view.inner + inner,
           view.inner);
}

llvm::Error meanOfInts(Tensor &result, int64_t divisor) {
  IntKind type = IntKind::of(result.element);
  if (divisor == 0 && result.count())
    return fault("the mean of no integer");
  for (int64_t &value : result.writeInts())
    value = type.isU64() ? static_cast<int64_t>(static_cast<uint64_t>(value) /
                                                static_cast<uint64_t>(divisor))
                         : value / divisor;
  return llvm::Error::success();
}

} // namespace

llvm::Error evaluateReduce(Call &call) {
  auto op = cast<graph::ReduceOp>(call.op);
  const Tensor &input = call.operands[0];
  ReduceKind kind = op.getKind();
  Shape shape = input.shape;
  for (int64_t axis : op.getAxes())
    shape[axis] = 1;
  if (shape != call.results[0].shape)
    return fault("the result has shape " + str(call.results[0].shape) +
                 " where the input gives " + str(shape));
  Tensor &result = call.make();
  Shape strides = reducedStrides(input.shape, op.getAxes());
  int64_t length = rowLength(input.shape), stride = rowStride(strides);
  int64_t divisor = 1;
  for (size_t axis = 0; axis < input.rank(); ++axis)
    if (llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis)))
      divisor = wrapMul(divisor, input.shape[axis]);
  if (input.isFloat()) {
    ArrayRef<double> from = input.floats();
    MutableArrayRef<double> to = result.writeFloats();
    llvm::fill(to, startFloat(kind));
    forEachRow(input.shape, {strides}, [&](int64_t at, ArrayRef<int64_t> out) {
      for (int64_t i = 0; i < length; ++i) {
        double &sum = to[out[0] + i * stride];
        sum = joinFloat(kind, sum, from[at + i]);
      }
    });
    if (kind == ReduceKind::Mean)
      for (double &sum : to)
        sum /= static_cast<double>(divisor);
    call.round();
    return llvm::Error::success();
  }
  IntKind type = IntKind::of(input.element);
  ArrayRef<int64_t> from = input.ints();
  MutableArrayRef<int64_t> to = result.writeInts();
  llvm::fill(to, startInt(kind, type));
  forEachRow(input.shape, {strides}, [&](int64_t at, ArrayRef<int64_t> out) {
    for (int64_t i = 0; i < length; ++i) {
      int64_t &sum = to[out[0] + i * stride];
      sum = joinInt(kind, sum, from[at + i], type);
    }
  });
  if (kind == ReduceKind::Mean)
    return meanOfInts(result, divisor);
  for (int64_t &sum : to)
    sum = type.wrap(sum);
  return llvm::Error::success();
}

llvm::Error evaluateArgReduce(Call &call) {
  auto op = cast<graph::ArgReduceOp>(call.op);
  const Tensor &input = call.operands[0];
  int64_t axis = op.getAxis(), n = input.shape[axis];
  bool largest = op.getKind() == ReduceKind::Max;
  Tensor &result = call.make();
  Shape shape = input.shape;
  shape[axis] = 1;
  if (shape != result.shape)
    return fault("the result has shape " + str(result.shape) +
                 " where the input gives " + str(shape));
  if (n == 0 && result.count())
    return fault("there is no largest or smallest of no element");
  if (!result.count())
    return llvm::Error::success();
  bool isFloat = input.isFloat();
  IntKind type = isFloat ? IntKind{64, false} : IntKind::of(input.element);
  const double *floats = isFloat ? input.floats().data() : nullptr;
  const int64_t *ints = isFloat ? nullptr : input.ints().data();
  MutableArrayRef<int64_t> to = result.writeInts();
  forEachLine(input.shape, axis, [&](int64_t from, int64_t at, int64_t stride) {
    auto isBetterAt = [&](int64_t a, int64_t b) {
      a = from + a * stride, b = from + b * stride;
      return isFloat ? isBetter(floats[a], floats[b], largest)
                     : isBetter(ints[a], ints[b], largest, type);
    };
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
      if (op.getLast() ? !isBetterAt(best, i) : isBetterAt(i, best))
        best = i;
    to[at] = best;
  });
  return llvm::Error::success();
}

llvm::Error evaluateCumulative(Call &call) {
  auto op = cast<graph::CumulativeOp>(call.op);
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  if (input.shape != result.shape)
    return fault("the input has shape " + str(input.shape) +
                 " but the result " + str(result.shape));
  int64_t n = input.shape[op.getAxis()];
  if (!result.count())
    return llvm::Error::success();
  bool isFloat = input.isFloat(), exclusive = op.getExclusive();
  IntKind type = isFloat ? IntKind{64, false} : IntKind::of(input.element);
  auto *floatsOut = reinterpret_cast<double *>(result.data.get());
  auto *intsOut = reinterpret_cast<int64_t *>(result.data.get());
  ReduceKind kind = op.getKind();
  forEachLine(
      input.shape, op.getAxis(), [&](int64_t first, int64_t, int64_t stride) {
        double floatSum = startFloat(kind);
        int64_t intSum = startInt(kind, type);
        for (int64_t i = 0; i < n; ++i) {
          int64_t at = first + (op.getReverse() ? n - 1 - i : i) * stride;
          if (isFloat) {
            double next = joinFloat(kind, floatSum, input.floats()[at]);
            floatsOut[at] = exclusive ? floatSum : next;
            floatSum = next;
          } else {
            int64_t next = joinInt(kind, intSum, input.ints()[at], type);
            intsOut[at] = type.wrap(exclusive ? intSum : next);
            intSum = next;
          }
        }
      });
  call.round();
  return llvm::Error::success();
}

llvm::Error evaluateTopk(Call &call) {
  auto op = cast<graph::TopkOp>(call.op);
  const Tensor &input = call.operands[0];
  int64_t axis = op.getAxis(), n = input.shape[axis];
  int64_t k = call.results[0].shape[axis];
  Shape shape = input.shape;
  shape[axis] = k;
  if (shape != call.results[0].shape || shape != call.results[1].shape)
    return fault("the result has shape " + str(call.results[0].shape) +
                 " where the input gives " + str(shape));
  if (k > n)
    return fault("asks for " + std::to_string(k) + " of " + std::to_string(n) +
                 " elements");
  Tensor &values = call.make(0);
  MutableArrayRef<int64_t> indices = call.make(1).writeInts();
  if (!values.count())
    return llvm::Error::success();
  bool largest = op.getLargest(), isFloat = input.isFloat();
  IntKind type = isFloat ? IntKind{64, false} : IntKind::of(input.element);
  const double *floats = isFloat ? input.floats().data() : nullptr;
  const int64_t *ints = isFloat ? nullptr : input.ints().data();
  std::vector<int64_t> order(n);
  forEachLine(
      input.shape, axis, [&](int64_t from, int64_t line, int64_t stride) {
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(
            order.begin(), order.begin() + k, order.end(),
            [&](int64_t a, int64_t b) {
              int64_t x = from + a * stride, y = from + b * stride;
              bool before = isFloat ? isBetter(floats[x], floats[y], largest)
                                    : isBetter(ints[x], ints[y], largest, type);
              bool after = isFloat ? isBetter(floats[y], floats[x], largest)
                                   : isBetter(ints[y], ints[x], largest, type);
              return before || (!after && a < b);
            });
        int64_t first = line / stride * k * stride + line % stride;
        for (int64_t i = 0; i < k; ++i) {
          copyWords(values, first + i * stride, input,
                    from + order[i] * stride);
          indices[first + i * stride] = order[i];
        }
      });
  return llvm::Error::success();
}

} // namespace tenon::reference
