//===- ConvSlab.cpp - What a block of a convolution reads -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory is written from its start to its end, in whole vectors: what one step
// writes too much, the next ones overwrite.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ConvSlab.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/WindowCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::DirectConvAxis;

constexpr int64_t lanes = 16;

} // namespace

ConvSlab::ConvSlab(Emitter &e, const kernel::DirectConvView &view, Value input,
                   Value slab, const kernel::IntegerFactor *bytes, bool widens)
    : e(e), view(view), input(input), slab(slab), channels(view.slabChannels()),
      stride(view.allChannels()),
      vector(VectorType::get({lanes}, e.b.getI32Type())), widens(widens) {
  if (!bytes) {
    around = stored(e.zero(vector));
    return;
  }
  flips = bytes->isSigned();
  around = stored(
      vector::BroadcastOp::create(e.b, vector, zeroPointQuad(e, *bytes)));
}

Value ConvSlab::stored(Value elements) {
  if (widens)
    return widenedPairs(e.b, elements);
  return flips ? flippedToUnsigned(e, elements) : elements;
}

Value ConvSlab::positionOf(const DirectConvAxis &axis, Value index) {
  return e.sub(e.mul(index, e.number(axis.step())), e.number(axis.low));
}

Value ConvSlab::isInside(const DirectConvAxis &axis, Value position) {
  return e.both(e.less(e.number(-1), position),
                e.less(position, e.number(axis.size)));
}

/// Pixel by pixel, where each reads one of its own.
void ConvSlab::gather(const ConvBlock &block) {
  Indices counts;
  for (const DirectConvAxis &axis : view.imageAxes)
    counts.push_back(e.number(axis.count));
  e.loop(e.number(0), block.pixels, [&](Value i) {
    Indices at = e.delinearise(e.add(block.firstPixel, i), counts);
    Value pixel = block.outer[0];
    Value holds = arith::ConstantIntOp::create(e.b, 1, 1);
    for (auto [axis, index] : llvm::zip(view.imageAxes, at)) {
      Value position = positionOf(axis, index);
      holds = e.both(holds, isInside(axis, position));
      pixel = e.add(e.mul(pixel, e.number(axis.size)), position);
    }
    Value from = element(input, e.mul(pixel, e.number(stride)));
    Value to = inSlab(slab, e.mul(i, e.number(view.pixelStride)));
    e.ifThen(holds, [&] { copyElements(from, to, e.number(channels)); });
    Value one = arith::ConstantIntOp::create(e.b, 1, 1);
    e.ifThen(arith::XOrIOp::create(e.b, holds, one),
             [&] { fillAround(to, e.number(channels)); });
  });
}

void ConvSlab::copy(const ConvBlock &block) {
  if (view.isFlat)
    return gather(block);
  ArrayRef<DirectConvAxis> outer = ArrayRef(view.axes).drop_back(2);
  Indices taps;
  for (const DirectConvAxis &axis : outer)
    taps.push_back(e.number(axis.taps));
  Value each = e.number(view.slabLines() * view.slabPitch() * view.pixelStride);
  e.loop(e.number(0), e.number(view.outerTaps()), [&](Value tap) {
    Indices at = taps.empty() ? Indices() : e.delinearise(tap, taps);
    Value image = block.outer[0];
    Value holds = arith::ConstantIntOp::create(e.b, 1, 1);
    for (auto [i, axis] : llvm::enumerate(outer)) {
      Value position =
          e.sub(e.add(e.mul(block.outer[1 + i], e.number(axis.stride)),
                      e.mul(at[i], e.number(axis.dilation))),
                e.number(axis.low));
      holds = e.both(holds, isInside(axis, position));
      image = e.add(e.mul(image, e.number(axis.size)), position);
    }
    copyLines(block, image, holds, inSlab(slab, e.mul(tap, each)));
  });
}

void ConvSlab::copyLines(const ConvBlock &block, Value image, Value holds,
                         Value to) {
  const DirectConvAxis &axis = view.lines(), &pixels = view.pixels();
  auto sizeOf = [&](const DirectConvAxis &axis, Value outputs) {
    return e.add(
        e.mul(e.sub(outputs, e.number(1)), e.number(axis.slabStride())),
        e.number((axis.taps - 1) * axis.dilation + 1));
  };
  Value first = e.mul(block.firstLine, e.number(axis.slabStride()));
  Value firstPixel = e.mul(block.firstPixel, e.number(pixels.slabStride()));
  Value width = sizeOf(pixels, block.pixels);
  e.loop(e.number(0), sizeOf(axis, block.lines), [&](Value line) {
    Value position = positionOf(axis, e.add(first, line));
    Value from = e.mul(e.add(e.mul(image, e.number(axis.size)), position),
                       e.number(pixels.size * stride));
    copyLine(
        element(input, from), firstPixel, width,
        e.both(holds, isInside(axis, position)),
        inSlab(to, e.mul(line, e.number(view.slabPitch() * view.pixelStride))));
  });
}

/// Pixels of a slab's line; `from` is the start of the image's line.
void ConvSlab::copyLine(Value from, Value firstPixel, Value pixels,
                        Value isInside, Value to) {
  const DirectConvAxis &axis = view.pixels();
  Value none = e.number(0), slabStride = e.number(view.pixelStride);
  Value start = positionOf(axis, firstPixel);
  // Of its pixels, [low, high) lie in the image.
  auto firstFrom = [&](int64_t position) {
    Value reach = e.sub(e.number(position + axis.step() - 1), start);
    return e.min(e.div(e.max(reach, none), e.number(axis.step())), pixels);
  };
  Value low = e.select(isInside, firstFrom(0), pixels);
  Value high = e.select(isInside, firstFrom(axis.size), pixels);
  fillAround(to, e.mul(low, slabStride));
  auto pixelOf = [&](Value pixel) {
    Value position = e.add(start, e.mul(pixel, e.number(axis.step())));
    return element(from, e.mul(position, e.number(stride)));
  };
  if (axis.step() == 1 && view.pixelStride == stride)
    copyElements(pixelOf(low), inSlab(to, e.mul(low, slabStride)),
                 e.mul(e.sub(high, low), slabStride));
  else
    e.loop(low, high, [&](Value pixel) {
      copyElements(pixelOf(pixel), inSlab(to, e.mul(pixel, slabStride)),
                   e.number(channels));
    });
  fillAround(inSlab(to, e.mul(high, slabStride)),
             e.mul(e.sub(pixels, high), slabStride));
}

void ConvSlab::fillAround(Value to, Value count) {
  e.loop(
      e.number(0), count,
      [&](Value i) {
        LLVM::StoreOp::create(e.b, around, inSlab(to, i), /*alignment=*/4);
      },
      lanes);
}

void ConvSlab::copyElements(Value from, Value to, Value count) {
  Value whole = e.sub(count, e.rem(count, e.number(lanes)));
  e.loop(
      e.number(0), whole,
      [&](Value i) {
        Value value = LLVM::LoadOp::create(e.b, vector, element(from, i),
                                           /*alignment=*/4);
        LLVM::StoreOp::create(e.b, stored(value), inSlab(to, i),
                              /*alignment=*/4);
      },
      lanes);
  e.ifThen(e.less(whole, count), [&] {
    Value value = LLVM::MaskedLoadOp::create(e.b, vector, element(from, whole),
                                             maskBelow(e.sub(count, whole)),
                                             e.zero(vector), /*alignment=*/4);
    LLVM::StoreOp::create(e.b, stored(value), inSlab(to, whole),
                          /*alignment=*/4);
  });
}

/// Lanes [0, count) of [0, 16).
Value ConvSlab::maskBelow(Value count) { return lanesBelow(e.b, lanes, count); }

/// Addresses outside of the image are made, but not read.
Value ConvSlab::element(Value base, Value offset) {
  return LLVM::GEPOp::create(e.b, base.getType(), e.b.getI32Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Elements as they are stored.
Value ConvSlab::inSlab(Value base, Value offset) {
  return element(base, widens ? e.mul(offset, e.number(2)) : offset);
}

} // namespace tenon::cpu
