//===- DepthwiseConv.cpp - Convolutions of each channel by itself ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some vectors of the channels of a pixel, or of several side by side, are
// summed in registers at a time over the taps that lie inside of the image, and
// wait in scratch memory for what follows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PixelLines.h"
#include "dialects/Kernel/ConvDepth.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::tilePixels;

class DepthwiseConv : PixelLines {
public:
  DepthwiseConv(Emitter &e, graph::ConvOp op)
      : PixelLines(e, op),
        channels(
            cast<RankedTensorType>(op.getFilter().getType()).getDimSize(0)) {}

  void emit() {
    forPixels({tilePixels},
              [&](Value x, int64_t pixels) { emitPixels(x, pixels); });
  }

private:
  /// Pixels side by side, and vectors of their channels from `channel` on.
  struct Tile {
    int64_t pixels, vectors;
    Value channel, mask;
  };

  void emitPixels(Value x, int64_t pixels) {
    SmallVector<Taps> taps = tapsAt(x, pixels);
    int64_t vectors = channels / lanes, wide = vectors / 4 * 4;
    e.loop(
        e.number(0), e.number(wide * lanes),
        [&](Value c) { emitTile(taps, {pixels, 4, c, Value()}); }, 4 * lanes);
    e.loop(
        e.number(wide * lanes), e.number(vectors * lanes),
        [&](Value c) { emitTile(taps, {pixels, 1, c, Value()}); }, lanes);
    if (int64_t rest = channels % lanes)
      emitTile(taps, {pixels, 1, e.number(vectors * lanes), maskOf(rest)});
    storePixels(x, pixels, channels);
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
    SmallVector<Value> total(tile.pixels * tile.vectors, zero());
    total = forTaps(taps, /*inner=*/0, total,
                    [&](Value pixel, Value tap, ValueRange before) {
                      return addProducts(pixel, tap, tile, before);
                    });
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

  int64_t channels;
};

} // namespace

LogicalResult emitDepthwiseConv(Emitter &e) {
  graph::ConvOp op = rootConvOf(e);
  if (!op)
    return e.kernel.emitOpError("is no convolution of two operands");
  DepthwiseConv(e, op).emit();
  return success();
}

} // namespace tenon::cpu
