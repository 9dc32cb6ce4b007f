//===- EmitWindows.cpp - Convolutions and pools ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row lies along the last spatial axis and is summed in scratch memory, one
// tap of the window after the other. Of the last axis only the positions are
// visited where the tap lies inside; of the others the taps that do.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/Windows.h"
#include "dialects/Kernel/Geometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

struct Range {
  Value from, to;
};

/// The o for which o * stride + offset lies in [0, size).
Range inside(Emitter &e, Value offset, int64_t stride, Value size,
             Value count) {
  Value step = e.number(stride), one = e.number(1), none = e.number(0);
  Value reach = e.sub(e.number(stride - 1), offset); // ceil(-offset / stride)
  Value from = e.max(none, e.floorDiv(reach, step));
  Value last = e.floorDiv(e.sub(e.sub(size, one), offset), step);
  return {from, e.min(count, e.add(last, one))};
}

class WindowRow {
public:
  WindowRow(Emitter &e, ArrayRef<WindowAxis> axes, ArrayRef<Value> rowIndex)
      : e(e), axes(axes), rowIndex(rowIndex) {}

  /// For each tap and each o of the row with the tap inside: the position of
  /// all spatial axes. `before` sees the taps once, outside the loop over o.
  void forEachTap(function_ref<void(ArrayRef<Value>)> before,
                  function_ref<void(Value o, ArrayRef<Value>)> body) {
    visit({}, {}, before, body);
  }

private:
  void visit(Indices taps, Indices position,
             function_ref<void(ArrayRef<Value>)> before,
             function_ref<void(Value, ArrayRef<Value>)> body) {
    const WindowAxis &axis = axes[taps.size()];
    bool isLast = taps.size() + 1 == axes.size();
    e.loop(e.number(0), axis.taps, [&](Value tap) {
      Indices nextTaps = taps;
      nextTaps.push_back(tap);
      Value offset = e.sub(e.mul(tap, e.number(axis.dilation)), axis.low);
      if (isLast) {
        Range range = inside(e, offset, axis.stride, axis.size, axis.count);
        before(nextTaps);
        return e.loop(range.from, range.to, [&](Value o) {
          Indices whole = position;
          whole.push_back(e.add(e.mul(o, e.number(axis.stride)), offset));
          body(o, whole);
        });
      }
      Value o = rowIndex[2 + taps.size()];
      Value at = e.add(e.mul(o, e.number(axis.stride)), offset);
      Value holds = e.both(e.less(e.number(-1), at), e.less(at, axis.size));
      e.ifThen(holds, [&] {
        Indices next = position;
        next.push_back(at);
        visit(nextTaps, next, before, body);
      });
    });
  }

  Emitter &e;
  ArrayRef<WindowAxis> axes;
  ArrayRef<Value> rowIndex;
};

/// Runs `body(row, lead, length)` for the rows of a root with spatial axes.
bool forEachRow(Emitter &e, Operation *op,
                function_ref<void(Value, ArrayRef<Value>, Value)> body) {
  Value result = op->getResult(0);
  if (graph::getRank(result) < 3) {
    e.giveUp("has a window without spatial axes");
    return true;
  }
  Indices dims = e.dimsOf(result);
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, ArrayRef(dims).drop_back());
    body(row, lead, dims.back());
  });
  return true;
}

void addProduct(Emitter &e, Value weight, Value element, Value sums, Value o) {
  Value sum = e.loadRaw(sums, weight.getType(), o);
  e.storeRaw(emitMulAdd(e.b, weight, element, sum), sums, o);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

bool emitConv(Emitter &e, graph::ConvOp op) {
  Type type = computeType(graph::getElementType(op.getResult()));
  Indices filter = e.dimsOf(op.getFilter());
  Value sums = e.scratch(0);
  SmallVector<WindowAxis> axes =
      windowAxes(e, op.getStrides(), op.getDilations(), op.getPads(),
                 op.getInput(), op.getResult(), ArrayRef(filter).drop_front(2),
                 /*first=*/2);
  Value mapsPerGroup =
      e.atEntry([&] { return e.div(filter[0], e.number(op.getGroup())); });
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, e.zero(type));
    Value firstChannel =
        op.getGroup() == 1
            ? e.number(0)
            : e.mul(e.div(lead[1], e.max(mapsPerGroup, e.number(1))),
                    filter[1]);
    e.loop(e.number(0), filter[1], [&](Value c) {
      Value weight;
      WindowRow(e, axes, lead)
          .forEachTap(
              [&](ArrayRef<Value> taps) {
                Indices index = {lead[1], c};
                llvm::append_range(index, taps);
                weight = e.element(op.getFilter(), index);
              },
              [&](Value o, ArrayRef<Value> position) {
                Indices index = {lead[0], e.add(firstChannel, c)};
                llvm::append_range(index, position);
                addProduct(e, weight, e.element(op.getInput(), index), sums, o);
              });
    });
    e.storeRow(op, lead, row, length,
               [&](Value o) { return e.loadRaw(sums, type, o); });
  });
}

/// The row of a transposed convolution that one output row is: for each tap,
/// the input positions that it spreads there.
class TransposedRow {
public:
  TransposedRow(Emitter &e, graph::ConvTransposeOp op, ArrayRef<Value> lead,
                Value sums)
      : e(e), op(op), lead(lead), sums(sums),
        filterDims(e.dimsOf(op.getFilter())),
        inputDims(e.dimsOf(op.getInput())),
        outputDims(e.dimsOf(op.getResult())) {}

  void sum() {
    Value groups = e.number(op.getGroup());
    Value channels = e.div(filterDims[0], groups);
    Value maps = e.max(filterDims[1], e.number(1));
    Value firstChannel = e.mul(e.div(lead[1], maps), channels);
    map = e.rem(lead[1], maps);
    e.loop(e.number(0), channels, [&](Value c) {
      channel = e.add(firstChannel, c);
      visit({}, {});
    });
  }

private:
  void visit(Indices taps, Indices position) {
    size_t axis = taps.size();
    int64_t stride = op.getStrides()[axis];
    Value step = e.number(stride);
    bool isLast = axis + 1 == op.getStrides().size();
    e.loop(e.number(0), filterDims[2 + axis], [&](Value tap) {
      Indices nextTaps = taps;
      nextTaps.push_back(tap);
      // output = input * stride + offset
      Value offset = e.sub(e.mul(tap, e.number(op.getDilations()[axis])),
                           e.valueOf(op.getPads()[axis]));
      if (isLast)
        return spread(nextTaps, position, offset, stride);
      Value distance = e.sub(lead[2 + axis], offset);
      Value at = e.floorDiv(distance, step);
      Value holds = e.both(
          e.equal(e.mul(at, step), distance),
          e.both(e.less(e.number(-1), at), e.less(at, inputDims[2 + axis])));
      e.ifThen(holds, [&] {
        Indices next = position;
        next.push_back(at);
        visit(nextTaps, next);
      });
    });
  }

  void spread(ArrayRef<Value> taps, ArrayRef<Value> position, Value offset,
              int64_t stride) {
    Indices filterIndex = {channel, map};
    llvm::append_range(filterIndex, taps);
    Value weight = e.element(op.getFilter(), filterIndex);
    Range range =
        inside(e, offset, stride, outputDims.back(), inputDims.back());
    e.loop(range.from, range.to, [&](Value i) {
      Indices index = {lead[0], channel};
      llvm::append_range(index, position);
      index.push_back(i);
      Value o = e.add(e.mul(i, e.number(stride)), offset);
      addProduct(e, weight, e.element(op.getInput(), index), sums, o);
    });
  }

  Emitter &e;
  graph::ConvTransposeOp op;
  ArrayRef<Value> lead;
  Value sums, map, channel;
  Indices filterDims, inputDims, outputDims;
};

bool emitConvTranspose(Emitter &e, graph::ConvTransposeOp op) {
  Type type = computeType(graph::getElementType(op.getResult()));
  Value sums = e.scratch(0);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, e.zero(type));
    TransposedRow(e, op, lead, sums).sum();
    e.storeRow(op, lead, row, length,
               [&](Value o) { return e.loadRaw(sums, type, o); });
  });
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// The element under a tap; `position` are the spatial axes.
Value underTap(Emitter &e, Value input, ArrayRef<Value> lead,
               ArrayRef<Value> position) {
  Indices index(lead.take_front(2));
  llvm::append_range(index, position);
  return e.element(input, index);
}

bool emitMaxPool(Emitter &e, graph::MaxPoolOp op) {
  Type element = graph::getElementType(op.getInput());
  Type type = computeType(element);
  Value sums = e.scratch(0);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, extreme(e, element, /*lowest=*/true));
    WindowRow(e, axes, lead)
        .forEachTap([](ArrayRef<Value>) {},
                    [&](Value o, ArrayRef<Value> position) {
                      Value x = underTap(e, op.getInput(), lead, position);
                      Value sofar = e.loadRaw(sums, type, o);
                      e.storeRaw(emitMax(e.b, sofar, x, element), sums, o);
                    });
    e.storeRow(op, lead, row, length,
               [&](Value o) { return e.loadRaw(sums, type, o); });
  });
}

/// The flat index of an element of the input, in the order asked for.
Value flatIndex(Emitter &e, graph::MaxPoolIndicesOp op, ArrayRef<Value> lead,
                ArrayRef<Value> position) {
  Indices dims = e.dimsOf(op.getInput());
  Indices index(lead.take_front(2));
  if (!op.getColumnMajor()) {
    llvm::append_range(index, position);
    return e.linearise(index, dims);
  }
  for (size_t i = position.size(); i-- > 0;)
    index.push_back(position[i]);
  std::reverse(dims.begin() + 2, dims.end());
  return e.linearise(index, dims);
}

bool emitMaxPoolIndices(Emitter &e, graph::MaxPoolIndicesOp op) {
  Type element = graph::getElementType(op.getInput());
  Type type = computeType(element), i64 = e.b.getI64Type();
  Value best = e.scratch(0), places = e.scratch(1);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    e.loop(e.number(0), length, [&](Value o) {
      e.storeRaw(e.zero(type), best, o);
      e.storeRaw(e.number(-1), places, o);
    });
    WindowRow(e, axes, lead)
        .forEachTap(
            [](ArrayRef<Value>) {},
            [&](Value o, ArrayRef<Value> position) {
              Value x = underTap(e, op.getInput(), lead, position);
              Value sofar = e.loadRaw(best, type, o);
              Value place = e.loadRaw(places, i64, o);
              Value better = e.either(e.less(place, e.number(0)),
                                      isBetter(e, x, sofar, element, true));
              e.storeRaw(e.select(better, x, sofar), best, o);
              e.storeRaw(
                  e.select(better, flatIndex(e, op, lead, position), place),
                  places, o);
            });
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value place = e.max(e.loadRaw(places, i64, o), e.number(0));
      return emitCast(e.b, place, i64, graph::getElementType(op.getResult()));
    });
  });
}

/// Sums in f64 of elements or of powers of them.
template <typename PoolOp>
void sumWindows(Emitter &e, PoolOp op, ArrayRef<WindowAxis> axes,
                ArrayRef<Value> lead, Value length,
                function_ref<Value(Value)> term) {
  Type f64 = e.b.getF64Type();
  Type element = graph::getElementType(op.getInput());
  Value sums = e.scratch(0);
  clear(e, sums, length, e.zero(f64));
  WindowRow(e, axes, lead)
      .forEachTap([](ArrayRef<Value>) {},
                  [&](Value o, ArrayRef<Value> position) {
                    Value x = underTap(e, op.getInput(), lead, position);
                    if (isa<FloatType>(element))
                      x = emitCast(e.b, x, computeType(element), f64);
                    else
                      x = emitCast(e.b, x, element, f64);
                    Value sum = e.loadRaw(sums, f64, o);
                    e.storeRaw(emitAdd(e.b, sum, term(x)), sums, o);
                  });
}

bool emitAveragePool(Emitter &e, graph::AveragePoolOp op) {
  Type f64 = e.b.getF64Type();
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    sumWindows(e, op, axes, lead, length, [](Value x) { return x; });
    auto countAt = [&](size_t axis, Value o) {
      Value high = e.valueOf(op.getPads()[axes.size() + axis]);
      return tapsInside(e, axes[axis], o, high, op.getCountPads());
    };
    Value others = e.number(1);
    for (size_t axis = 0; axis + 1 < axes.size(); ++axis)
      others = e.mul(others, countAt(axis, lead[2 + axis]));
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value count = e.mul(others, countAt(axes.size() - 1, o));
      Value mean =
          arith::DivFOp::create(e.b, e.loadRaw(e.scratch(0), f64, o),
                                arith::SIToFPOp::create(e.b, f64, count));
      return emitCast(e.b, mean, f64, graph::getElementType(op.getResult()));
    });
  });
}

bool emitLpPool(Emitter &e, graph::LpPoolOp op) {
  Type f64 = e.b.getF64Type();
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  double p = static_cast<double>(op.getP());
  auto power = [&](Value x, double exponent) -> Value {
    if (exponent == 1)
      return x;
    if (exponent == 2)
      return emitMul(e.b, x, x);
    if (exponent == 0.5)
      return math::SqrtOp::create(e.b, x);
    return e.callMath(TENON_MATH_POW, {x, constantLike(e.b, f64, exponent)});
  };
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    sumWindows(e, op, axes, lead, length,
               [&](Value x) { return power(math::AbsFOp::create(e.b, x), p); });
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value norm = power(e.loadRaw(e.scratch(0), f64, o), 1 / p);
      return emitCast(e.b, norm, f64, graph::getElementType(op.getResult()));
    });
  });
}

} // namespace

SmallVector<WindowAxis> windowAxes(Emitter &e, ArrayRef<int64_t> strides,
                                   ArrayRef<int64_t> dilations,
                                   graph::DimsAttr pads, Value image,
                                   Value grid, ArrayRef<Value> taps,
                                   size_t first) {
  SmallVector<WindowAxis> axes;
  Indices imageDims = e.dimsOf(image), gridDims = e.dimsOf(grid);
  for (size_t i = 0; i < strides.size(); ++i)
    axes.push_back({strides[i], dilations[i], e.valueOf(pads[i]), taps[i],
                    imageDims[first + i], gridDims[first + i]});
  return axes;
}

void clear(Emitter &e, Value sums, Value length, Value start) {
  e.loop(e.number(0), length, [&](Value o) { e.storeRaw(start, sums, o); });
}

Value tapsInside(Emitter &e, const WindowAxis &axis, Value o, Value high,
                 bool countPads) {
  Value start = e.sub(e.mul(o, e.number(axis.stride)), axis.low);
  auto reach = [&](Value limit) {
    Value dilation = e.number(axis.dilation);
    Value up = e.add(e.max(limit, e.number(0)), e.number(axis.dilation - 1));
    return e.min(axis.taps, e.div(up, dilation));
  };
  if (countPads)
    return reach(e.sub(e.add(axis.size, high), start));
  Value first = reach(e.sub(e.number(0), start));
  Value last = reach(e.sub(axis.size, start));
  return e.sub(e.max(first, last), first);
}

bool emitWindows(Emitter &e, Operation *root) {
  if (emitChannelsLast(e, root))
    return true;
  if (auto op = dyn_cast<graph::ConvOp>(root))
    return emitConv(e, op);
  if (auto op = dyn_cast<graph::ConvTransposeOp>(root))
    return emitConvTranspose(e, op);
  if (auto op = dyn_cast<graph::MaxPoolOp>(root))
    return emitMaxPool(e, op);
  if (auto op = dyn_cast<graph::MaxPoolIndicesOp>(root))
    return emitMaxPoolIndices(e, op);
  if (auto op = dyn_cast<graph::AveragePoolOp>(root))
    return emitAveragePool(e, op);
  if (auto op = dyn_cast<graph::LpPoolOp>(root))
    return emitLpPool(e, op);
  return false;
}

} // namespace tenon::cpu
