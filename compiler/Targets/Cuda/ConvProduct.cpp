//===- ConvProduct.cpp - Convolutions that tiles are computed of ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/ConvProduct.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

//===----------------------------------------------------------------------===//
// What windows see
//===----------------------------------------------------------------------===//

WindowOperand::WindowOperand(DeviceEmitter &e,
                             const kernel::ConvTilesView &view,
                             int64_t panelDepth)
    : Operand(view.type(), view.copyBytes(), /*alongLines=*/0), e(e),
      view(view), panelDepth(panelDepth) {
  for (const kernel::ConvTilesAxis &axis : view.axes)
    counts.push_back(e.valueOf(axis.count));
}

Value WindowOperand::word(int64_t number) {
  return arith::ConstantIntOp::create(e.b, number, 32);
}

/// Keeps the offset of the window, and which of its taps are inside: from the
/// lowest bit on those of the first axis that is padded, then the next one's.
void WindowOperand::keep(Chunk &chunk, const ChunkShape &) {
  Value pixel = chunk.line.index, isThere;
  if (chunk.line.rest) {
    isThere = e.less(e.number(0), chunk.line.rest);
    pixel = e.select(isThere, pixel, e.number(0));
  }
  Indices place, sizes = counts;
  // Images are as many as there are; the last one is never divided.
  for (size_t i = sizes.size(); i-- > 0;) {
    Value size = e.max(sizes[i], e.number(1));
    place.insert(place.begin(), e.rem(pixel, size));
    pixel = e.div(pixel, size);
  }
  Value offset = e.mul(pixel, e.valueOf(view.imageStep));
  bool isWide = view.tapBits() > 32;
  Type bitsType = isWide ? e.b.getI64Type() : e.b.getI32Type();
  Value bits;
  int64_t bit = 0;
  for (auto [axis, at] : llvm::zip(view.axes, place)) {
    Value start = e.sub(e.mul(at, e.number(axis.stride)), e.valueOf(axis.low));
    offset = e.add(offset, e.mul(start, e.valueOf(axis.step)));
    if (axis.isInside)
      continue;
    Value inside = insideBits(axis, start);
    inside = arith::ShLIOp::create(e.b, inside, e.number(bit));
    bits = bits ? Value(arith::OrIOp::create(e.b, bits, inside)) : inside;
    bit += axis.taps;
  }
  chunk.kept.push_back(offset);
  if (!bits)
    return;
  if (isThere)
    bits = e.select(isThere, bits, e.number(0));
  chunk.kept.push_back(
      isWide ? bits : Value(arith::TruncIOp::create(e.b, bitsType, bits)));
}

/// A bit for each tap at start + tap * dilation inside of [0, size).
Value WindowOperand::insideBits(const kernel::ConvTilesAxis &axis,
                                Value start) {
  Value taps = e.number(axis.taps), dilation = e.number(axis.dilation);
  // The taps before `behind` lie before position `position`.
  auto maskTo = [&](Value position) {
    Value distance = e.max(e.sub(position, start), e.number(0));
    Value behind = e.ceilDiv(distance, dilation);
    Value one = arith::ShLIOp::create(e.b, e.number(1), e.min(behind, taps));
    return e.sub(one, e.number(1));
  };
  Value below = maskTo(e.number(0)), inside = maskTo(e.valueOf(axis.size));
  return arith::XOrIOp::create(e.b, inside,
                               arith::AndIOp::create(e.b, inside, below));
}

/// word / by; the word becomes what is left.
Value WindowOperand::divided(Value &number, int64_t by) {
  if (by == 1) {
    Value quotient = number;
    number = word(0);
    return quotient;
  }
  Value quotient = arith::DivUIOp::create(e.b, number, word(by));
  number = arith::RemUIOp::create(e.b, number, word(by));
  return quotient;
}

WindowOperand::Step WindowOperand::stepAt(Value panelStep, Value ahead,
                                          const ChunkShape &shape) {
  auto narrow = [&](Value number) -> Value {
    return arith::TruncIOp::create(e.b, e.b.getI32Type(), number);
  };
  auto wide = [&](Value number) -> Value {
    return arith::ExtUIOp::create(e.b, e.b.getI64Type(), number);
  };
  // Where a panel is of one tap, all threads see the same one.
  bool isOfOneTap = view.channels % panelDepth == 0;
  Value channel = narrow(isOfOneTap ? panelStep : e.add(panelStep, ahead));
  Value tap = divided(channel, view.channels);
  Step step;
  step.offset = wide(channel);
  if (isOfOneTap)
    step.offset = e.add(step.offset, ahead);
  for (size_t i = view.axes.size(); i-- > 0;) {
    const kernel::ConvTilesAxis &axis = view.axes[i];
    // What is left over of the first axis is behind the last step.
    Value rest = tap;
    if (i > 0)
      tap = divided(rest, axis.taps);
    step.taps.insert(step.taps.begin(), rest);
    Value distance = e.mul(wide(rest), e.number(axis.dilation));
    step.offset = e.add(step.offset, e.mul(distance, e.valueOf(axis.step)));
  }
  if (!shape.hasWholeDepth)
    step.isThere = e.less(e.add(panelStep, ahead), e.number(view.depth()));
  return step;
}

SmallVector<Copy> WindowOperand::copiesOf(const Chunk &chunk,
                                          const ChunkShape &shape,
                                          Value panelStep) {
  int64_t width = graph::byteWidth(type);
  SmallVector<Copy> copies;
  for (int64_t at = 0; at < shape.count * width; at += shape.bytes) {
    Step step =
        stepAt(panelStep, e.add(chunk.step, e.number(at / width)), shape);
    Value isThere = step.isThere;
    int64_t bit = 0;
    for (auto [axis, tap] : llvm::zip(view.axes, step.taps)) {
      if (axis.isInside)
        continue;
      Value bits = chunk.kept[1];
      if (bits.getType() != tap.getType())
        tap = arith::ExtUIOp::create(e.b, bits.getType(), tap);
      Value first = arith::ConstantOp::create(
          e.b, e.b.getIntegerAttr(bits.getType(), bit));
      bits = arith::ShRUIOp::create(e.b, bits,
                                    arith::AddIOp::create(e.b, tap, first));
      Value isInside = arith::TruncIOp::create(e.b, e.b.getI1Type(), bits);
      // No `and`: of a step that is not there, the bit is anything.
      isThere = isThere ? e.select(isThere, isInside, e.zero(e.b.getI1Type()))
                        : isInside;
      bit += axis.taps;
    }
    Value offset = e.add(chunk.kept[0], step.offset), bytes;
    if (isThere) {
      offset = e.select(isThere, offset, e.number(0));
      bytes = arith::SelectOp::create(e.b, isThere, word(shape.bytes), word(0));
    }
    copies.push_back({e.address(base, e.memoryType(type), offset), bytes});
  }
  return copies;
}

//===----------------------------------------------------------------------===//
// Their product with a filter
//===----------------------------------------------------------------------===//

ConvProduct::ConvProduct(DeviceEmitter &e, graph::ConvOp op,
                         kernel::ConvTilesView of, int64_t panelDepth)
    : e(e), op(op), view(std::move(of)), windows(e, view, panelDepth),
      pixels(e, view.type(), view.copyBytes(), /*alongLines=*/0,
             e.valueOf(view.rows), e.number(view.depth())),
      filter(e, view.type(), /*alongDepth=*/0, /*alongLines=*/16,
             e.number(view.layout.width), e.number(view.depth())) {
  rows = e.valueOf(view.rows), columns = e.number(view.maps);
  depth = e.number(view.depth());
  hasBatches = view.groups > 1;
  results = {op.getResult()};
  lhs = view.isMatrix() ? static_cast<Operand *>(&pixels) : &windows;
  rhs = &filter;
  hasFlatLines = countsLines(e.kernel);
  if (!view.zero)
    return;
  // Numbers of 8 bits, four of them in a word.
  zero = e.element(view.zero, Indices(graph::getRank(view.zero), e.number(0)));
  auto number = [&](uint32_t value) -> Value {
    return arith::ConstantIntOp::create(e.b, int32_t(value), 32);
  };
  windows.fill = arith::MulIOp::create(
      e.b, arith::AndIOp::create(e.b, zero, number(0xff)), number(0x01010101));
}

/// Of the image's numbers, which a zero point makes as much larger as the sum
/// of the map's filter says.
Value ConvProduct::finished(Value sum, Value column) {
  if (!zero)
    return sum;
  kernel::FragmentLayout layout =
      *kernel::FragmentLayout::parse(kernel::FragmentLayout::quads);
  int64_t bytes = *layout.totalBytes(view.depth(), view.maps, /*width=*/1);
  Value sums = e.address(e.argumentBuffer(view.filter.getArgNumber()),
                         e.b.getI8Type(), e.number(bytes));
  Value ofMap = e.loadRaw(sums, e.b.getI32Type(), column);
  return arith::SubIOp::create(e.b, sum,
                               arith::MulIOp::create(e.b, ofMap, zero));
}

void ConvProduct::enter(Value batch) {
  group = batch;
  Type memory = e.memoryType(view.type());
  Value image = e.address(e.argumentBuffer(view.image.getArgNumber()), memory,
                          e.mul(group, e.number(view.channels)));
  windows.base = pixels.base = image;
  pixels.lineStride = e.number(view.pixels);
  pixels.depthStride = e.number(1);
  int64_t width = view.layout.width;
  filter.base = e.address(e.argumentBuffer(view.filter.getArgNumber()), memory,
                          e.mul(group, e.number(view.depth() * width)));
  filter.lineStride = e.number(1);
  filter.depthStride = e.number(width);
}

Product::Place ConvProduct::placeOf(Value first, Value further, Value column) {
  Value pixel = e.add(first, further);
  Value map = e.add(e.mul(group, columns), column);
  Value maps = e.number(view.groups * view.maps);
  return {indexOf(e, pixel, map), e.add(e.mul(pixel, maps), map)};
}

} // namespace tenon::cuda
