//===- Depthwise.cpp - Convolutions of each channel -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has some channels that lie together, of some pixels side by side;
// neighbouring threads have the next channels. What a line of the image and of
// the filter gives is read once for all of its pixels, and sums stay in
// registers. Taps outside of the image are left out, those of a line by zeros.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/ConvTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using cpu::Emitter;
using cpu::Indices;
using kernel::ConvTilesAxis;
using Sums = SmallVector<Value>; // A vector of channels for each pixel.

class Depthwise {
public:
  Depthwise(Emitter &e, graph::ConvOp op, kernel::ConvTilesView of)
      : e(e), op(op), view(std::move(of)), lanes(view.lanes()),
        pixels(view.pixelsAtOnce()),
        vector(VectorType::get({lanes}, e.b.getF32Type())) {}

  void emit(Value position) {
    locate(position);
    Value zero =
        arith::ConstantOp::create(e.b, DenseElementsAttr::get(vector, 0.0f));
    Value offset = e.add(e.mul(place[0], e.valueOf(view.imageStep)), channel);
    Sums sums = sumLines(0, offset, e.number(0), Sums(pixels, zero));
    for (int64_t i = 0; i < pixels; ++i) {
      Value at = e.add(place.back(), e.number(i));
      e.ifThen(e.less(at, e.valueOf(line().count)),
               [&] { store(at, sums[i]); });
    }
  }

private:
  const ConvTilesAxis &line() const { return view.axes.back(); }

  /// The image, the place along each axis, of the first pixel, and the channel.
  void locate(Value position) {
    Value wide = e.number(view.groups / lanes);
    channel = e.mul(e.rem(position, wide), e.number(lanes));
    position = e.div(position, wide);
    Indices sizes = {e.valueOf(view.images)};
    for (const ConvTilesAxis &axis : ArrayRef(view.axes).drop_back())
      sizes.push_back(e.valueOf(axis.count));
    Value count = e.valueOf(line().count);
    sizes.push_back(e.ceilDiv(count, e.number(pixels)));
    place = e.delinearise(position, sizes);
    place.back() = e.mul(place.back(), e.number(pixels));
  }

  Value startOf(size_t axis) {
    return e.sub(e.mul(place[1 + axis], e.number(view.axes[axis].stride)),
                 e.valueOf(view.axes[axis].low));
  }

  /// Goes through the taps of an axis that lie inside, but for those of lines.
  Sums sumLines(size_t i, Value offset, Value tap, ValueRange sums) {
    if (i + 1 == view.axes.size())
      return sumLine(offset, e.mul(tap, e.number(line().taps)), sums);
    const ConvTilesAxis &axis = view.axes[i];
    Value start = startOf(i);
    // The first tap at or behind a position.
    auto tapAt = [&](Value position) {
      Value distance = e.max(e.sub(position, start), e.number(0));
      Value first = e.ceilDiv(distance, e.number(axis.dilation));
      return e.min(first, e.number(axis.taps));
    };
    return e.loop(
        tapAt(e.number(0)), tapAt(e.valueOf(axis.size)), sums,
        [&](Value inside, ValueRange carried) {
          Value at = e.add(start, e.mul(inside, e.number(axis.dilation)));
          return sumLines(i + 1, e.add(offset, e.mul(at, e.valueOf(axis.step))),
                          e.add(e.mul(tap, e.number(axis.taps)), inside),
                          carried);
        });
  }

  /// Lines whose windows end inside need no test of each pixel.
  Sums sumLine(Value offset, Value firstTap, ValueRange sums) {
    Value start = startOf(view.axes.size() - 1), size = e.valueOf(line().size);
    int64_t reach =
        (pixels - 1) * line().stride + (line().taps - 1) * line().dilation;
    Value isInside = e.both(e.less(e.number(-1), start),
                            e.less(e.add(start, e.number(reach)), size));
    Value once = e.select(isInside, e.number(1), e.number(0));
    Value isThere =
        e.select(e.less(e.number(0), size), e.number(1), e.number(0));
    Sums inside = e.loop(e.number(0), once, sums, [&](Value, ValueRange sofar) {
      return addLine(offset, start, Value(), firstTap, sofar);
    });
    return e.loop(once, isThere, inside, [&](Value, ValueRange sofar) {
      return addLine(offset, start, size, firstTap, sofar);
    });
  }

  /// Pixel by pixel of the image, its products with all taps that see it.
  Sums addLine(Value offset, Value start, Value size, Value firstTap,
               ValueRange before) {
    Sums sums(before);
    SmallVector<Value> taps(line().taps);
    for (int64_t i = 0; i < line().taps; ++i)
      taps[i] = loadVector(
          view.filter,
          e.add(e.mul(e.add(firstTap, e.number(i)), e.number(view.groups)),
                channel));
    int64_t last =
        (pixels - 1) * line().stride + (line().taps - 1) * line().dilation;
    for (int64_t at = 0; at <= last; ++at) {
      Value x;
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        int64_t distance = at - pixel * line().stride;
        if (distance < 0 || distance % line().dilation != 0 ||
            distance / line().dilation >= line().taps)
          continue;
        if (!x)
          x = loadPixel(offset, e.add(start, e.number(at)), size);
        sums[pixel] = cpu::emitMulAdd(e.b, taps[distance / line().dilation], x,
                                      sums[pixel]);
      }
    }
    return sums;
  }

  /// The channels of a pixel of a line; zeros where it is not in [0, size).
  Value loadPixel(Value offset, Value at, Value size) {
    Value isThere;
    if (size) {
      isThere = e.both(e.less(e.number(-1), at), e.less(at, size));
      at = e.select(isThere, at, e.number(0));
    }
    Value x =
        loadVector(view.image, e.add(offset, e.mul(at, e.number(view.pixels))));
    if (!isThere)
      return x;
    Value zero =
        arith::ConstantOp::create(e.b, DenseElementsAttr::get(vector, 0.0f));
    return arith::SelectOp::create(e.b, isThere, x, zero);
  }

  Value loadVector(BlockArgument from, Value offset) {
    Value at = e.address(e.argumentBuffer(from.getArgNumber()),
                         e.b.getF32Type(), offset);
    return LLVM::LoadOp::create(e.b, vector, at, lanes * 4);
  }

  /// What is yielded of a pixel, all its channels together.
  void store(Value pixel, Value sum) {
    Block &body = e.kernel.getBlock();
    Indices index = place;
    index.back() = pixel;
    index.push_back(channel);
    Value position = e.linearise(index, e.dimsOf(op.getResult()));
    auto i32 = [&](int64_t i) {
      return arith::ConstantIntOp::create(e.b, i, 32);
    };
    SmallVector<Indices> places(lanes, index);
    for (int64_t i = 0; i < lanes; ++i) {
      places[i].back() = e.add(channel, e.number(i));
      // As operands that broadcast see it.
      for (auto [axis, dim] : llvm::enumerate(graph::getDims(op.getResult())))
        if (dim.isConstant(1))
          places[i][axis] = e.number(0);
      e.bind(op.getResult(), places[i],
             LLVM::ExtractElementOp::create(e.b, sum, i32(i)));
    }
    for (auto [result, yielded] :
         llvm::enumerate(body.getTerminator()->getOperands())) {
      Type element = graph::getElementType(yielded);
      Type memory = e.memoryType(element);
      Value all = LLVM::PoisonOp::create(e.b, VectorType::get({lanes}, memory));
      for (int64_t i = 0; i < lanes; ++i) {
        Value one = e.element(kernel::behindReshapes(yielded), places[i]);
        all = LLVM::InsertElementOp::create(e.b, all, e.toMemory(one, element),
                                            i32(i));
      }
      LLVM::StoreOp::create(e.b, all,
                            e.address(e.resultBuffer(result), memory, position),
                            lanes * graph::byteWidth(element));
    }
  }

  Emitter &e;
  graph::ConvOp op;
  const kernel::ConvTilesView view;
  const int64_t lanes, pixels;
  const VectorType vector;
  Indices place;
  Value channel;
};

} // namespace

LogicalResult emitDepthwise(Emitter &e, Value position) {
  auto op = cast<graph::ConvOp>(kernel::findRoot(e.kernel.getBlock()));
  std::string why;
  std::optional<kernel::ConvTilesView> view = kernel::convTilesViewOf(op, why);
  if (!view)
    return op.emitOpError(why) << "; please report this";
  Depthwise(e, op, *view).emit(position);
  return success();
}

} // namespace tenon::cuda
