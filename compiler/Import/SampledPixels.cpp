//===- SampledPixels.cpp - Pixels at places between them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/SampledPixels.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// The pixels around each place along one axis, and what each counts.
struct Taps {
  SmallVector<Value> pixels;  // i64 [N, P], inside of the image
  SmallVector<Value> weights; // [N, P]; null for 1
};

/// One axis of an image: pixels 0 to `last`, which reach from `low` to `high`.
struct Axis {
  Value last, low, high; // Scalars in the type of the places.
};

Axis axisOf(NodeConverter &node, Expr size, Type element, bool endsAtMiddle) {
  Value count = node.sizeScalar(size, element);
  Value last = node.sub(count, 1.0);
  return endsAtMiddle
             ? Axis{last, node.scalar(element, 0), last}
             : Axis{last, node.scalar(element, -0.5), node.sub(count, 0.5)};
}

Value less(NodeConverter &node, Value lhs, Value rhs) {
  return node.emit<graph::LessOp>({lhs, rhs});
}

Value isOutside(NodeConverter &node, Value at, Value low, Value high) {
  return node.emit<graph::OrOp>({less(node, at, low), less(node, high, at)});
}

Value onImage(NodeConverter &node, const Axis &axis, Value at) {
  return node.minimum(node.maximum(at, 0.0), axis.last);
}

/// Back and forth between the ends of the image.
Value mirrored(NodeConverter &node, const Axis &axis, Value at) {
  // An image of one pixel has no way to go.
  Value range = node.maximum(node.sub(axis.high, axis.low), 1.0);
  Value period = node.mul(range, 2.0);
  Value way = node.emit<graph::AbsOp>({node.sub(at, axis.low)});
  Value rounds = node.emit<graph::FloorOp>({node.div(way, period)});
  Value rest = node.sub(way, node.mul(rounds, period));
  rest = node.minimum(rest, node.sub(period, rest));
  return node.add(rest, axis.low);
}

/// Where a place outside of the image is taken from.
Value movedInside(NodeConverter &node, const Axis &axis, Value at,
                  Outside outside) {
  if (outside == Outside::Zeros)
    return at;
  Value moved = outside == Outside::Edge ? onImage(node, axis, at)
                                         : mirrored(node, axis, at);
  return node.select(isOutside(node, at, axis.low, axis.high), moved, at);
}

/// ((a x + b) x + c) x + d
Value cubic(NodeConverter &node, Value x, double a, double b, double c,
            double d) {
  Value sum = node.add(node.mul(x, a), b);
  sum = node.add(node.mul(sum, x), c);
  return node.add(node.mul(sum, x), d);
}

/// What the four pixels around a place count, `x` behind the second: the cubic
/// convolution with a = -3/4.
SmallVector<Value> cubicWeights(NodeConverter &node, Value x) {
  constexpr double a = -0.75;
  Value rest = node.sub(node.scalar(node.elementOf(x), 1), x);
  auto far = [&](Value y) { return cubic(node, y, a, -2 * a, a, 0); };
  auto near = [&](Value y) { return cubic(node, y, a + 2, -a - 3, 0, 1); };
  return {far(x), near(x), near(rest), far(rest)};
}

Taps tapsAlong(NodeConverter &node, Value at, const Axis &axis,
               const Sampling &sampling) {
  Taps taps;
  if (sampling.interpolation == Interpolation::Nearest)
    at = node.emit<graph::RoundOp>({at});
  // A cubic goes on outside, as in PyTorch: its pixels alone are moved.
  if (sampling.interpolation != Interpolation::Cubic)
    at = movedInside(node, axis, at, sampling.outside);
  Value first = at;
  int64_t before = 0;
  if (sampling.interpolation == Interpolation::Nearest) {
    taps.weights = {Value()};
  } else {
    first = node.emit<graph::FloorOp>({at});
    Value share = node.sub(at, first);
    if (sampling.interpolation == Interpolation::Cubic) {
      before = 1;
      taps.weights = cubicWeights(node, share);
    } else {
      Value one = node.scalar(node.elementOf(at), 1);
      taps.weights = {node.sub(one, share), share};
    }
  }
  if (node.failed())
    return taps;
  for (auto [i, weight] : llvm::enumerate(taps.weights)) {
    Value pixel = node.add(first, double(int64_t(i) - before));
    Type element = node.elementOf(pixel);
    if (sampling.outside == Outside::Mirror)
      pixel = mirrored(node, axis, pixel);
    if (sampling.outside == Outside::Zeros)
      weight = node.select(
          isOutside(node, pixel, node.scalar(element, 0), axis.last),
          node.scalar(element, 0), weight ? weight : node.scalar(element, 1));
    taps.pixels.push_back(
        node.cast(onImage(node, axis, pixel), node.integer(64)));
  }
  return taps;
}

/// What is known of all axes before the one that is combined next.
struct Combination {
  Value place;  // i64 [N, P], of the pixels of all images
  Value weight; // [N, P]; null for 1
};

/// Images as rows of channels, with the taps along each axis.
struct Samples {
  Value rows; // [N * pixels, C]
  SmallVector<Taps> axes;
  SmallVector<Value> sizes; // i64 scalars

  /// The sum over all taps of the axes from `i` on.
  Value sum(NodeConverter &node, const Combination &before, size_t i) const {
    if (node.failed())
      return {};
    if (i == axes.size()) {
      Value picked = node.gather(rows, before.place);
      return before.weight ? node.mul(picked, node.unsqueeze(before.weight, 2))
                           : picked;
    }
    Value place = node.mul(before.place, sizes[i]), all;
    for (auto [pixel, weight] :
         llvm::zip_equal(axes[i].pixels, axes[i].weights)) {
      Value both = before.weight && weight ? node.mul(before.weight, weight)
                   : weight                ? weight
                                           : before.weight;
      Value part = sum(node, {node.add(place, pixel), both}, i + 1);
      all = all ? node.add(all, part) : part;
    }
    return all;
  }
};

} // namespace

Value sampledPixels(NodeConverter &node, Value images, ArrayRef<Value> places,
                    const Sampling &sampling) {
  Emitter::Exprs dims = node.dimsOf(images);
  if (node.failed())
    return {};
  Samples samples;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size())));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Expr pixels = graph::product(node.context(), ArrayRef(dims).drop_front(2));
  samples.rows =
      node.reshape(node.transpose(images, order), {dims[0] * pixels, dims[1]});
  for (auto [at, size] :
       llvm::zip_equal(places, ArrayRef(dims).drop_front(2))) {
    Axis axis = axisOf(node, size, node.elementOf(at), sampling.endsAtMiddle);
    samples.axes.push_back(tapsAlong(node, at, axis, sampling));
    samples.sizes.push_back(node.sizeScalar(size));
  }
  Value image = node.unsqueeze(node.iota(dims[0], node.integer(64)), {1});
  return samples.sum(node, {image, {}}, 0);
}

} // namespace tenon
