//===- OnnxSampling.cpp - AffineGrid, GridSample and DeformConv -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/SampledPixels.h"
#include "compiler/Import/Windows.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// The places of so many pixels from -1 to 1, which are the outermost pixels'
/// middles or edges, as axis `axis` of a tensor of that rank.
Value gridAxis(NodeConverter &node, Expr size, int64_t axis, int64_t rank,
               bool endsAtMiddle, Type element) {
  Value count = node.sizeScalar(size, element);
  Value pixels = node.cast(node.iota(size, node.integer(64)), element);
  Value steps = endsAtMiddle ? node.maximum(node.sub(count, 1.0), 1.0) : count;
  Value places = node.sub(node.add(node.mul(pixels, 2.0), 1.0), count);
  Emitter::Exprs shape(size_t(rank), node.size(1));
  shape[size_t(axis)] = size;
  return node.reshape(node.div(places, steps), shape);
}

/// Matrices [N, d, d + 1] times the places (x, y, z, 1) of all pixels of images
/// [N, C, sizes]: [N, sizes, d].
LogicalResult convertAffineGrid(NodeConverter &node) {
  Value theta = node.input(0);
  Emitter::Exprs sizes = node.readSizes(node.input(1));
  bool endsAtMiddle = node.flagAttr("align_corners", false);
  if (node.failed() || failed(node.expectRank(theta, 3, "theta")))
    return failure();
  if (sizes.size() != 4 && sizes.size() != 5)
    return node.invalid("size must have 4 or 5 numbers");
  int64_t axes = int64_t(sizes.size()) - 2, rank = axes + 2;
  node.expectDims(theta, {sizes[0], node.size(axes), node.size(axes + 1)},
                  "theta");
  if (node.failed())
    return failure();
  Type element = node.computedType(node.elementOf(theta));
  Value wide = node.cast(theta, element);
  Emitter::Exprs numbers(size_t(rank), node.size(1));
  numbers.front() = sizes[0];
  numbers.back() = node.size(axes);
  auto column = [&](int64_t i) {
    return node.reshape(node.slice(wide, 2, node.size(i), node.size(1)),
                        numbers);
  };
  Value grid = column(axes);
  for (int64_t i = 0; i < axes; ++i) { // x is the innermost axis.
    Value places = gridAxis(node, sizes[size_t(rank - 1 - i)], axes - i, rank,
                            endsAtMiddle, element);
    grid = node.add(grid, node.mul(column(i), places));
  }
  return node.output(node.cast(grid, node.elementOf(theta)));
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

/// Modes have other names since opset 20.
std::optional<Sampling> readSampling(NodeConverter &node) {
  Sampling sampling;
  std::string mode = node.stringAttr("mode", "linear");
  std::string outside = node.stringAttr("padding_mode", "zeros");
  sampling.endsAtMiddle = node.flagAttr("align_corners", false);
  auto interpolation = llvm::StringSwitch<std::optional<Interpolation>>(mode)
                           .Case("nearest", Interpolation::Nearest)
                           .Cases({"linear", "bilinear"}, Interpolation::Linear)
                           .Cases({"cubic", "bicubic"}, Interpolation::Cubic)
                           .Default(std::nullopt);
  auto border = llvm::StringSwitch<std::optional<Outside>>(outside)
                    .Case("zeros", Outside::Zeros)
                    .Case("border", Outside::Edge)
                    .Case("reflection", Outside::Mirror)
                    .Default(std::nullopt);
  if (!interpolation)
    (void)node.invalid("mode must be nearest, linear or cubic, not '" + mode +
                       "'");
  if (!border)
    (void)node.invalid(
        "padding_mode must be zeros, border or reflection, not '" + outside +
        "'");
  if (node.failed())
    return std::nullopt;
  sampling.interpolation = *interpolation;
  sampling.outside = *border;
  return sampling;
}

/// Places from -1 to 1 in pixels of an axis of `size`.
Value inPixels(NodeConverter &node, Value places, Expr size,
               bool endsAtMiddle) {
  Value count = node.sizeScalar(size, node.elementOf(places));
  Value from = node.add(places, 1.0);
  if (endsAtMiddle)
    return node.mul(node.div(from, 2.0), node.sub(count, 1.0));
  return node.div(node.sub(node.mul(from, count), 1.0), 2.0);
}

LogicalResult convertGridSample(NodeConverter &node) {
  Value x = node.input(0), grid = node.input(1);
  Emitter::Exprs dims = node.dimsOf(x);
  std::optional<Sampling> sampling = readSampling(node);
  if (!sampling || node.failed())
    return failure();
  size_t rank = dims.size();
  if (rank < 3 || rank > 5)
    return node.unsupported("images of " + Twine(int64_t(rank) - 2) +
                                " axes are not sampled",
                            "use images of 1 to 3 axes");
  if (failed(node.expectRank(grid, int64_t(rank), "the grid")))
    return failure();
  Emitter::Exprs places = node.dimsOf(grid);
  int64_t axes = int64_t(rank) - 2;
  node.require(places.back(), Relation::Equal, node.size(axes),
               "the grid must have one number per axis of the image");
  node.require(places[0], Relation::Equal, dims[0],
               "there must be one grid per image");
  Type element = node.computedType(node.elementOf(x));
  Emitter::Exprs outer(places.begin() + 1, places.end() - 1);
  grid = node.reshape(
      node.cast(grid, element),
      {dims[0], graph::product(node.context(), outer), node.size(axes)});
  SmallVector<Value> at;
  for (int64_t i = 0; i < axes; ++i) {
    // The last axis of the image comes first.
    Value column = node.slice(grid, 2, node.size(axes - 1 - i), node.size(1));
    at.push_back(inPixels(node, node.squeeze(column, 2), dims[2 + i],
                          sampling->endsAtMiddle));
  }
  Value sampled = sampledPixels(node, node.cast(x, element), at, *sampling);
  Emitter::Exprs to = {dims[0], dims[1]};
  llvm::append_range(to, outer);
  return node.output(node.cast(
      node.reshape(node.transpose(sampled, {0, 2, 1}), to), node.elementOf(x)));
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

/// The sizes of a deformable convolution: N images, C channels, M filters of
/// `taps` taps each, windows at `height` x `width` places.
struct Deformed {
  Windows windows;
  Expr images, channels, filters, taps, height, width;
  int64_t groups, offsetGroups;

  Expr places() const { return height * width; }
};

std::optional<Deformed> readDeformed(NodeConverter &node, Value x,
                                     Value filter) {
  if (failed(node.expectRank(x, 4, "the image")) ||
      failed(node.expectRank(filter, 4, "the filter")))
    return std::nullopt;
  Emitter::Exprs dims = node.dimsOf(x), taps = node.dimsOf(filter);
  Deformed sizes;
  sizes.windows = readWindows(node, dims, {taps[2], taps[3]});
  Emitter::Exprs counts = countWindows(node, sizes.windows);
  sizes.groups = node.intAttr("group", 1);
  sizes.offsetGroups = node.intAttr("offset_group", 1);
  if (!node.failed() &&
      (sizes.groups < 1 || sizes.groups > INT32_MAX || sizes.offsetGroups < 1 ||
       sizes.offsetGroups > INT32_MAX))
    (void)node.invalid("group and offset_group must be positive");
  if (node.failed())
    return std::nullopt;
  sizes.images = dims[0];
  sizes.channels = dims[1];
  sizes.filters = taps[0];
  sizes.taps = taps[2] * taps[3];
  sizes.height = counts[0];
  sizes.width = counts[1];
  node.require(taps[1] * sizes.groups, Relation::Equal, dims[1],
               "channels of the input must be those of the filter times group");
  for (int64_t groups : {sizes.groups, sizes.offsetGroups})
    node.require(node.size(groups), Relation::Divides, dims[1],
                 "group and offset_group must divide the channels");
  node.require(node.size(sizes.groups), Relation::Divides, taps[0],
               "group must divide the filters");
  return sizes;
}

/// Where taps lie without an offset along axis `i`: `kernel` taps and `count`
/// windows, [kernel, count].
Value evenPlaces(NodeConverter &node, const Windows &windows, size_t i,
                 Expr count, Type element) {
  Type index = node.integer(64);
  Value taps = node.mul(node.iota(windows.kernel[i], index),
                        double(windows.dilations[i]));
  Value starts =
      node.sub(node.mul(node.iota(count, index), double(windows.strides[i])),
               node.sizeScalar(windows.low[i]));
  return node.cast(node.add(node.unsqueeze(taps, {1}), starts), element);
}

/// The places of all taps of all windows along one axis, offsets added: [N *
/// offset groups, taps * places].
Value deformedPlaces(NodeConverter &node, const Deformed &sizes, Value offset,
                     size_t i) {
  const Windows &windows = sizes.windows;
  Type element = node.elementOf(offset);
  Value even = evenPlaces(node, windows, i, i == 0 ? sizes.height : sizes.width,
                          element);
  // Of [kernel height, kernel width, height, width], two axes each.
  even = node.unsqueeze(even, i == 0 ? ArrayRef<int64_t>{1, 3}
                                     : ArrayRef<int64_t>{0, 2});
  Expr batch = sizes.images * sizes.offsetGroups;
  Value own = node.slice(
      node.reshape(offset, {batch, sizes.taps, node.size(2), sizes.places()}),
      2, node.size(int64_t(i)), node.size(1));
  own = node.reshape(own, {batch, windows.kernel[0], windows.kernel[1],
                           sizes.height, sizes.width});
  return node.reshape(node.add(own, even),
                      {batch, sizes.taps * sizes.places()});
}

/// Rows of what each window reads times the filters, group by group: [N, M,
/// height, width].
Value groupedProduct(NodeConverter &node, const Deformed &sizes, Value read,
                     Value filter) {
  Expr groups = node.size(sizes.groups);
  Expr depth = sizes.channels.floorDiv(groups),
       filters = sizes.filters.floorDiv(groups);
  // [N, places, taps, channels] -> [N, group, places, taps * depth]
  read = node.reshape(
      read, {sizes.images, sizes.places(), sizes.taps, groups, depth});
  read =
      node.reshape(node.transpose(read, {0, 3, 1, 2, 4}),
                   {sizes.images, groups, sizes.places(), sizes.taps * depth});
  filter = node.reshape(filter, {groups, filters, depth, sizes.taps});
  filter = node.reshape(node.transpose(filter, {0, 3, 2, 1}),
                        {groups, sizes.taps * depth, filters});
  Value y = node.transpose(node.matmul(read, filter), {0, 1, 3, 2});
  return node.reshape(y,
                      {sizes.images, sizes.filters, sizes.height, sizes.width});
}

/// `each` numbers per tap of each window: [N, offset groups * taps * each,
/// height, width].
LogicalResult expectPerTap(NodeConverter &node, const Deformed &sizes,
                           Value value, int64_t each, StringRef what) {
  if (failed(node.expectRank(value, 4, what)))
    return failure();
  Expr wanted[] = {sizes.images, sizes.taps * sizes.offsetGroups * each,
                   sizes.height, sizes.width};
  for (size_t i = 0; i < 4; ++i)
    node.require(node.dimOf(value, i), Relation::Equal, wanted[i],
                 what + Twine(" must have its numbers for each tap"));
  return node.result();
}

LogicalResult convertDeformConv(NodeConverter &node) {
  Value x = node.input(0), filter = node.input(1), offset = node.input(2);
  Value bias = node.optionalInput(3), mask = node.optionalInput(4);
  Type element = node.computedType(node.elementOf(x));
  std::optional<Deformed> sizes = readDeformed(node, x, filter);
  if (!sizes || node.failed() ||
      failed(expectPerTap(node, *sizes, offset, 2, "the offset")) ||
      (mask && failed(expectPerTap(node, *sizes, mask, 1, "the mask"))))
    return failure();
  Expr groups = node.size(sizes->offsetGroups);
  Expr batch = sizes->images * sizes->offsetGroups;
  Expr depth = sizes->channels.floorDiv(groups);
  Emitter::Exprs dims = node.dimsOf(x);
  offset = node.cast(offset, element);
  // The channels that share offsets are images of their own.
  Value images =
      node.reshape(node.cast(x, element), {batch, depth, dims[2], dims[3]});
  Value places[] = {deformedPlaces(node, *sizes, offset, 0),
                    deformedPlaces(node, *sizes, offset, 1)};
  Value read = sampledPixels(node, images, places, Sampling());
  if (mask)
    read = node.mul(read, node.reshape(node.cast(mask, element),
                                       {batch, sizes->taps * sizes->places(),
                                        node.size(1)}));
  read = node.reshape(
      read, {sizes->images, groups, sizes->taps, sizes->places(), depth});
  read = node.reshape(
      node.transpose(read, {0, 3, 2, 1, 4}),
      {sizes->images, sizes->places(), sizes->taps, sizes->channels});
  Value y = groupedProduct(node, *sizes, read, node.cast(filter, element));
  if (bias)
    y = node.add(y, node.unsqueeze(node.cast(bias, element), {1, 2}));
  return node.output(node.cast(y, node.elementOf(x)));
}

} // namespace

ArrayRef<OpRow> samplingRows() {
  static constexpr OpRow rows[] = {
      {"", "AffineGrid", {20}, convertAffineGrid},
      {"", "DeformConv", {19, 22}, convertDeformConv},
      {"", "GridSample", {16, 20, 22}, convertGridSample},
      {"com.microsoft", "GridSample", {1}, convertGridSample},
  };
  return rows;
}

} // namespace tenon
