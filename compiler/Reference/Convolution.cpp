//===- Convolution.cpp - Convolutions as matrix products ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A column matrix holds, for a run of positions, the inputs under every tap of
// the filter; conv multiplies the filter by it, conv_transpose makes it and
// adds its columns up where they fall.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

/// Elements of a column matrix at a time.
constexpr int64_t maxColumns = 1 << 21;

struct Geometry {
  ArrayRef<int64_t> strides, dilations;
  Shape pads;
  /// Sizes of the image that windows slide over, of the filter, and of the
  /// grid of windows.
  ArrayRef<int64_t> image, taps, grid;
  int64_t images, group, imageChannels, gridChannels; // Channels per group.
  int64_t imageSize, tapCount, gridSize;

  int64_t runLength() const {
    int64_t height = std::max<int64_t>(1, imageChannels * tapCount);
    return std::clamp<int64_t>(maxColumns / height, 1,
                               std::max<int64_t>(1, gridSize));
  }
};

llvm::Error checkGeometry(const Geometry &geometry) {
  size_t spatial = geometry.strides.size();
  if (geometry.image.size() != spatial || geometry.taps.size() != spatial ||
      geometry.grid.size() != spatial || geometry.dilations.size() != spatial ||
      geometry.pads.size() != 2 * spatial)
    return fault("operands and attributes differ in spatial rank");
  for (size_t i = 0; i < spatial; ++i) {
    constexpr int64_t bound = int64_t(1) << 60;
    int64_t slide, reach;
    if (geometry.strides[i] < 1 || geometry.dilations[i] < 1)
      return fault("strides and dilations must be positive");
    if (llvm::MulOverflow(geometry.grid[i], geometry.strides[i], slide) ||
        llvm::MulOverflow(geometry.taps[i], geometry.dilations[i], reach) ||
        slide > bound || reach > bound || geometry.pads[i] > bound ||
        geometry.pads[i] < -bound)
      return fault("the windows reach beyond 64 bits");
  }
  return llvm::Error::success();
}

/// For each tap and each window of a run, calls `body(tap, i, offset)` with the
/// offset in the image of what window `first + i` has under the tap; windows
/// that lie beyond the border there are left out.
template <typename Body>
void forEachTap(const Geometry &g, int64_t first, int64_t length, Body body) {
  size_t spatial = g.strides.size();
  Shape imageStrides = stridesOf(g.image), gridStrides = stridesOf(g.grid);
  Shape tap(spatial, 0), window(spatial);
  for (int64_t t = 0; t < g.tapCount; ++t, step(tap, g.taps)) {
    for (size_t axis = 0; axis < spatial; ++axis)
      window[axis] = first / gridStrides[axis] % g.grid[axis];
    for (int64_t i = 0; i < length; ++i, step(window, g.grid)) {
      int64_t offset = 0;
      bool isInside = true;
      for (size_t axis = 0; axis < spatial; ++axis) {
        int64_t at = window[axis] * g.strides[axis] +
                     tap[axis] * g.dilations[axis] - g.pads[axis];
        isInside &= at >= 0 && at < g.image[axis];
        offset += at * imageStrides[axis];
      }
      if (isInside)
        body(t, i, offset);
    }
  }
}

/// result[n, m, o] += filter[m, c, k] * input[n, c, at(o, k)]
template <typename Word>
void convolve(const Geometry &g, const Word *input, const Word *filter,
              Word *result) {
  int64_t height = g.imageChannels * g.tapCount, run = g.runLength();
  std::vector<Word> columns(height * run);
  for (int64_t n = 0; n < g.images * g.group; ++n) {
    const Word *from = input + n * g.imageChannels * g.imageSize;
    const Word *weights = filter + n % g.group * g.gridChannels * height;
    Word *to = result + n * g.gridChannels * g.gridSize;
    for (int64_t first = 0; first < g.gridSize; first += run) {
      int64_t length = std::min(run, g.gridSize - first);
      std::fill(columns.begin(), columns.end(), Word(0));
      forEachTap(g, first, length, [&](int64_t t, int64_t i, int64_t offset) {
        for (int64_t c = 0; c < g.imageChannels; ++c)
          columns[(c * g.tapCount + t) * length + i] =
              from[c * g.imageSize + offset];
      });
      multiplyAdd(g.gridChannels, length, height, weights, columns.data(),
                  to + first, height, length, g.gridSize);
    }
  }
}

/// result[n, m, at(i, k)] += filter[c, m, k] * input[n, c, i]
template <typename Word>
void scatter(const Geometry &g, const Word *input, const Word *filter,
             Word *result) {
  int64_t height = g.imageChannels * g.tapCount, run = g.runLength();
  std::vector<Word> columns(height * run), turned(height * g.gridChannels);
  for (int64_t n = 0; n < g.images * g.group; ++n) {
    const Word *from = input + n * g.gridChannels * g.gridSize;
    const Word *weights = filter + n % g.group * g.gridChannels * height;
    Word *to = result + n * g.imageChannels * g.imageSize;
    for (int64_t c = 0; c < g.gridChannels; ++c)
      for (int64_t i = 0; i < height; ++i)
        turned[i * g.gridChannels + c] = weights[c * height + i];
    for (int64_t first = 0; first < g.gridSize; first += run) {
      int64_t length = std::min(run, g.gridSize - first);
      std::fill(columns.begin(), columns.end(), Word(0));
      multiplyAdd(height, length, g.gridChannels, turned.data(), from + first,
                  columns.data(), g.gridChannels, g.gridSize, length);
      forEachTap(g, first, length, [&](int64_t t, int64_t i, int64_t offset) {
        for (int64_t m = 0; m < g.imageChannels; ++m) {
          Word &sum = to[m * g.imageSize + offset];
          Word part = columns[(m * g.tapCount + t) * length + i];
          if constexpr (std::is_same_v<Word, int64_t>)
            sum = wrapAdd(sum, part);
          else
            sum += part;
        }
      });
    }
  }
}

llvm::Error runBoth(Call &call, const Geometry &g, bool isTransposed) {
  const Tensor &input = call.operands[0], &filter = call.operands[1];
  Tensor &result = call.make();
  if (!result.count() || !input.count() || !filter.count())
    return llvm::Error::success();
  if (result.isFloat()) {
    (isTransposed ? scatter<double>
                  : convolve<double>)(g, input.floats().data(),
                                      filter.floats().data(),
                                      result.writeFloats().data());
    call.round();
    return llvm::Error::success();
  }
  (isTransposed ? scatter<int64_t>
                : convolve<int64_t>)(g, input.ints().data(),
                                     filter.ints().data(),
                                     result.writeInts().data());
  IntKind kind = IntKind::of(result.element);
  for (int64_t &value : result.writeInts())
    value = kind.wrap(value);
  return llvm::Error::success();
}

/// `image` and `grid` are input and result, the other way when transposed.
template <typename ConvOp>
llvm::Error evaluateEither(Call &call, const Tensor &image, const Tensor &grid,
                           bool isTransposed) {
  auto op = cast<ConvOp>(call.op);
  auto pads = call.sizes(op.getPads());
  if (!pads)
    return pads.takeError();
  ArrayRef<int64_t> filter = call.operands[1].shape;
  int64_t group = op.getGroup();
  if (image.rank() < 2 || grid.rank() != image.rank() ||
      filter.size() != image.rank() || group < 1 ||
      image.shape[0] != grid.shape[0] || image.shape[1] % group ||
      grid.shape[1] % group || filter[0] != grid.shape[1] ||
      filter[1] != image.shape[1] / group)
    return fault("input " + str(call.operands[0].shape) + ", filter " +
                 str(filter) + " and result " + str(call.results[0].shape) +
                 " do not fit group " + std::to_string(group));
  Geometry g{op.getStrides(),
             op.getDilations(),
             std::move(*pads),
             ArrayRef(image.shape).drop_front(2),
             filter.drop_front(2),
             ArrayRef(grid.shape).drop_front(2),
             image.shape[0],
             group,
             image.shape[1] / group,
             grid.shape[1] / group,
             0,
             0,
             0};
  g.imageSize = countOf(g.image).value_or(0);
  g.tapCount = countOf(g.taps).value_or(0);
  g.gridSize = countOf(g.grid).value_or(0);
  if (auto error = checkGeometry(g))
    return error;
  return runBoth(call, g, isTransposed);
}

} // namespace

llvm::Error evaluateConv(Call &call) {
  auto evaluate = [](Call &call) {
    return evaluateEither<graph::ConvOp>(call, call.operands[0],
                                         call.results[0], false);
  };
  if (cast<graph::ConvOp>(call.op).getChannelsLast())
    return evaluateChannelsLast(call, evaluate);
  return evaluate(call);
}

llvm::Error evaluateConvTranspose(Call &call) {
  return evaluateEither<graph::ConvTransposeOp>(call, call.results[0],
                                                call.operands[0], true);
}

} // namespace tenon::reference
