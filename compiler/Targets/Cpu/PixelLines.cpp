//===- PixelLines.cpp - Convolutions pixel by pixel -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PixelLines.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

PixelLines::PixelLines(Emitter &e, graph::ConvOp op)
    : e(e), op(op), lanes(e.level.vectorBits / 32),
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

void PixelLines::forPixels(ArrayRef<int64_t> sizes,
                           function_ref<void(Value x, int64_t pixels)> emit) {
  forEachLine(e, e.dimsOf(op.getResult()), [&](const Line &current) {
    line = current;
    emitLine(sizes, emit);
  });
}

PixelLines::Taps PixelLines::tapsOf(const WindowAxis &axis, Value o) {
  Value start = e.sub(e.mul(o, e.number(axis.stride)), axis.low);
  auto reach = [&](Value limit) { // ceil(limit / dilation) in [0, taps]
    Value up = e.add(e.max(limit, e.number(0)), e.number(axis.dilation - 1));
    return e.min(axis.taps, e.div(up, e.number(axis.dilation)));
  };
  return {reach(e.sub(e.number(0), start)), reach(e.sub(axis.size, start)),
          start};
}

/// The current line: pixels by themselves near the borders.
void PixelLines::emitLine(ArrayRef<int64_t> sizes,
                          function_ref<void(Value x, int64_t pixels)> emit) {
  const WindowAxis &axis = axes.back();
  Value reach = e.mul(e.sub(axis.taps, e.number(1)), e.number(axis.dilation));
  Value most = e.sub(e.add(axis.size, axis.low), e.add(reach, e.number(1)));
  auto [first, behind] = rowsWithin(e, line, axis.stride, axis.low, most);
  e.loop(line.from, first, [&](Value x) { emit(x, 1); });
  for (int64_t size : sizes) {
    Value several = e.number(size);
    Value last =
        e.add(first, e.mul(e.div(e.sub(behind, first), several), several));
    e.loop(first, last, [&](Value x) { emit(x, size); }, size);
    first = last;
  }
  e.loop(first, line.to, [&](Value x) { emit(x, 1); });
}

SmallVector<PixelLines::Taps> PixelLines::tapsAt(Value x, int64_t pixels) {
  SmallVector<Taps> taps;
  for (auto [i, axis] : llvm::enumerate(ArrayRef(axes).drop_back()))
    taps.push_back(tapsOf(axis, line.outer[1 + i]));
  taps.push_back(tapsOf(axes.back(), x));
  if (pixels > 1) {
    taps.back().from = e.number(0);
    taps.back().to = axes.back().taps;
  }
  return taps;
}

PixelLines::Sums PixelLines::forTaps(
    ArrayRef<Taps> taps, size_t inner, ValueRange before,
    function_ref<Sums(Value pixel, Value tap, ValueRange before)> emit) {
  auto visit = [&](auto &self, size_t axis, Value pixel, Value tap,
                   ValueRange before) -> Sums {
    if (axis + inner == axes.size())
      return emit(pixel, tap, before);
    const WindowAxis &window = axes[axis];
    return e.loop(
        taps[axis].from, taps[axis].to, before, [&](Value i, ValueRange sofar) {
          Value at =
              e.add(taps[axis].start, e.mul(i, e.number(window.dilation)));
          return self(self, axis + 1, e.add(e.mul(pixel, window.size), at),
                      e.add(e.mul(tap, window.taps), i), sofar);
        });
  };
  return visit(visit, 0, line.outer[0], e.number(0), before);
}

void PixelLines::storePixels(Value x, int64_t pixels, int64_t count) {
  for (int64_t i = 0; i < pixels; ++i) {
    Value at = e.add(x, e.number(i)), waits = e.number(i * count);
    Indices index = line.outer;
    index.push_back(at);
    e.storeRow(op, index, e.add(line.firstRow, at), e.number(count),
               [&](Value c) {
                 return e.loadRaw(sums, e.b.getF32Type(), e.add(waits, c));
               });
  }
}

Value PixelLines::zero() { return e.zero(vector); }

Value PixelLines::load(Value at, Value mask) {
  if (!mask)
    return LLVM::LoadOp::create(e.b, vector, at, /*alignment=*/4);
  return LLVM::MaskedLoadOp::create(e.b, vector, at, mask, zero(),
                                    /*alignment=*/4);
}

graph::ConvOp rootConvOf(Emitter &e) {
  auto op =
      dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(e.kernel.getBlock()));
  return op && isa<BlockArgument>(op.getInput()) &&
                 isa<BlockArgument>(op.getFilter())
             ? op
             : graph::ConvOp();
}

} // namespace tenon::cpu
