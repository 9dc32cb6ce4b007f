//===- EmitResize.cpp - Resampling ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each element of the result is, along every axis that changes, a weighted sum
// of input elements around a coordinate: two for linear, four for cubic, more
// when antialiasing stretches the kernel. All in f64. Where the last axis stays
// and the taps are few, all elements of a row share them: they are computed
// once per row, and vectors of the last axis are summed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class Resampling {
public:
  Resampling(Emitter &e, graph::ResizeOp op)
      : e(e), b(e.b), op(op), f64(e.b.getF64Type()),
        input(e.dimsOf(op.getInput())), result(e.dimsOf(op.getResult())),
        isCrop(op.getCoordinates() == "tf_crop_and_resize") {}

  /// Whether the elements of a row share their taps.
  bool sharesTaps() {
    if (op.getMode() == graph::ResizeMode::Nearest || isCrop ||
        op.getAntialias() || op.getExcludeOutside() || input.size() < 2 ||
        !isKept(input.size() - 1) ||
        !graph::getElementType(op.getResult()).isF32())
      return false;
    int64_t taps = 1;
    for (size_t axis = 0; axis < input.size(); ++axis)
      taps *= isKept(axis) ? 1 : tapsOfAxis();
    return taps <= maxSharedTaps;
  }

  /// Prepares `sharedElement` for the row at `lead`.
  void shareTaps(ArrayRef<Value> lead) {
    taps = {{Indices(lead), real(1), Value()}};
    Value total = real(1);
    for (size_t axis = 0; axis < lead.size(); ++axis)
      if (!isKept(axis))
        total = times(total, addTaps(axis, lead[axis]));
    for (Tap &tap : taps)
      tap.weight = over(tap.weight, total);
  }

  /// Element i of the row, unrounded but for its type.
  Value sharedElement(Value i) {
    Value sum = real(0);
    for (const Tap &tap : taps) {
      Indices from = tap.lead;
      from.push_back(i);
      Value value =
          emitCast(b, e.element(op.getInput(), from), b.getF32Type(), f64);
      Value part = times(tap.weight, value);
      // A tap that is none may lie on an infinity.
      if (tap.holds)
        part = e.select(tap.holds, part, real(0));
      sum = plus(sum, part);
    }
    return emitCast(b, sum, f64, b.getF32Type());
  }

  /// The element of the result, unrounded but for its type.
  Value elementAt(ArrayRef<Value> index) {
    Type element = graph::getElementType(op.getResult());
    Indices from(index);
    coordinates.assign(index.size(), Value());
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!isKept(axis))
        coordinates[axis] = coordinate(axis, index[axis]);
    Value value;
    if (op.getMode() == graph::ResizeMode::Nearest) {
      for (size_t axis = 0; axis < index.size(); ++axis)
        if (!isKept(axis))
          from[axis] = nearest(axis);
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
  static constexpr int64_t maxSharedTaps = 16;

  /// A row of the input.
  struct Tap {
    Indices lead;
    Value weight, holds;
  };

  int64_t tapsOfAxis() {
    return op.getMode() == graph::ResizeMode::Cubic ? 4 : 2;
  }

  /// Multiplies the taps by those of an axis; the sum of their weights.
  Value addTaps(size_t axis, Value position) {
    coordinates.assign(input.size(), Value());
    coordinates[axis] = coordinate(axis, position);
    Value reach = real(double(tapsOfAxis() / 2)), total = real(0);
    Value at = bounded(axis, reach);
    Value first = e.add(toInt(floor(minus(at, reach))), e.number(1));
    Value end = toInt(ceil(plus(at, reach)));
    std::vector<Tap> before;
    std::swap(before, taps);
    for (int64_t t = 0; t < tapsOfAxis(); ++t) {
      Value i = e.add(first, e.number(t));
      Value w = weight(minus(toReal(i), at));
      Value holds = e.less(i, end);
      total = plus(total, e.select(holds, w, real(0)));
      bool isLast = t + 1 == tapsOfAxis();
      for (const Tap &tap : before) {
        Tap next = tap;
        next.lead[axis] = clamped(axis, i);
        next.weight = times(tap.weight, w);
        if (isLast)
          next.holds = tap.holds ? e.both(tap.holds, holds) : holds;
        taps.push_back(next);
      }
    }
    return total;
  }

  /// An axis's coordinate within reach of the input.
  Value bounded(size_t axis, Value reach) {
    Value at = coordinates[axis];
    using P = arith::CmpFPredicate;
    at = e.select(compare(P::UNO, at, at), real(0), at);
    at = emitMin(b, at, plus(toReal(input[axis]), reach), f64);
    return emitMax(b, at, minus(real(-1), reach), f64);
  }

  Value real(double value) { return constantLike(b, f64, value); }
  Value toReal(Value value) { return arith::SIToFPOp::create(b, f64, value); }
  Value toInt(Value value) { return emitCast(b, value, f64, b.getI64Type()); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value over(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value floor(Value x) { return math::FloorOp::create(b, x); }
  Value ceil(Value x) { return math::CeilOp::create(b, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }

  bool isKept(size_t axis) {
    return !isCrop &&
           graph::getDim(op.getInput(), axis) ==
               graph::getDim(op.getResult(), axis) &&
           (op.getScales().empty() || op.getScales()[axis] == 1);
  }

  Value scaleOf(size_t axis) {
    if (!op.getScales().empty())
      return real(op.getScales()[axis]);
    return over(toReal(result[axis]), toReal(input[axis]));
  }

  /// Where position x of the result lies on the input's axis.
  Value coordinate(size_t axis, Value position) {
    StringRef mode = op.getCoordinates();
    Value x = toReal(position), in = toReal(input[axis]);
    Value scale = scaleOf(axis), one = real(1), half = real(0.5);
    Value isSingle = e.less(result[axis], e.number(2));
    if (mode == "align_corners") {
      Value resized = times(scale, in);
      Value stretched = over(times(x, minus(in, one)), minus(resized, one));
      return e.select(compare(arith::CmpFPredicate::OEQ, resized, one), real(0),
                      stretched);
    }
    if (mode == "asymmetric")
      return over(x, scale);
    if (isCrop)
      return cropped(axis, x, isSingle);
    Value halfPixel = minus(over(plus(x, half), scale), half);
    if (mode == "pytorch_half_pixel")
      return e.select(isSingle, real(0), halfPixel);
    if (mode == "half_pixel_symmetric") {
      Value adjustment = over(toReal(result[axis]), times(scale, in));
      return plus(times(over(in, real(2)), minus(one, adjustment)), halfPixel);
    }
    return halfPixel;
  }

  Value cropped(size_t axis, Value x, Value isSingle) {
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

  Value clamped(size_t axis, Value position) {
    return e.max(e.number(0), e.min(position, e.sub(input[axis], e.number(1))));
  }

  Value nearest(size_t axis) {
    Value at = coordinates[axis];
    StringRef mode = op.getNearest();
    Value rounded = mode == "floor"               ? floor(at)
                    : mode == "ceil"              ? ceil(at)
                    : mode == "round_prefer_ceil" ? floor(plus(at, real(0.5)))
                                                  : ceil(minus(at, real(0.5)));
    return clamped(axis, toInt(rounded));
  }

  /// The kernel at a distance from the coordinate.
  Value weight(Value distance) {
    Value x = math::AbsFOp::create(b, distance);
    if (op.getMode() == graph::ResizeMode::Linear)
      return emitMax(b, minus(real(1), x), real(0), f64);
    double a = op.getCubicCoefficient().convertToDouble();
    auto cubic = [&](double c3, double c2, double c1, double c0) {
      Value sum = plus(times(real(c3), x), real(c2));
      sum = plus(times(sum, x), real(c1));
      return plus(times(sum, x), real(c0));
    };
    Value near = cubic(a + 2, -(a + 3), 0, 1);
    Value far = cubic(a, -5 * a, 8 * a, -4 * a);
    using P = arith::CmpFPredicate;
    far = e.select(compare(P::OLT, x, real(2)), far, real(0));
    return e.select(compare(P::OLE, x, real(1)), near, far);
  }

  /// The weighted sum over the axes from `axis` on; `from` holds the input's
  /// index for those before.
  Value weighted(size_t axis, Indices from) {
    while (axis < from.size() && isKept(axis))
      ++axis;
    if (axis == from.size()) {
      Type element = graph::getElementType(op.getInput());
      return emitCast(b, e.element(op.getInput(), from),
                      isa<FloatType>(element) ? computeType(element) : element,
                      f64);
    }
    bool isCubic = op.getMode() == graph::ResizeMode::Cubic;
    Value squeeze =
        op.getAntialias() ? emitMin(b, scaleOf(axis), real(1), f64) : real(1);
    Value reach = over(real(isCubic ? 2 : 1), squeeze);
    Value at = bounded(axis, reach);
    using P = arith::CmpFPredicate;
    Value first = e.add(toInt(floor(minus(at, reach))), e.number(1));
    Value end = toInt(ceil(plus(at, reach)));
    // Where all samples were excluded, one more stands for the border.
    Value stop = op.getExcludeOutside() ? e.add(end, e.number(1)) : end;
    SmallVector<Value> sums = e.loop(
        first, stop, ValueRange{real(0), real(0)},
        [&](Value i, ValueRange carried) {
          Value w = weight(times(minus(toReal(i), at), squeeze));
          Value place = clamped(axis, i);
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
  Type f64;
  Indices input, result;
  bool isCrop;
  Indices coordinates; // Of axes that change.
  std::vector<Tap> taps;
  Value outside; // Some coordinate lies beyond the input, if any can.
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
    if (Resampling shared(e, op); shared.sharesTaps()) {
      shared.shareTaps(lead);
      return e.storeRow(op, lead, row, length,
                        [&](Value i) { return shared.sharedElement(i); });
    }
    e.storeRow(op, lead, row, length, [&](Value i) {
      Indices index = lead;
      index.push_back(i);
      return resizedElement(e, op, index);
    });
  });
  return true;
}

} // namespace tenon::cpu
