//===- FewMapsConv.cpp - Convolutions to a few maps -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As the last one of a network that gives masks, depths or colours. Maps do not
// fill a vector; channels do. The taps of a line of a window lie in a row with
// their channels, in the image as in the filter: vectors of products of both
// are added up for as many pixels and maps as there are lanes, and then each
// such vector becomes one number.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionVectors.h"
#include "compiler/Targets/Cpu/PixelLines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class FewMapsConv : PixelLines {
public:
  FewMapsConv(Emitter &e, graph::ConvOp op)
      : PixelLines(e, op), vectors(e, /*inF16=*/false) {
    auto type = cast<RankedTensorType>(op.getFilter().getType());
    maps = type.getDimSize(0);
    channels = type.getDimSize(1);
    elements = type.getNumElements() / maps;
    bool isDense = axes.back().dilation == 1;
    run = channels * (isDense ? type.getShape().back() : 1);
    inner = isDense ? 1 : 0;
  }

  void emit() {
    int64_t most = lanes / maps;
    SmallVector<int64_t> sizes = {most};
    if (most >= 8)
      sizes.push_back(most / 4);
    forPixels(sizes, [&](Value x, int64_t pixels) { emitPixels(x, pixels); });
  }

private:
  void emitPixels(Value x, int64_t pixels) {
    SmallVector<Taps> taps = tapsAt(x, pixels);
    Sums total(pixels * maps, zero());
    total = forTaps(taps, inner, total,
                    [&](Value pixel, Value tap, ValueRange before) {
                      return addLine(pixel, tap, taps.back(), pixels, before);
                    });
    // In one order for any number of pixels.
    total.append(lanes - total.size(), zero());
    LLVM::StoreOp::create(e.b, vectors.sumEach(total), sums, /*alignment=*/4);
    storePixels(x, pixels, maps);
  }

  /// Adds the products of a line of the window, or where taps do not lie in a
  /// row, of one of them.
  Sums addLine(Value pixel, Value tap, const Taps &taps, int64_t pixels,
               ValueRange before) {
    Value length = e.number(run);
    if (inner) {
      const WindowAxis &axis = axes.back();
      pixel = e.add(e.mul(pixel, axis.size), e.add(taps.start, taps.from));
      tap = e.add(e.mul(tap, axis.taps), taps.from);
      if (pixels == 1)
        length = e.mul(e.sub(taps.to, taps.from), e.number(channels));
    }
    Value from = element(input, e.mul(pixel, e.number(channels)));
    Value weights = element(filter, e.mul(tap, e.number(channels)));
    Value whole = e.sub(length, e.rem(length, e.number(lanes)));
    Sums after = e.loop(
        e.number(0), whole, before,
        [&](Value at, ValueRange sofar) {
          return addProducts(element(from, at), element(weights, at), Value(),
                             sofar);
        },
        lanes);
    if (run % lanes == 0 && channels % lanes == 0)
      return after;
    return e.loop(
        whole, length, after,
        [&](Value at, ValueRange sofar) {
          return addProducts(element(from, at), element(weights, at),
                             vectors.isBelow(vector, e.sub(length, at)), sofar);
        },
        lanes);
  }

  Sums addProducts(Value from, Value weights, Value mask, ValueRange before) {
    SmallVector<Value> factors;
    for (int64_t m = 0; m < maps; ++m)
      factors.push_back(load(element(weights, e.number(m * elements)), mask));
    int64_t step = axes.back().stride * channels;
    Sums after;
    for (size_t i = 0; i < before.size(); i += maps) {
      Value x = load(element(from, e.number(int64_t(i) / maps * step)), mask);
      for (int64_t m = 0; m < maps; ++m)
        after.push_back(LLVM::FMAOp::create(e.b, x, factors[m], before[i + m]));
    }
    return after;
  }

  AttentionVectors vectors;
  // Elements of a map's filter, and of what lies in a row of it.
  int64_t maps, channels, elements, run;
  size_t inner; // Axes along which that row goes.
};

} // namespace

LogicalResult emitFewMapsConv(Emitter &e) {
  graph::ConvOp op = rootConvOf(e);
  if (!op)
    return e.kernel.emitOpError("is no convolution of two operands");
  FewMapsConv(e, op).emit();
  return success();
}

} // namespace tenon::cpu
