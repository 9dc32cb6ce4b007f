//===- EmitWindows.cpp - Convolutions, and windows of any -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row lies along the last spatial axis and is summed in scratch memory, one
// tap of the window after the other. Of the last axis only the positions are
// visited where the tap lies inside; of the others the taps that do.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Windows.h"

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

} // namespace

void WindowRow::visit(Indices taps, Indices position,
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
  return emitPools(e, root);
}

} // namespace tenon::cpu
