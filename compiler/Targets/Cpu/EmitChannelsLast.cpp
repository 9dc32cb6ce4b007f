//===- EmitChannelsLast.cpp - Windows over images with channels last ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is the channels of one pixel. They are summed in scratch memory, one
// tap after the other of those inside the image: the innermost loop runs over
// channels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/Windows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Runs `body(taps, position)` for the taps of a window that lie inside;
/// `lead` is the index of the pixel, its image first.
class WindowTaps {
public:
  using Body = function_ref<void(ArrayRef<Value>, ArrayRef<Value>)>;

  WindowTaps(Emitter &e, ArrayRef<WindowAxis> axes, ArrayRef<Value> lead)
      : e(e), axes(axes), lead(lead) {}

  void forEach(Body body) { visit({}, {lead[0]}, body); }

private:
  void visit(Indices taps, Indices position, Body body) {
    if (taps.size() == axes.size())
      return body(taps, position);
    const WindowAxis &axis = axes[taps.size()];
    Value start =
        e.sub(e.mul(lead[position.size()], e.number(axis.stride)), axis.low);
    e.loop(e.number(0), axis.taps, [&](Value tap) {
      Value at = e.add(start, e.mul(tap, e.number(axis.dilation)));
      Value holds = e.both(e.less(e.number(-1), at), e.less(at, axis.size));
      e.ifThen(holds, [&] {
        Indices nextTaps = taps, next = position;
        nextTaps.push_back(tap);
        next.push_back(at);
        visit(nextTaps, next, body);
      });
    });
  }

  Emitter &e;
  ArrayRef<WindowAxis> axes;
  ArrayRef<Value> lead;
};

/// An index of the channel behind a pixel.
Indices at(ArrayRef<Value> pixel, Value channel) {
  Indices index(pixel);
  index.push_back(channel);
  return index;
}

/// Runs `body(row, lead, length)` for the pixels of the result.
void forEachPixel(Emitter &e, Operation *op,
                  function_ref<void(Value, ArrayRef<Value>, Value)> body) {
  Indices dims = e.dimsOf(op->getResult(0));
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, ArrayRef(dims).drop_back());
    body(row, lead, dims.back());
  });
}

void emitConv(Emitter &e, graph::ConvOp op) {
  Type type = computeType(graph::getElementType(op.getResult()));
  Indices filter = e.dimsOf(op.getFilter());
  Value sums = e.scratch(0), groups = e.number(op.getGroup());
  SmallVector<WindowAxis> axes =
      windowAxes(e, op.getStrides(), op.getDilations(), op.getPads(),
                 op.getInput(), op.getResult(), ArrayRef(filter).drop_front(2),
                 /*first=*/1);
  Value maps = e.atEntry([&] { return e.div(filter[0], groups); });
  auto add = [&](ArrayRef<Value> taps, ArrayRef<Value> pixel, Value group,
                 Value c) {
    Value channel = e.add(e.mul(group, filter[1]), c);
    Value x = e.element(op.getInput(), at(pixel, channel));
    e.loop(e.number(0), maps, [&](Value m) {
      Value map = e.add(e.mul(group, maps), m);
      Indices index = {map, c};
      llvm::append_range(index, taps);
      Value weight = e.element(op.getFilter(), index);
      Value sum = e.loadRaw(sums, type, map);
      e.storeRaw(emitMulAdd(e.b, weight, x, sum), sums, map);
    });
  };
  forEachPixel(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, e.zero(type));
    WindowTaps(e, axes, lead)
        .forEach([&](ArrayRef<Value> taps, ArrayRef<Value> pixel) {
          e.loops({groups, filter[1]},
                  [&](ArrayRef<Value> i) { add(taps, pixel, i[0], i[1]); });
        });
    e.storeRow(op, lead, row, length,
               [&](Value m) { return e.loadRaw(sums, type, m); });
  });
}

void emitMaxPool(Emitter &e, graph::MaxPoolOp op) {
  Type element = graph::getElementType(op.getInput());
  Type type = computeType(element);
  Value best = e.scratch(0);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/1);
  forEachPixel(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, best, length, extreme(e, element, /*lowest=*/true));
    WindowTaps(e, axes, lead)
        .forEach([&](ArrayRef<Value>, ArrayRef<Value> pixel) {
          e.loop(e.number(0), length, [&](Value c) {
            Value x = e.element(op.getInput(), at(pixel, c));
            Value sofar = e.loadRaw(best, type, c);
            e.storeRaw(emitMax(e.b, sofar, x, element), best, c);
          });
        });
    e.storeRow(op, lead, row, length,
               [&](Value c) { return e.loadRaw(best, type, c); });
  });
}

void emitAveragePool(Emitter &e, graph::AveragePoolOp op) {
  Type f64 = e.b.getF64Type(), element = graph::getElementType(op.getInput());
  Type from = isa<FloatType>(element) ? computeType(element) : element;
  Value sums = e.scratch(0);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/1);
  forEachPixel(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, e.zero(f64));
    WindowTaps(e, axes, lead)
        .forEach([&](ArrayRef<Value>, ArrayRef<Value> pixel) {
          e.loop(e.number(0), length, [&](Value c) {
            Value x = e.element(op.getInput(), at(pixel, c));
            Value sum = e.loadRaw(sums, f64, c);
            x = emitCast(e.b, x, from, f64);
            e.storeRaw(emitAdd(e.b, sum, x), sums, c);
          });
        });
    Value count = e.number(1);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      Value high = e.valueOf(op.getPads()[axes.size() + i]);
      count = e.mul(count,
                    tapsInside(e, axis, lead[1 + i], high, op.getCountPads()));
    }
    Value divisor = arith::SIToFPOp::create(e.b, f64, count);
    e.storeRow(op, lead, row, length, [&](Value c) {
      Value mean = arith::DivFOp::create(e.b, e.loadRaw(sums, f64, c), divisor);
      return emitCast(e.b, mean, f64, element);
    });
  });
}

} // namespace

bool emitChannelsLast(Emitter &e, Operation *root) {
  if (!root->hasAttr("channels_last"))
    return false;
  if (graph::getRank(root->getResult(0)) < 3)
    e.giveUp("has a window without spatial axes");
  else if (auto op = dyn_cast<graph::ConvOp>(root))
    emitConv(e, op);
  else if (auto op = dyn_cast<graph::MaxPoolOp>(root))
    emitMaxPool(e, op);
  else if (auto op = dyn_cast<graph::AveragePoolOp>(root))
    emitAveragePool(e, op);
  else
    return false;
  return true;
}

} // namespace tenon::cpu
