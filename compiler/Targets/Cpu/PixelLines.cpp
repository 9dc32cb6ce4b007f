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
  Indices dims = e.dimsOf(op.getResult());
  Value width = e.max(dims[dims.size() - 2], e.number(1));
  Value lineEnd = e.ceilDiv(e.end, width);
  e.loop(e.div(e.begin, width), lineEnd, [&](Value line) {
    firstRow = e.mul(line, width);
    Value from = e.sub(e.max(e.begin, firstRow), firstRow);
    Value to = e.min(e.sub(e.end, firstRow), width);
    lead = e.delinearise(line, ArrayRef(dims).drop_back(2));
    emitLine(from, to, sizes, emit);
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

/// Pixels [from, to) of a line: by themselves near the borders.
void PixelLines::emitLine(Value from, Value to, ArrayRef<int64_t> sizes,
                          function_ref<void(Value x, int64_t pixels)> emit) {
  const WindowAxis &axis = axes.back();
  Value stride = e.number(axis.stride), none = e.number(0);
  Value reach = e.mul(e.sub(axis.taps, e.number(1)), e.number(axis.dilation));
  Value most = e.sub(e.add(axis.size, axis.low), e.add(reach, e.number(1)));
  Value first = e.ceilDiv(e.max(axis.low, none), stride);
  Value behind = e.floorDiv(e.add(most, stride), stride);
  first = e.min(e.max(first, from), to);
  behind = e.max(e.min(behind, to), first);
  e.loop(from, first, [&](Value x) { emit(x, 1); });
  for (int64_t size : sizes) {
    Value several = e.number(size);
    Value last =
        e.add(first, e.mul(e.div(e.sub(behind, first), several), several));
    e.loop(first, last, [&](Value x) { emit(x, size); }, size);
    first = last;
  }
  e.loop(first, to, [&](Value x) { emit(x, 1); });
}

SmallVector<PixelLines::Taps> PixelLines::tapsAt(Value x, int64_t pixels) {
  SmallVector<Taps> taps;
  for (auto [i, axis] : llvm::enumerate(ArrayRef(axes).drop_back()))
    taps.push_back(tapsOf(axis, lead[1 + i]));
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
  return visit(visit, 0, lead[0], e.number(0), before);
}

void PixelLines::storePixels(Value x, int64_t pixels, int64_t count) {
  for (int64_t i = 0; i < pixels; ++i) {
    Value at = e.add(x, e.number(i)), waits = e.number(i * count);
    Indices index = lead;
    index.push_back(at);
    e.storeRow(op, index, e.add(firstRow, at), e.number(count), [&](Value c) {
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
