//===- DepthwiseConv.cpp - Convolutions of each channel by itself ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is a pixel of the result. Some vectors of the channels of a pixel, or
// of several side by side, are summed in registers at a time over the taps that
// lie inside of the image, and wait in scratch memory for what follows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Windows.h"
#include "dialects/Kernel/ConvDepth.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::tilePixels;

class DepthwiseConv {
public:
  DepthwiseConv(Emitter &e, graph::ConvOp op)
      : e(e), op(op), lanes(e.level.vectorBits / 32),
        channels(
            cast<RankedTensorType>(op.getFilter().getType()).getDimSize(0)),
        vector(VectorType::get({lanes}, e.b.getF32Type())) {
    auto type = cast<RankedTensorType>(op.getFilter().getType());
    SmallVector<Value> taps;
    for (int64_t size : type.getShape().drop_front(2))
      taps.push_back(e.number(size));
    axes = windowAxes(e, op.getStrides(), op.getDilations(), op.getPads(),
                      op.getInput(), op.getResult(), taps, /*first=*/1);
    auto bufferOf = [&](Value operand) {
      return e.argumentBuffer(cast<BlockArgument>(operand).getArgNumber());
    };
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    sums = e.scratch(0);
  }

  void emit() {
    Indices dims = e.dimsOf(op.getResult());
    Value width = e.max(dims[dims.size() - 2], e.number(1));
    Value lineEnd = e.ceilDiv(e.end, width);
    e.loop(e.div(e.begin, width), lineEnd, [&](Value line) {
      firstRow = e.mul(line, width);
      Value from = e.sub(e.max(e.begin, firstRow), firstRow);
      Value to = e.min(e.sub(e.end, firstRow), width);
      lead = e.delinearise(line, ArrayRef(dims).drop_back(2));
      emitLine(from, to);
    });
  }

private:
  /// The taps [from, to) of an axis that lie inside, and where tap 0 would.
  struct Taps {
    Value from, to, start;
  };

  /// Pixels side by side, and vectors of their channels from `channel` on.
  struct Tile {
    int64_t pixels, vectors;
    Value channel, mask;
  };

  Taps tapsOf(const WindowAxis &axis, Value o) {
    Value start = e.sub(e.mul(o, e.number(axis.stride)), axis.low);
    auto reach = [&](Value limit) { // ceil(limit / dilation) in [0, taps]
      Value up = e.add(e.max(limit, e.number(0)), e.number(axis.dilation - 1));
      return e.min(axis.taps, e.div(up, e.number(axis.dilation)));
    };
    return {reach(e.sub(e.number(0), start)), reach(e.sub(axis.size, start)),
            start};
  }

  /// Pixels [from, to) of a line: by themselves near the borders, several at a
  /// time where all taps of the line's axis lie inside.
  void emitLine(Value from, Value to) {
    const WindowAxis &axis = axes.back();
    Value stride = e.number(axis.stride), none = e.number(0);
    Value reach = e.mul(e.sub(axis.taps, e.number(1)), e.number(axis.dilation));
    Value most = e.sub(e.add(axis.size, axis.low), e.add(reach, e.number(1)));
    Value first = e.ceilDiv(e.max(axis.low, none), stride);
    Value behind = e.floorDiv(e.add(most, stride), stride);
    first = e.min(e.max(first, from), to);
    behind = e.max(e.min(behind, to), first);
    Value several = e.number(tilePixels);
    Value last =
        e.add(first, e.mul(e.div(e.sub(behind, first), several), several));
    e.loop(from, first, [&](Value x) { emitPixels(x, 1); });
    e.loop(
        first, last, [&](Value x) { emitPixels(x, tilePixels); }, tilePixels);
    e.loop(last, to, [&](Value x) { emitPixels(x, 1); });
  }

  void emitPixels(Value x, int64_t pixels) {
    SmallVector<Taps> taps;
    for (auto [i, axis] : llvm::enumerate(ArrayRef(axes).drop_back()))
      taps.push_back(tapsOf(axis, lead[1 + i]));
    taps.push_back(tapsOf(axes.back(), x));
    if (pixels > 1) {
      taps.back().from = e.number(0);
      taps.back().to = axes.back().taps;
    }
    int64_t vectors = channels / lanes, wide = vectors / 4 * 4;
    e.loop(
        e.number(0), e.number(wide * lanes),
        [&](Value c) { emitTile(taps, {pixels, 4, c, Value()}); }, 4 * lanes);
    e.loop(
        e.number(wide * lanes), e.number(vectors * lanes),
        [&](Value c) { emitTile(taps, {pixels, 1, c, Value()}); }, lanes);
    if (int64_t rest = channels % lanes)
      emitTile(taps, {pixels, 1, e.number(vectors * lanes), maskOf(rest)});
    for (int64_t i = 0; i < pixels; ++i) {
      Value at = e.add(x, e.number(i)), waits = e.number(i * channels);
      Indices index = lead;
      index.push_back(at);
      e.storeRow(op, index, e.add(firstRow, at), e.number(channels),
                 [&](Value c) {
                   return e.loadRaw(sums, e.b.getF32Type(), e.add(waits, c));
                 });
    }
  }

  Value maskOf(int64_t count) {
    SmallVector<bool> isThere;
    for (int64_t i = 0; i < lanes; ++i)
      isThere.push_back(i < count);
    return arith::ConstantOp::create(
        e.b, DenseElementsAttr::get(VectorType::get({lanes}, e.b.getI1Type()),
                                    isThere));
  }

  void emitTile(ArrayRef<Taps> taps, const Tile &tile) {
    Value zero =
        arith::ConstantOp::create(e.b, SplatElementsAttr::get(vector, 0.0f));
    SmallVector<Value> total(tile.pixels * tile.vectors, zero);
    total = visit(taps, 0, lead[0], e.number(0), tile, total);
    for (auto [i, sum] : llvm::enumerate(total)) {
      int64_t pixel = i / tile.vectors, v = i % tile.vectors;
      Value at = element(
          sums, e.add(tile.channel, e.number(pixel * channels + v * lanes)));
      if (tile.mask)
        LLVM::MaskedStoreOp::create(e.b, sum, at, tile.mask, /*alignment=*/4);
      else
        LLVM::StoreOp::create(e.b, sum, at, /*alignment=*/4);
    }
  }

  /// Adds what taps contribute of the axes from `axis` on, to a pixel of the
  /// input and a tap known up to there.
  SmallVector<Value> visit(ArrayRef<Taps> taps, size_t axis, Value pixel,
                           Value tap, const Tile &tile, ValueRange before) {
    if (axis == axes.size())
      return addProducts(pixel, tap, tile, before);
    const WindowAxis &window = axes[axis];
    return e.loop(
        taps[axis].from, taps[axis].to, before, [&](Value i, ValueRange sofar) {
          Value at =
              e.add(taps[axis].start, e.mul(i, e.number(window.dilation)));
          return visit(taps, axis + 1, e.add(e.mul(pixel, window.size), at),
                       e.add(e.mul(tap, window.taps), i), tile, sofar);
        });
  }

  SmallVector<Value> addProducts(Value pixel, Value tap, const Tile &tile,
                                 ValueRange before) {
    Value width = e.number(channels);
    Value from = e.add(e.mul(pixel, width), tile.channel);
    Value weights = e.add(e.mul(tap, width), tile.channel);
    SmallVector<Value> factors, after;
    for (int64_t v = 0; v < tile.vectors; ++v)
      factors.push_back(load(
          element(filter, e.add(weights, e.number(v * lanes))), tile.mask));
    int64_t step = axes.back().stride * channels;
    for (auto [i, sum] : llvm::enumerate(before)) {
      int64_t pixel = i / tile.vectors, v = i % tile.vectors;
      Value at =
          element(input, e.add(from, e.number(pixel * step + v * lanes)));
      after.push_back(
          LLVM::FMAOp::create(e.b, load(at, tile.mask), factors[v], sum));
    }
    return after;
  }

  Value load(Value at, Value mask) {
    if (!mask)
      return LLVM::LoadOp::create(e.b, vector, at, /*alignment=*/4);
    Value zero =
        arith::ConstantOp::create(e.b, SplatElementsAttr::get(vector, 0.0f));
    return LLVM::MaskedLoadOp::create(e.b, vector, at, mask, zero,
                                      /*alignment=*/4);
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  Emitter &e;
  graph::ConvOp op;
  int64_t lanes, channels;
  VectorType vector;
  SmallVector<WindowAxis> axes;
  Value input, filter, sums;
  // Of the current line of pixels.
  Value firstRow;
  Indices lead;
};

} // namespace

LogicalResult emitDepthwiseConv(Emitter &e) {
  auto op =
      dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(e.kernel.getBlock()));
  if (!op || !isa<BlockArgument>(op.getInput()) ||
      !isa<BlockArgument>(op.getFilter()))
    return e.kernel.emitOpError("is no convolution of two operands");
  DepthwiseConv(e, op).emit();
  return success();
}

} // namespace tenon::cpu
