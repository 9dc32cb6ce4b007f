//===- Windows.cpp - Elements of convolutions and pools -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread sums the window of its element in registers; taps outside of the
// image are left out.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Windows.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/ElementRoots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using cpu::Emitter;
using cpu::WindowAxis;
using Carried = SmallVector<Value>;

/// condition ? then() : otherwise, for several values.
Carried chooseAll(Emitter &e, Value condition, ValueRange otherwise,
                  function_ref<Carried()> then) {
  // One loop step or none.
  Value steps = e.select(condition, e.number(1), e.number(0));
  return e.loop(e.number(0), steps, otherwise,
                [&](Value, ValueRange) { return then(); });
}

/// Where axes lie in indices of an image and of what is computed from it.
struct Layout {
  explicit Layout(Operation *op)
      : isLast(op->hasAttr("channels_last")),
        rank(graph::getRank(op->getResult(0))) {}
  size_t firstSpace() const { return isLast ? 1 : 2; }
  size_t channelAxis() const { return isLast ? rank - 1 : 1; }
  Indices index(Value image, Value channel, ArrayRef<Value> position) const {
    Indices all(position);
    all.insert(isLast ? all.end() : all.begin(), channel);
    all.insert(all.begin(), image);
    return all;
  }

  bool isLast;
  size_t rank;
};

/// The taps of an element's window that lie inside.
class Taps {
public:
  using Body = function_ref<Carried(
      ArrayRef<Value> taps, ArrayRef<Value> position, ValueRange carried)>;

  Taps(Emitter &e, ArrayRef<WindowAxis> axes, ArrayRef<Value> place)
      : e(e), axes(axes), place(place) {}

  Carried fold(ValueRange initial, Body body) {
    return visit({}, {}, initial, body);
  }

private:
  Carried visit(Indices taps, Indices position, ValueRange carried, Body body) {
    if (taps.size() == axes.size())
      return body(taps, position, carried);
    const WindowAxis &axis = axes[taps.size()];
    Value start =
        e.sub(e.mul(place[taps.size()], e.number(axis.stride)), axis.low);
    return e.loop(
        e.number(0), axis.taps, carried, [&](Value tap, ValueRange sums) {
          Value at = e.add(start, e.mul(tap, e.number(axis.dilation)));
          Value holds = e.both(e.less(e.number(-1), at), e.less(at, axis.size));
          Indices nextTaps = taps, next = position;
          nextTaps.push_back(tap);
          next.push_back(at);
          return chooseAll(e, holds, sums,
                           [&] { return visit(nextTaps, next, sums, body); });
        });
  }

  Emitter &e;
  ArrayRef<WindowAxis> axes;
  ArrayRef<Value> place;
};

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

Value convElement(Emitter &e, graph::ConvOp op, ArrayRef<Value> index) {
  Layout layout(op);
  Type type = cpu::computeType(graph::getElementType(op.getResult()));
  Indices filter = e.dimsOf(op.getFilter());
  SmallVector<WindowAxis> axes = cpu::windowAxes(
      e, op.getStrides(), op.getDilations(), op.getPads(), op.getInput(),
      op.getResult(), ArrayRef(filter).drop_front(2), layout.firstSpace());
  Value map = index[layout.channelAxis()];
  Value mapsPerGroup = e.atEntry([&] {
    return e.max(e.div(filter[0], e.number(op.getGroup())), e.number(1));
  });
  Value firstChannel = op.getGroup() == 1
                           ? e.number(0)
                           : e.mul(e.div(map, mapsPerGroup), filter[1]);
  auto products = [&](ArrayRef<Value> taps, ArrayRef<Value> position, Value c,
                      Value sum) {
    Indices weight = {map, c};
    llvm::append_range(weight, taps);
    Value x =
        e.element(op.getInput(),
                  layout.index(index[0], e.add(firstChannel, c), position));
    return cpu::emitMulAdd(e.b, e.element(op.getFilter(), weight), x, sum);
  };
  Taps taps(e, axes, index.slice(layout.firstSpace(), axes.size()));
  // In the order of memory: channels inside of taps where they come last.
  if (layout.isLast)
    return taps.fold(e.zero(type), [&](ArrayRef<Value> tap, ArrayRef<Value> at,
                                       ValueRange sums) {
      return e.loop(e.number(0), filter[1], sums,
                    [&](Value c, ValueRange carried) {
                      return Carried{products(tap, at, c, carried[0])};
                    });
    })[0];
  return e.loop(
      e.number(0), filter[1], e.zero(type), [&](Value c, ValueRange sums) {
        return taps.fold(sums, [&](ArrayRef<Value> tap, ArrayRef<Value> at,
                                   ValueRange carried) {
          return Carried{products(tap, at, c, carried[0])};
        });
      })[0];
}

/// output = input * stride + tap * dilation - low: of each axis the taps for
/// which that has a solution inside.
class TransposedTaps {
public:
  TransposedTaps(Emitter &e, graph::ConvTransposeOp op, ArrayRef<Value> index)
      : e(e), op(op), index(index), filter(e.dimsOf(op.getFilter())),
        input(e.dimsOf(op.getInput())) {}

  Value sum() {
    Type type = cpu::computeType(graph::getElementType(op.getResult()));
    Value channels = e.div(filter[0], e.number(op.getGroup()));
    Value maps = e.max(filter[1], e.number(1));
    firstChannel = e.mul(e.div(index[1], maps), channels);
    map = e.rem(index[1], maps);
    return e.loop(e.number(0), channels, e.zero(type),
                  [&](Value c, ValueRange sums) {
                    channel = e.add(firstChannel, c);
                    return visit({}, {}, sums);
                  })[0];
  }

private:
  Carried visit(Indices taps, Indices position, ValueRange carried) {
    size_t axis = taps.size();
    if (axis == op.getStrides().size()) {
      Indices weight = {channel, map}, from = {index[0], channel};
      llvm::append_range(weight, taps);
      llvm::append_range(from, position);
      return {cpu::emitMulAdd(e.b, e.element(op.getFilter(), weight),
                              e.element(op.getInput(), from), carried[0])};
    }
    Value step = e.number(op.getStrides()[axis]);
    return e.loop(e.number(0), filter[2 + axis], carried,
                  [&](Value tap, ValueRange sums) {
                    Value offset =
                        e.sub(e.mul(tap, e.number(op.getDilations()[axis])),
                              e.valueOf(op.getPads()[axis]));
                    Value distance = e.sub(index[2 + axis], offset);
                    Value at = e.floorDiv(distance, step);
                    Value holds = e.both(e.equal(e.mul(at, step), distance),
                                         e.both(e.less(e.number(-1), at),
                                                e.less(at, input[2 + axis])));
                    Indices nextTaps = taps, next = position;
                    nextTaps.push_back(tap);
                    next.push_back(at);
                    return chooseAll(e, holds, sums, [&] {
                      return visit(nextTaps, next, sums);
                    });
                  });
  }

  Emitter &e;
  graph::ConvTransposeOp op;
  ArrayRef<Value> index;
  Indices filter, input;
  Value firstChannel, channel, map;
};

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// Folds the elements under the window of a pool.
template <typename PoolOp>
Carried
foldPool(Emitter &e, PoolOp op, ArrayRef<Value> index, ValueRange initial,
         function_ref<Carried(Value, ArrayRef<Value>, ValueRange)> body) {
  Layout layout(op);
  SmallVector<WindowAxis> axes = cpu::poolAxes(e, op, layout.firstSpace());
  Taps taps(e, axes, index.slice(layout.firstSpace(), axes.size()));
  return taps.fold(initial, [&](ArrayRef<Value>, ArrayRef<Value> position,
                                ValueRange carried) {
    Indices at = layout.index(index[0], index[layout.channelAxis()], position);
    return body(e.element(op.getInput(), at), at, carried);
  });
}

Value largestElement(Emitter &e, graph::MaxPoolOp op, ArrayRef<Value> index) {
  Type element = graph::getElementType(op.getInput());
  return foldPool(e, op, index, cpu::extreme(e, element, /*lowest=*/true),
                  [&](Value x, ArrayRef<Value>, ValueRange sofar) {
                    return Carried{cpu::emitMax(e.b, sofar[0], x, element)};
                  })[0];
}

Value largestPlace(Emitter &e, graph::MaxPoolIndicesOp op,
                   ArrayRef<Value> index) {
  Type element = graph::getElementType(op.getInput());
  Value none = e.zero(cpu::computeType(element));
  Value place = foldPool(
      e, op, index, ValueRange{none, e.number(-1)},
      [&](Value x, ArrayRef<Value> at, ValueRange sofar) {
        Indices from(at), dims = e.dimsOf(op.getInput());
        if (op.getColumnMajor()) {
          std::reverse(from.begin() + 2, from.end());
          std::reverse(dims.begin() + 2, dims.end());
        }
        Value better =
            e.either(e.less(sofar[1], e.number(0)),
                     cpu::isBetter(e, x, sofar[0], element, /*largest=*/true));
        return Carried{e.select(better, x, sofar[0]),
                       e.select(better, e.linearise(from, dims), sofar[1])};
      })[1];
  return cpu::emitCast(e.b, e.max(place, e.number(0)), e.b.getI64Type(),
                       graph::getElementType(op.getResult()));
}

/// The sum in f64 of what `term` makes of the elements.
template <typename PoolOp>
Value windowSum(Emitter &e, PoolOp op, ArrayRef<Value> index,
                function_ref<Value(Value)> term) {
  Type f64 = e.b.getF64Type(), element = graph::getElementType(op.getInput());
  Type from = isa<FloatType>(element) ? cpu::computeType(element) : element;
  return foldPool(e, op, index, e.zero(f64),
                  [&](Value x, ArrayRef<Value>, ValueRange sums) {
                    Value wide = term(cpu::emitCast(e.b, x, from, f64));
                    return Carried{cpu::emitAdd(e.b, sums[0], wide)};
                  })[0];
}

Value meanElement(Emitter &e, graph::AveragePoolOp op, ArrayRef<Value> index) {
  Layout layout(op);
  Type f64 = e.b.getF64Type();
  SmallVector<WindowAxis> axes = cpu::poolAxes(e, op, layout.firstSpace());
  Value count = e.number(1);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Value high = e.valueOf(op.getPads()[axes.size() + i]);
    Value o = index[layout.firstSpace() + i];
    count = e.mul(count, cpu::tapsInside(e, axis, o, high, op.getCountPads()));
  }
  Value sum = windowSum(e, op, index, [](Value x) { return x; });
  Value divisor = arith::SIToFPOp::create(e.b, f64, count);
  return cpu::emitCast(e.b, arith::DivFOp::create(e.b, sum, divisor), f64,
                       graph::getElementType(op.getResult()));
}

Value normElement(Emitter &e, graph::LpPoolOp op, ArrayRef<Value> index) {
  Type f64 = e.b.getF64Type();
  double p = static_cast<double>(op.getP());
  auto power = [&](Value x, double exponent) -> Value {
    if (exponent == 1)
      return x;
    if (exponent == 2)
      return cpu::emitMul(e.b, x, x);
    if (exponent == 0.5)
      return math::SqrtOp::create(e.b, x);
    return e.callMath(TENON_MATH_POW,
                      {x, cpu::constantLike(e.b, f64, exponent)});
  };
  Value sum = windowSum(e, op, index, [&](Value x) {
    return power(math::AbsFOp::create(e.b, x), p);
  });
  return cpu::emitCast(e.b, power(sum, 1 / p), f64,
                       graph::getElementType(op.getResult()));
}

} // namespace

Value windowElement(Emitter &e, Operation *root, ArrayRef<Value> index) {
  if (index.size() < 3)
    return e.giveUp("has a window without spatial axes");
  if (auto op = dyn_cast<graph::ConvOp>(root))
    return convElement(e, op, index);
  if (auto op = dyn_cast<graph::ConvTransposeOp>(root))
    return TransposedTaps(e, op, index).sum();
  if (auto op = dyn_cast<graph::MaxPoolOp>(root))
    return largestElement(e, op, index);
  if (auto op = dyn_cast<graph::MaxPoolIndicesOp>(root))
    return largestPlace(e, op, index);
  if (auto op = dyn_cast<graph::AveragePoolOp>(root))
    return meanElement(e, op, index);
  if (auto op = dyn_cast<graph::LpPoolOp>(root))
    return normElement(e, op, index);
  return {};
}

Value resized(Emitter &e, graph::ResizeOp op, ArrayRef<Value> index) {
  if (index.empty())
    return e.giveUp("resizes a scalar");
  Value empty = cpu::zeroBit(e);
  for (Value size : e.dimsOf(op.getInput()))
    empty = e.either(empty, e.less(size, e.number(1)));
  e.fault(empty, TENON_FAULT_COUNT, op);
  Type type = cpu::computeType(graph::getElementType(op.getResult()));
  return e.branch(
      empty, [&] { return e.zero(type); },
      [&] { return cpu::resizedElement(e, op, index); });
}

} // namespace tenon::cuda
