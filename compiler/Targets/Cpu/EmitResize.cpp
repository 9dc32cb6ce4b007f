//===- EmitResize.cpp - Resampling ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each element of the result is, along every axis that changes, a weighted sum
// of input elements around a coordinate: two for linear, four for cubic, more
// when antialiasing stretches the kernel. All in f64, but for coordinates of
// the nearest, which are in f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ResampledAxes.h"
#include "dialects/Kernel/ResizeView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class Resampling {
public:
  Resampling(Emitter &e, graph::ResizeOp op)
      : e(e), b(e.b), op(op), axes(e, op), f64(e.b.getF64Type()),
        input(e.dimsOf(op.getInput())), result(e.dimsOf(op.getResult())),
        isCrop(op.getCoordinates() == "tf_crop_and_resize") {}

  /// The element of the result, unrounded but for its type.
  Value elementAt(ArrayRef<Value> index) {
    Type element = graph::getElementType(op.getResult());
    Indices from(index);
    coordinates.assign(index.size(), Value());
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!kernel::keepsAxis(op, axis))
        coordinates[axis] = isCrop ? cropped(axis, index[axis])
                                   : axes.coordinate(axis, index[axis]);
    Value value;
    if (op.getMode() == graph::ResizeMode::Nearest) {
      for (size_t axis = 0; axis < index.size(); ++axis)
        if (coordinates[axis])
          from[axis] = axes.nearest(axis, coordinates[axis]);
      value = e.element(op.getInput(), from);
    } else {
      value = emitCast(b, weighted(0, from), f64, element);
    }
    if (!outside)
      return value;
    Value fill = real(op.getExtrapolation().convertToDouble());
    return e.select(outside, emitCast(b, fill, f64, element), value);
  }

private:
  Value real(double value) { return axes.real(value); }
  Value toReal(Value value) { return axes.toReal(value); }
  Value toInt(Value value) { return axes.toInt(value); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value over(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value floor(Value x) { return math::FloorOp::create(b, x); }
  Value ceil(Value x) { return math::CeilOp::create(b, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }

  Value cropped(size_t axis, Value position) {
    Value x = toReal(position);
    Value isSingle = e.less(result[axis], e.number(2));
    double start = op.getRoi()[axis], end = op.getRoi()[input.size() + axis];
    Value last = toReal(e.sub(input[axis], e.number(1)));
    Value extent = times(real(end - start), last);
    Value step = toReal(e.sub(result[axis], e.number(1)));
    Value at = plus(times(real(start), last), over(times(x, extent), step));
    at = e.select(isSingle, times(real(0.5 * (start + end)), last), at);
    using P = arith::CmpFPredicate;
    Value beyond =
        e.either(compare(P::ULT, at, real(0)), compare(P::UGT, at, last));
    outside = outside ? e.either(outside, beyond) : beyond;
    return at;
  }

  /// The weighted sum over the axes from `axis` on; `from` holds the input's
  /// index for those before.
  Value weighted(size_t axis, Indices from) {
    while (axis < from.size() && !coordinates[axis])
      ++axis;
    if (axis == from.size()) {
      Type element = graph::getElementType(op.getInput());
      return emitCast(b, e.element(op.getInput(), from),
                      isa<FloatType>(element) ? computeType(element) : element,
                      f64);
    }
    Value squeeze = axes.squeeze(axis), reach = axes.reach(squeeze);
    Value at = axes.bounded(axis, coordinates[axis], reach);
    using P = arith::CmpFPredicate;
    Value first = e.add(toInt(floor(minus(at, reach))), e.number(1));
    Value end = toInt(ceil(plus(at, reach)));
    // Where all samples were excluded, one more stands for the border.
    Value stop = op.getExcludeOutside() ? e.add(end, e.number(1)) : end;
    SmallVector<Value> sums = e.loop(
        first, stop, ValueRange{real(0), real(0)},
        [&](Value i, ValueRange carried) {
          Value w = axes.weight(times(minus(toReal(i), at), squeeze));
          Value place = axes.clamped(axis, i);
          if (op.getExcludeOutside()) {
            w = e.select(e.equal(place, i), w, real(0));
            Value isLast = e.equal(i, end);
            Value isNeeded = compare(P::OEQ, carried[1], real(0));
            w = e.select(isLast, e.select(isNeeded, real(1), real(0)), w);
            Value border = e.select(compare(P::OLT, at, real(0)), e.number(0),
                                    e.sub(input[axis], e.number(1)));
            place = e.select(isLast, border, place);
          }
          Indices inner = from;
          inner[axis] = place;
          Value value = weighted(axis + 1, inner);
          return SmallVector<Value>{plus(carried[0], times(w, value)),
                                    plus(carried[1], w)};
        });
    return over(sums[0], sums[1]);
  }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  graph::ResizeOp op;
  ResampledAxes axes;
  Type f64;
  Indices input, result;
  bool isCrop;
  Indices coordinates; // Of axes that change; null for others.
  Value outside;       // Some coordinate lies beyond the input, if any can.
};

} // namespace

Value resizedElement(Emitter &e, graph::ResizeOp op, ArrayRef<Value> index) {
  return Resampling(e, op).elementAt(index);
}

bool emitResize(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::ResizeOp>(root);
  if (!op)
    return false;
  Indices dims = e.dimsOf(op.getResult());
  if (dims.empty()) {
    e.giveUp("resizes a scalar");
    return true;
  }
  Value empty = constantLike(e.b, e.b.getI1Type(), 0);
  for (Value size : e.dimsOf(op.getInput()))
    empty = e.either(empty, e.less(size, e.number(1)));
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, ArrayRef(dims).drop_back());
    e.fault(empty, TENON_FAULT_COUNT, op);
    Value length = e.select(empty, e.number(0), dims.back());
    e.storeRow(op, lead, row, length, [&](Value i) {
      Indices index = lead;
      index.push_back(i);
      return resizedElement(e, op, index);
    });
  });
  return true;
}

} // namespace tenon::cpu
