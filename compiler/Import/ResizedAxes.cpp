//===- ResizedAxes.cpp - Axes resized by what a run gives -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ResizedAxes.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// Elements of the input that places of the result are made of.
struct Tap {
  Value element; // i64 [out], or [out, taps] for all at once
  Value weight;  // The same; null for 1.
};

/// Along one axis, in f64, but for places of the nearest, which are in f32.
class AxisFormula {
public:
  AxisFormula(NodeConverter &node, Expr in, const ResizedAxis &axis,
              const ResizeFormula &formula)
      : node(node), formula(formula), axis(axis), in(number(in)),
        out(number(axis.out)), last(node.sub(this->in, 1.0)),
        at(axis.start ? placesOfCrop() : places()) {}

  /// Whether each place lies beyond what there is: i1 [out].
  Value isOutside() {
    return node.emit<graph::OrOp>({isLess(at, f64(0)), isLess(last, at)});
  }

  SmallVector<Tap> taps() {
    if (formula.mode == graph::ResizeMode::Nearest)
      return {{inside(nearest()), {}}};
    Value squeeze = formula.antialias ? node.minimum(axis.scale, 1.0) : f64(1);
    Value reach = node.div(f64(isCubic() ? 2 : 1), squeeze);
    // Further out, all elements are the border's.
    at = node.maximum(at, node.sub(f64(-1), reach));
    at = node.minimum(at, node.add(in, reach));
    Value first = node.add(floor(node.sub(at, reach)), 1.0);
    SmallVector<Tap> taps;
    if (formula.antialias)
      taps.push_back(
          tap(allFrom(first, reach), node.unsqueeze(at, {0}), squeeze));
    else
      for (int i = 0; i < (isCubic() ? 4 : 2); ++i)
        taps.push_back(tap(node.add(first, double(i)), at, squeeze));
    divideByTotal(taps);
    return taps;
  }

private:
  Type f64() { return node.builder.getF64Type(); }
  Value f64(double value) { return node.scalar(f64(), value); }
  bool isCubic() const { return formula.mode == graph::ResizeMode::Cubic; }

  Value number(Expr size) { return node.sizeScalar(size, f64()); }
  Value isLess(Value lhs, Value rhs) {
    return node.emit<graph::LessOp>({lhs, rhs});
  }
  Value isEqual(Value lhs, double rhs) {
    return node.emit<graph::EqualOp>({lhs, f64(rhs)});
  }
  Value floor(Value value) { return node.emit<graph::FloorOp>({value}); }
  Value ceil(Value value) { return node.emit<graph::CeilOp>({value}); }
  Value inside(Value element) {
    element = node.minimum(node.maximum(element, 0.0), last);
    return node.cast(element, node.integer(64));
  }

  Value positions(Type type) {
    return node.cast(node.iota(axis.out, node.integer(64)), type);
  }

  /// Where places of the result lie on the input.
  Value places() {
    bool isNearest = formula.mode == graph::ResizeMode::Nearest;
    Type type = isNearest ? node.f32() : f64();
    auto number = [&](double value) { return node.scalar(type, value); };
    Value x = positions(type), scale = node.cast(axis.scale, type);
    Value from = node.cast(in, type), to = node.cast(out, type);
    Value resized = node.mul(from, scale);
    Value half = node.sub(node.div(node.add(x, 0.5), scale), 0.5), place = half;
    StringRef mode = formula.coordinates;
    if (mode == "align_corners")
      place = node.select(
          node.emit<graph::EqualOp>({to, number(1)}), number(0),
          node.div(node.mul(x, node.sub(from, 1.0)), node.sub(to, 1.0)));
    else if (mode == "asymmetric")
      place = node.div(x, scale);
    else if (mode == "pytorch_half_pixel")
      place = node.select(isLess(number(1), to), half, number(0));
    else if (mode == "half_pixel_symmetric")
      place = node.add(node.mul(node.div(from, 2.0),
                                node.sub(number(1), node.div(to, resized))),
                       half);
    return node.cast(place, f64());
  }

  Value placesOfCrop() {
    Value extent = node.mul(node.sub(axis.end, axis.start), last);
    Value steps = node.maximum(node.sub(out, 1.0), 1.0);
    Value many = node.add(node.mul(axis.start, last),
                          node.div(node.mul(positions(f64()), extent), steps));
    Value middle = node.mul(node.add(axis.start, axis.end), 0.5);
    return node.select(isLess(f64(1), out), many, node.mul(middle, last));
  }

  Value nearest() {
    StringRef mode = formula.nearest;
    if (formula.roundsByScale)
      return node.select(isLess(axis.scale, f64(1)), ceil(at), floor(at));
    if (mode == "floor")
      return floor(at);
    if (mode == "ceil")
      return ceil(at);
    return mode == "round_prefer_ceil" ? floor(node.add(at, 0.5))
                                       : ceil(node.sub(at, 0.5));
  }

  /// All elements that count something: [taps, out], as many as the run says.
  /// Sums of what lies along the last axis then have long rows.
  Value allFrom(Value first, Value reach) {
    Value count = node.cast(ceil(node.mul(reach, 2.0)), node.integer(64));
    Emitter::Exprs taps = node.readSizes(node.reshape(count, node.size(1)));
    if (node.failed())
      return {};
    Value each = node.cast(node.iota(taps[0], node.integer(64)), f64());
    return node.add(node.unsqueeze(first, {0}), node.unsqueeze(each, {1}));
  }

  Tap tap(Value element, Value at, Value squeeze) {
    Value distance = node.mul(node.sub(element, at), squeeze);
    distance = node.emit<graph::AbsOp>({distance});
    Value weight = isCubic() ? cubic(distance)
                             : node.maximum(node.sub(f64(1), distance), 0.0);
    if (formula.excludeOutside) {
      Value isBeyond = node.emit<graph::OrOp>(
          {isLess(element, f64(0)), isLess(last, element)});
      weight = node.select(isBeyond, f64(0), weight);
    }
    return {inside(element), weight};
  }

  /// Keys' kernel.
  Value cubic(Value x) {
    double a = formula.cubic;
    Value near = node.sub(node.mul(x, a + 2), a + 3);
    near = node.add(node.mul(node.mul(near, x), x), 1.0);
    Value far = node.sub(node.mul(x, a), 5 * a);
    far = node.add(node.mul(far, x), 8 * a);
    far = node.sub(node.mul(far, x), 4 * a);
    far = node.select(isLess(x, f64(2)), far, f64(0));
    return node.select(isLess(f64(1), x), far, near);
  }

  /// It is zero for nothing but what is extrapolated.
  void divideByTotal(SmallVectorImpl<Tap> &taps) {
    Value total = taps[0].weight;
    if (formula.antialias)
      total = node.reduce(total, {0}, graph::ReduceKind::Sum);
    for (const Tap &tap : ArrayRef(taps).drop_front())
      total = node.add(total, tap.weight);
    for (Tap &tap : taps)
      tap.weight = node.div(tap.weight, total);
  }

  NodeConverter &node;
  const ResizeFormula &formula;
  const ResizedAxis &axis;
  Value in, out, last; // Scalars.
  Value at;            // [out]
};

/// A tensor whose axes lie along `axis` and those behind it, to be broadcast.
Value along(NodeConverter &node, Value value, int64_t axis, int64_t rank) {
  Emitter::Exprs dims = node.dimsOf(value);
  dims.resize(rank - axis, node.size(1));
  return node.reshape(value, dims);
}

Value resized(NodeConverter &node, Value image, int64_t axis,
              ArrayRef<Tap> taps, Type sums) {
  int64_t rank = node.dimsOf(image).size();
  Value sum;
  for (const Tap &tap : taps) {
    Value picked = node.gather(image, tap.element, axis);
    if (node.failed() || !tap.weight)
      return picked;
    bool isAll = node.dimsOf(tap.element).size() == 2;
    Value part = node.mul(
        picked, along(node, node.cast(tap.weight, sums), axis, rank + isAll));
    if (isAll)
      part = node.reduce(part, {axis}, graph::ReduceKind::Sum, false);
    sum = sum ? node.add(sum, part) : part;
  }
  return sum;
}

} // namespace

Value resizedAxes(NodeConverter &node, Value image, ArrayRef<ResizedAxis> axes,
                  const ResizeFormula &formula) {
  Type element = node.elementOf(image);
  Emitter::Exprs dims = node.dimsOf(image);
  bool isSum = formula.mode != graph::ResizeMode::Nearest;
  Type sums = node.computedType(element);
  Value result = isSum ? node.cast(image, sums) : image, outside;
  for (const ResizedAxis &axis : axes) {
    if (node.failed())
      return {};
    AxisFormula places(node, dims[axis.axis], axis, formula);
    Value beyond = axis.start ? along(node, places.isOutside(), axis.axis,
                                      int64_t(dims.size()))
                              : Value();
    if (outside && beyond)
      beyond = node.emit<graph::OrOp>({outside, beyond});
    outside = beyond ? beyond : outside;
    result = resized(node, result, axis.axis, places.taps(), sums);
  }
  if (outside)
    result = node.select(
        outside, node.scalar(node.elementOf(result), formula.extrapolation),
        result);
  return node.cast(result, element);
}

} // namespace tenon
