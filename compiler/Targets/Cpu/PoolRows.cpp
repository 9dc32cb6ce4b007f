//===- PoolRows.cpp - Pools, by vectors -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the taps that lie inside of the image carry vectors of the result.
// With channels last there are some vectors of the channels of a pixel. Where
// vectors lie along the last spatial axis, its taps have code of their own, and
// masks say for which lanes they lie inside.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PoolRows.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "compiler/Targets/Cpu/Windows.h"
#include "dialects/Kernel/PoolView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class PoolRows {
public:
  PoolRows(Emitter &e, const kernel::PoolView &view)
      : e(e), view(view), width(RowVectors::widthOf(e)),
        element(graph::getElementType(view.input())),
        vector(VectorType::get({width}, e.b.getF32Type())),
        image(e.argumentBuffer(view.input().getArgNumber())),
        imageDims(e.dimsOf(view.input())),
        dims(e.dimsOf(view.op->getResult(0))) {
    SmallVector<Value> taps;
    for (int64_t size : view.kernel)
      taps.push_back(e.number(size));
    axes = windowAxes(e, view.strides, view.dilations, view.pads, view.input(),
                      view.op->getResult(0), taps, first());
    double none = view.isMax ? -std::numeric_limits<double>::infinity() : 0;
    start = constantLike(e.b, vector, none);
  }

  void emit() {
    forEachLine(e, dims, [&](const Line &line) {
      e.loop(line.from, line.to, [&](Value i) {
        lead = line.outer;
        lead.push_back(i);
        row = e.add(line.firstRow, i);
        view.channelsLast ? emitPixel() : emitRow();
      });
    });
  }

private:
  /// The axis that windows begin with.
  size_t first() const { return view.channelsLast ? 1 : 2; }
  /// Those whose taps are loops.
  ArrayRef<WindowAxis> looped() const {
    return view.channelsLast ? ArrayRef(axes) : ArrayRef(axes).drop_back();
  }

  /// Channels of a pixel: some vectors at a time, then one at a time.
  void emitPixel() {
    Value scale = view.isMax ? Value() : reciprocal();
    auto emitSome = [&](ArrayRef<Lanes> some) {
      SmallVector<Value> totals =
          overTaps(some.size(), [&](Value pixel, ValueRange sofar) {
            SmallVector<Value> next;
            Value offset = e.mul(pixel, dims.back());
            for (auto [lanes, before] : llvm::zip(some, sofar))
              next.push_back(
                  joined(before, load(e.add(offset, lanes.first), lanes.mask)));
            return next;
          });
      for (auto [lanes, total] : llvm::zip(some, totals))
        store(lanes,
              scale ? emitMul(e.b, total, e.spread(scale, width)) : total);
    };
    Value block = e.number(together * width);
    Value stop = e.mul(e.div(dims.back(), block), block);
    e.loop(
        e.number(0), stop,
        [&](Value c) {
          SmallVector<Lanes> some;
          for (int64_t v = 0; v < together; ++v) {
            Value at = arith::AddIOp::create(e.b, c, e.number(v * width));
            some.push_back({at, width, {}, {}});
          }
          emitSome(some);
        },
        together * width);
    e.loop(
        stop, dims.back(),
        [&](Value c) {
          emitSome(RowVectors::lanesBelow(e, c, width, dims.back()));
        },
        width);
  }

  /// Along the last spatial axis.
  void emitRow() {
    const WindowAxis &axis = axes.back();
    RowVectors(e, dims.back(), mostUnrolled)
        .forEach(1, [&](const RowVectors::Step &step) {
          SmallVector<Value> masks;
          for (int64_t tap = 0; tap < view.kernel.back(); ++tap)
            masks.push_back(
                lanesInside(step.lanes, tap, e.number(0), axis.size));
          Value total = overTaps(1, [&](Value line, ValueRange sofar) {
            Value sum = sofar[0], from = e.mul(line, axis.size);
            for (auto [tap, mask] : llvm::enumerate(masks))
              sum = joined(sum,
                           load(e.add(from, position(step.lanes, tap)), mask));
            return SmallVector<Value>{sum};
          })[0];
          if (!view.isMax)
            total =
                arith::DivFOp::create(e.b, total, counts(step.lanes, masks));
          store(step.lanes, total);
        });
  }

  /// The place of a tap of the last axis for the first lane.
  Value position(const Lanes &lanes, int64_t tap) {
    return e.sub(e.add(lanes.first, e.number(tap * view.dilations.back())),
                 axes.back().low);
  }

  /// Which lanes there are whose tap lies in [low, high).
  Value lanesInside(const Lanes &lanes, int64_t tap, Value low, Value high) {
    Value at = position(lanes, tap);
    SmallVector<int32_t> numbers =
        llvm::to_vector(llvm::seq<int32_t>(0, width));
    auto type = VectorType::get({width}, e.b.getI32Type());
    Value lane = arith::ConstantOp::create(
        e.b, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    auto bound = [&](Value limit) { // Within the lanes' reach, so in 32 bits.
      Value near = e.max(e.min(e.sub(limit, at), e.number(width)), e.number(0));
      return e.spread(arith::TruncIOp::create(e.b, e.b.getI32Type(), near),
                      width);
    };
    using P = arith::CmpIPredicate;
    Value mask = arith::AndIOp::create(
        e.b, arith::CmpIOp::create(e.b, P::sge, lane, bound(low)),
        arith::CmpIOp::create(e.b, P::slt, lane, bound(high)));
    return lanes.mask ? arith::AndIOp::create(e.b, mask, lanes.mask).getResult()
                      : mask;
  }

  /// How many elements each lane's mean is of.
  Value counts(const Lanes &lanes, ArrayRef<Value> masks) {
    const WindowAxis &axis = axes.back();
    Value one = constantLike(e.b, vector, 1),
          none = constantLike(e.b, vector, 0);
    Value count = none;
    for (auto [tap, mask] : llvm::enumerate(masks)) {
      Value counted = mask;
      if (view.countPads) {
        Value high = e.valueOf(view.pads[2 * axes.size() - 1]);
        counted = lanesInside(lanes, tap, e.sub(e.number(0), axis.low),
                              e.add(axis.size, high));
      }
      count = emitAdd(e.b, count, e.select(counted, one, none));
    }
    return emitMul(e.b, count, e.spread(toFloat(countOfLooped()), width));
  }

  Value toFloat(Value count) {
    return arith::SIToFPOp::create(e.b, e.b.getF32Type(), count);
  }
  Value reciprocal() {
    Value one = constantLike(e.b, e.b.getF32Type(), 1);
    return arith::DivFOp::create(e.b, one, toFloat(countOfLooped()));
  }

  /// How many taps of the looped axes are counted.
  Value countOfLooped() {
    Value count = e.number(1);
    for (auto [i, axis] : llvm::enumerate(looped())) {
      Value high = e.valueOf(view.pads[axes.size() + i]);
      count = e.mul(
          count, tapsInside(e, axis, lead[first() + i], high, view.countPads));
    }
    return count;
  }

  /// Goes over the taps inside, carrying so many vectors; `body` gets the
  /// position of the axes in front of the vectors'.
  using TapBody = function_ref<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> overTaps(size_t count, TapBody body) {
    Value at = e.linearise(ArrayRef(lead).take_front(first()),
                           ArrayRef(imageDims).take_front(first()));
    return visit(0, at, SmallVector<Value>(count, start), body);
  }

  SmallVector<Value> visit(size_t i, Value at, ValueRange sofar, TapBody body) {
    if (i == looped().size())
      return body(at, sofar);
    const WindowAxis &axis = axes[i];
    Value low =
        e.sub(e.mul(lead[first() + i], e.number(axis.stride)), axis.low);
    auto reach = [&](Value limit) { // ceil(limit / dilation) in [0, taps]
      Value up = e.add(e.max(limit, e.number(0)), e.number(axis.dilation - 1));
      return e.min(axis.taps, e.div(up, e.number(axis.dilation)));
    };
    return e.loop(
        reach(e.sub(e.number(0), low)), reach(e.sub(axis.size, low)), sofar,
        [&](Value tap, ValueRange inner) {
          Value place = e.add(low, e.mul(tap, e.number(axis.dilation)));
          return visit(i + 1, e.add(e.mul(at, axis.size), place), inner, body);
        });
  }

  Value joined(Value x, Value y) {
    return view.isMax ? emitMax(e.b, x, y, e.b.getF32Type())
                      : emitAdd(e.b, x, y);
  }

  /// Lanes that are not there change nothing.
  Value load(Value offset, Value mask) {
    Type memory = Emitter::memoryType(element);
    auto type = vector.clone(memory);
    int64_t alignment = graph::byteWidth(element);
    // Addresses beside the image are made, but not read.
    Value at = LLVM::GEPOp::create(e.b, image.getType(), memory, image,
                                   ArrayRef<LLVM::GEPArg>{offset});
    if (!mask)
      return e.fromMemory(LLVM::LoadOp::create(e.b, type, at, alignment),
                          element);
    Value none = constantLike(e.b, type, 0);
    Value x = e.fromMemory(
        LLVM::MaskedLoadOp::create(e.b, type, at, mask, none, alignment),
        element);
    return view.isMax ? e.select(mask, x, start) : x;
  }

  void store(const Lanes &lanes, Value value) {
    e.inLanes(lanes, [&] {
      Indices index = lead;
      index.push_back(lanes.first);
      Value result = view.op->getResult(0);
      e.bind(result, index, roundTo(e.b, value, graph::getElementType(result)));
      e.storeYields(index, e.add(e.mul(row, dims.back()), lanes.first));
    });
  }

  /// Vectors of channels at a time, and of a row whose length is known.
  static constexpr int64_t together = 4, mostUnrolled = 4;

  Emitter &e;
  const kernel::PoolView &view;
  int64_t width;
  Type element;
  VectorType vector;
  Value image, start;
  Indices imageDims, dims;
  SmallVector<WindowAxis> axes;
  Indices lead; // Of the current row.
  Value row;
};

} // namespace

LogicalResult emitPoolRows(Emitter &e) {
  std::string why;
  auto view = kernel::poolViewOf(e.kernel.getBlock(), why);
  if (!view)
    return e.kernel.emitOpError("is no pool by rows: ") << why;
  PoolRows(e, *view).emit();
  return success();
}

} // namespace tenon::cpu
