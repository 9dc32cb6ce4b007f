//===- ResampledAxes.cpp - What elements of a resize are made of ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ResampledAxes.h"
#include "dialects/Kernel/ResizeView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::cpu {

using P = arith::CmpFPredicate;

// Arithmetic of f64.
static Value plus(Emitter &e, Value x, Value y) {
  return arith::AddFOp::create(e.b, x, y);
}
static Value minus(Emitter &e, Value x, Value y) {
  return arith::SubFOp::create(e.b, x, y);
}
static Value times(Emitter &e, Value x, Value y) {
  return arith::MulFOp::create(e.b, x, y);
}
static Value over(Emitter &e, Value x, Value y) {
  return arith::DivFOp::create(e.b, x, y);
}
static Value compare(Emitter &e, P predicate, Value x, Value y) {
  return arith::CmpFOp::create(e.b, predicate, x, y);
}

Value ResampledAxes::real(double value) const {
  return constantLike(e.b, f64, value);
}
Value ResampledAxes::toReal(Value value) const {
  return arith::SIToFPOp::create(e.b, f64, value);
}
Value ResampledAxes::toInt(Value value) const {
  return emitCast(e.b, value, f64, e.b.getI64Type());
}

Value ResampledAxes::scaleIn(Type type, size_t axis) const {
  if (!op.getScales().empty())
    return constantLike(e.b, type, op.getScales()[axis]);
  return over(e, arith::SIToFPOp::create(e.b, type, result[axis]),
              arith::SIToFPOp::create(e.b, type, input[axis]));
}

Value ResampledAxes::clamped(size_t axis, Value position) const {
  return e.max(e.number(0), e.min(position, e.sub(input[axis], e.number(1))));
}

Value ResampledAxes::coordinate(size_t axis, Value position) const {
  // As the evaluator does.
  bool isNearest = op.getMode() == graph::ResizeMode::Nearest;
  Type type = isNearest ? Type(e.b.getF32Type()) : f64;
  Value at = coordinateIn(type, axis, position);
  return isNearest ? arith::ExtFOp::create(e.b, f64, at).getResult() : at;
}

Value ResampledAxes::coordinateIn(Type type, size_t axis,
                                  Value position) const {
  auto number = [&](double value) { return constantLike(e.b, type, value); };
  auto sizeOf = [&](Value size) {
    return arith::SIToFPOp::create(e.b, type, size).getResult();
  };
  StringRef mode = op.getCoordinates();
  Value x = sizeOf(position), in = sizeOf(input[axis]);
  Value by = scaleIn(type, axis), one = number(1), half = number(0.5);
  if (mode == "align_corners") {
    Value out = sizeOf(result[axis]);
    Value stretched =
        over(e, times(e, x, minus(e, in, one)), minus(e, out, one));
    return e.select(compare(e, P::OEQ, out, one), number(0), stretched);
  }
  if (mode == "asymmetric")
    return over(e, x, by);
  Value halfPixel = minus(e, over(e, plus(e, x, half), by), half);
  if (mode == "pytorch_half_pixel")
    return e.select(e.less(result[axis], e.number(2)), number(0), halfPixel);
  if (mode == "half_pixel_symmetric") {
    Value adjustment = over(e, sizeOf(result[axis]), times(e, by, in));
    Value shift = times(e, over(e, in, number(2)), minus(e, one, adjustment));
    return plus(e, shift, halfPixel);
  }
  return halfPixel;
}

Value ResampledAxes::bounded(size_t axis, Value coordinate, Value reach) const {
  Value isNone = compare(e, P::UNO, coordinate, coordinate);
  Value at = e.select(isNone, real(0), coordinate);
  at = emitMin(e.b, at, plus(e, toReal(input[axis]), reach), f64);
  return emitMax(e.b, at, minus(e, real(-1), reach), f64);
}

Value ResampledAxes::nearest(size_t axis, Value at) const {
  StringRef mode = op.getNearest();
  auto floor = [&](Value x) { return math::FloorOp::create(e.b, x); };
  auto ceil = [&](Value x) { return math::CeilOp::create(e.b, x); };
  Value half = real(0.5);
  Value rounded = mode == "floor"  ? floor(at).getResult()
                  : mode == "ceil" ? ceil(at).getResult()
                  : mode == "round_prefer_ceil"
                      ? floor(plus(e, at, half)).getResult()
                      : ceil(minus(e, at, half)).getResult();
  return clamped(axis, toInt(rounded));
}

Value ResampledAxes::weight(Value distance) const {
  Value x = math::AbsFOp::create(e.b, distance);
  if (op.getMode() == graph::ResizeMode::Linear)
    return emitMax(e.b, minus(e, real(1), x), real(0), f64);
  double a = op.getCubicCoefficient().convertToDouble();
  auto cubic = [&](double c3, double c2, double c1, double c0) {
    Value sum = plus(e, times(e, real(c3), x), real(c2));
    sum = plus(e, times(e, sum, x), real(c1));
    return plus(e, times(e, sum, x), real(c0));
  };
  Value near = cubic(a + 2, -(a + 3), 0, 1);
  Value far = cubic(a, -5 * a, 8 * a, -4 * a);
  far = e.select(compare(e, P::OLT, x, real(2)), far, real(0));
  return e.select(compare(e, P::OLE, x, real(1)), near, far);
}

Value ResampledAxes::squeeze(size_t axis) const {
  return op.getAntialias() ? emitMin(e.b, scaleIn(f64, axis), real(1), f64)
                           : real(1);
}

Value ResampledAxes::reach(Value squeeze) const {
  return over(e, real(double(kernel::supportOf(op)) / 2), squeeze);
}

SmallVector<ResampledAxes::Tap> ResampledAxes::taps(size_t axis, Value position,
                                                    int64_t count) const {
  Value at = coordinate(axis, position);
  if (count == 1)
    return {{nearest(axis, at), Value(), Value()}};
  Value by = squeeze(axis), wide = reach(by), total = real(0);
  at = bounded(axis, at, wide);
  Value low = math::FloorOp::create(e.b, minus(e, at, wide));
  Value high = math::CeilOp::create(e.b, plus(e, at, wide));
  Value first = e.add(toInt(low), e.number(1)), end = toInt(high);
  SmallVector<Tap> taps;
  for (int64_t t = 0; t < count; ++t) {
    Value i = e.add(first, e.number(t)), index = clamped(axis, i);
    Value holds = e.less(i, end);
    if (op.getExcludeOutside())
      holds = e.both(holds, e.equal(i, index));
    Value w = weight(times(e, minus(e, toReal(i), at), by));
    total = plus(e, total, e.select(holds, w, real(0)));
    taps.push_back({index, w, holds});
  }
  for (Tap &tap : taps)
    tap.weight = over(e, tap.weight, total);
  if (op.getExcludeOutside())
    putBorder(axis, at, total, taps);
  return taps;
}

/// Where all samples were excluded, one stands for the border.
void ResampledAxes::putBorder(size_t axis, Value at, Value total,
                              MutableArrayRef<Tap> taps) const {
  Value isNone = compare(e, P::OEQ, total, real(0));
  Value isAny = compare(e, P::UNE, total, real(0));
  for (Tap &tap : taps)
    tap.holds = e.both(tap.holds, isAny);
  Tap &border = taps.front();
  Value last = e.sub(input[axis], e.number(1));
  Value nearest = e.select(compare(e, P::OLT, at, real(0)), e.number(0), last);
  border.index = e.select(isNone, nearest, border.index);
  border.weight = e.select(isNone, real(1), border.weight);
  border.holds = e.either(border.holds, isNone);
}

} // namespace tenon::cpu
