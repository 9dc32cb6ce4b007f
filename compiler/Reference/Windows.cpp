//===- Windows.cpp - Pools ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::reference {
namespace {

/// Along one axis, which taps k of the window at position o read inside the
/// input, at start + k * dilation.
struct Taps {
  int64_t start, first, end;
  int64_t padded; // How many lie inside the padded input.
};

int64_t ceilDivide(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : 0; }

struct PoolShape {
  ArrayRef<int64_t> kernel, strides, dilations;
  Shape pads;

  /// Taps of a window along one axis; nothing on overflow.
  std::optional<Taps> taps(size_t axis, int64_t o, int64_t size) const {
    size_t spatial = kernel.size();
    Taps taps;
    int64_t high;
    if (llvm::MulOverflow(o, strides[axis], taps.start) ||
        llvm::SubOverflow(taps.start, pads[axis], taps.start) ||
        llvm::AddOverflow(size, pads[spatial + axis], high) ||
        llvm::SubOverflow(high, taps.start, high))
      return std::nullopt;
    // Taps below `reach` lie before `limit` elements from the start.
    auto reach = [&](int64_t limit) {
      return std::min(kernel[axis], ceilDivide(limit, dilations[axis]));
    };
    taps.first = reach(-taps.start);
    taps.end = std::max(taps.first, reach(size - taps.start));
    taps.padded = reach(high);
    return taps;
  }
};

template <typename PoolOp> PoolShape read(PoolOp op, Shape pads) {
  return {op.getKernel(), op.getStrides(), op.getDilations(), std::move(pads)};
}

graph::DimsAttr padsOf(Operation *op) {
  return op->getAttrOfType<graph::DimsAttr>("pads");
}

llvm::Error checkPool(const Call &call, const PoolShape &pool) {
  ArrayRef<int64_t> in = call.operands[0].shape, out = call.results[0].shape;
  size_t spatial = pool.kernel.size();
  if (in.size() != spatial + 2 || out.size() != in.size() ||
      pool.strides.size() != spatial || pool.dilations.size() != spatial ||
      pool.pads.size() != 2 * spatial)
    return fault("input, result and attributes differ in spatial rank");
  if (in.take_front(2) != out.take_front(2))
    return fault("cannot pool " + str(in) + " to " + str(out));
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(pool.kernel, isPositive) ||
      !llvm::all_of(pool.strides, isPositive) ||
      !llvm::all_of(pool.dilations, isPositive))
    return fault("kernel, strides and dilations must be positive");
  return llvm::Error::success();
}

/// Folds the elements of one window into one of the result.
struct Window {
  Call &call;
  const Tensor &input;
  Tensor &result;
  const Shape &inStrides;
  int64_t image; // Where the image of this batch and channel starts.
  SmallVector<Taps> taps;
  int64_t padded;

  void forEach(ArrayRef<int64_t> dilations,
               llvm::function_ref<void(int64_t)> body) const {
    Shape tap, extent(taps.size(), 0);
    for (const Taps &axis : taps) {
      if (axis.first == axis.end)
        return;
      tap.push_back(axis.first);
    }
    while (true) {
      int64_t offset = image;
      for (size_t i = 0; i < taps.size(); ++i)
        offset += (taps[i].start + tap[i] * dilations[i]) * inStrides[2 + i];
      body(offset);
      size_t axis = taps.size();
      while (axis-- > 0) {
        if (++tap[axis] < taps[axis].end)
          break;
        tap[axis] = taps[axis].first;
      }
      if (axis == static_cast<size_t>(-1))
        return;
    }
  }
};

/// The element that max_pool picks: the first largest, or a NaN; -1 for none.
int64_t pickLargest(const Window &window, ArrayRef<int64_t> dilations) {
  int64_t best = -1;
  if (window.input.isFloat()) {
    const double *from = window.input.floats().data();
    window.forEach(dilations, [&](int64_t i) {
      if (best < 0 || from[i] > from[best] ||
          (std::isnan(from[i]) && !std::isnan(from[best])))
        best = i;
    });
    return best;
  }
  IntKind kind = IntKind::of(window.input.element);
  const int64_t *from = window.input.ints().data();
  window.forEach(dilations, [&](int64_t i) {
    if (best < 0 || kind.less(from[best], from[i]))
      best = i;
  });
  return best;
}

/// The flat index with the first spatial axis running fastest.
int64_t columnMajor(int64_t offset, ArrayRef<int64_t> shape) {
  Shape strides = stridesOf(shape);
  int64_t image = strides[1], within = offset % image;
  int64_t result = offset - within, scale = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) {
    result += within / strides[axis] % shape[axis] * scale;
    scale *= shape[axis];
  }
  return result;
}

void poolMax(const Window &window, int64_t at, ArrayRef<int64_t> dilations) {
  int64_t best = pickLargest(window, dilations);
  if (best >= 0)
    copyWords(window.result, at, window.input, best);
  else if (window.input.isFloat())
    window.result.writeFloats()[at] = -std::numeric_limits<double>::infinity();
  else
    window.result.writeInts()[at] = IntKind::of(window.input.element).lowest();
}

void poolSum(const Window &window, int64_t at, ArrayRef<int64_t> dilations) {
  int64_t inside = 0;
  double sum = 0;
  auto norm = dyn_cast<graph::LpPoolOp>(window.call.op);
  double p = norm ? static_cast<double>(norm.getP()) : 1;
  window.forEach(dilations, [&](int64_t i) {
    double value = window.input.number(i);
    sum += norm ? std::pow(std::fabs(value), p) : value;
    ++inside;
  });
  if (norm)
    sum = std::pow(sum, 1 / p);
  else if (cast<graph::AveragePoolOp>(window.call.op).getCountPads())
    sum /= static_cast<double>(window.padded);
  else
    sum /= static_cast<double>(inside);
  if (window.result.isFloat())
    window.result.writeFloats()[at] = sum;
  else
    window.result.writeInts()[at] =
        IntKind::of(window.result.element).fromDouble(sum);
}

llvm::Error evaluateFirst(Call &call) {
  auto pads = call.sizes(padsOf(call.op));
  if (!pads)
    return pads.takeError();
  PoolShape pool = llvm::TypeSwitch<Operation *, PoolShape>(call.op)
                       .Case<graph::AveragePoolOp, graph::LpPoolOp,
                             graph::MaxPoolOp, graph::MaxPoolIndicesOp>(
                           [&](auto op) { return read(op, std::move(*pads)); });
  if (auto error = checkPool(call, pool))
    return error;
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  if (!result.count())
    return llvm::Error::success();
  auto indices = dyn_cast<graph::MaxPoolIndicesOp>(call.op);
  Shape inStrides = stridesOf(input.shape), index(result.rank(), 0);
  int64_t at = 0;
  do {
    Window window{call,
                  input,
                  result,
                  inStrides,
                  index[0] * inStrides[0] + index[1] * inStrides[1],
                  {},
                  1};
    for (size_t axis = 0; axis < pool.kernel.size(); ++axis) {
      std::optional<Taps> taps =
          pool.taps(axis, index[2 + axis], input.shape[2 + axis]);
      if (!taps)
        return fault("the windows reach beyond 64 bits");
      window.taps.push_back(*taps);
      window.padded = wrapMul(window.padded, taps->padded);
    }
    if (indices) {
      int64_t best = std::max<int64_t>(0, pickLargest(window, pool.dilations));
      result.writeInts()[at] =
          indices.getColumnMajor() ? columnMajor(best, input.shape) : best;
    } else if (isa<graph::MaxPoolOp>(call.op)) {
      poolMax(window, at, pool.dilations);
    } else {
      poolSum(window, at, pool.dilations);
    }
    ++at;
  } while (step(index, result.shape));
  call.round();
  return llvm::Error::success();
}

} // namespace

llvm::Error evaluatePool(Call &call) {
  if (call.op->hasAttr("channels_last"))
    return evaluateChannelsLast(call, evaluateFirst);
  return evaluateFirst(call);
}

} // namespace tenon::reference
