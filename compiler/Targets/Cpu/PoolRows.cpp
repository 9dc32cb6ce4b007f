//===- PoolRows.cpp - Pools, by vectors -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the taps that lie inside of the image carry vectors: with channels
// last, of the channels of a pixel of the result. Otherwise they join the lines
// that a row of the result is made of to one, in scratch memory with padding on
// both sides, whose windows then are vectors of the result.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PoolRows.h"
#include "compiler/Targets/Cpu/PaddedLines.h"
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
    start = constantLike(e.b, vector, none());
  }

  void emit() {
    if (!view.channelsLast)
      startLines();
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
  /// What changes nothing.
  double none() const {
    return view.isMax ? -std::numeric_limits<double>::infinity() : 0;
  }
  /// The axis that windows begin with.
  size_t first() const { return view.channelsLast ? 1 : 2; }
  /// Those whose taps are loops.
  ArrayRef<WindowAxis> looped() const {
    return view.channelsLast ? ArrayRef(axes) : ArrayRef(axes).drop_back();
  }

  /// The lanes of elements [0, length): some vectors at a time, then one.
  void forSome(Value length, function_ref<void(ArrayRef<Lanes>)> body) {
    Value block = e.number(together * width);
    Value stop = e.mul(e.div(length, block), block);
    e.loop(
        e.number(0), stop,
        [&](Value first) {
          SmallVector<Lanes> some;
          for (int64_t v = 0; v < together; ++v) {
            Value at = arith::AddIOp::create(e.b, first, e.number(v * width));
            some.push_back({at, width, {}, {}});
          }
          body(some);
        },
        together * width);
    e.loop(
        stop, length,
        [&](Value first) {
          body(RowVectors::lanesBelow(e, first, width, length));
        },
        width);
  }

  /// What vectors of lines add up to over all looped axes: those of lines
  /// `length` long, from an element on.
  SmallVector<Value> joinedLines(ArrayRef<Lanes> some, Value length,
                                 Value from) {
    return overTaps(some.size(), [&](Value line, ValueRange sofar) {
      SmallVector<Value> next;
      Value offset = e.add(e.mul(line, length), from);
      for (auto [lanes, before] : llvm::zip(some, sofar))
        next.push_back(
            joined(before, load(e.add(offset, lanes.first), lanes.mask)));
      return next;
    });
  }

  /// Channels of a pixel.
  void emitPixel() {
    Value scale = view.isMax ? Value() : reciprocal();
    forSome(dims.back(), [&](ArrayRef<Lanes> some) {
      SmallVector<Value> totals = joinedLines(some, dims.back(), e.number(0));
      for (auto [lanes, total] : llvm::zip(some, totals))
        store(lanes,
              scale ? emitMul(e.b, total, e.spread(scale, width)) : total);
    });
  }

  /// What is the same for all lines: the padding beside them, and how many
  /// elements of a line each mean is of.
  void startLines() {
    const WindowAxis &axis = axes.back();
    lines.emplace(e, axis, view.kernel.back());
    held = e.scratch(0);
    counts = e.address(held, e.b.getI8Type(), e.valueOf(view.lineBytes()));
    lines->pad(held, constantLike(e.b, e.b.getF32Type(), none()));
    if (view.isMax)
      return;
    Value high = e.valueOf(view.pads[2 * axes.size() - 1]);
    e.loop(e.number(0), dims.back(), [&](Value o) {
      e.storeRaw(toFloat(tapsInside(e, axis, o, high, view.countPads)), counts,
                 o);
    });
  }

  /// Along the last spatial axis: lines are joined to one, and of that the
  /// elements of each window.
  void emitRow() {
    const WindowAxis &axis = axes.back();
    forSome(e.sub(lines->to, lines->from), [&](ArrayRef<Lanes> some) {
      SmallVector<Value> totals = joinedLines(some, axis.size, lines->from);
      for (auto [part, total] : llvm::zip(some, totals))
        storeInLine(e, part, total, held, e.add(lines->cell, part.first));
    });
    Value scale =
        view.isMax ? Value() : e.spread(toFloat(countOfLooped()), width);
    RowVectors(e, dims.back(), mostUnrolled)
        .forEach(1, [&](const RowVectors::Step &step) {
          Value total = windows(step.lanes.first);
          if (scale) {
            Value count = lines->load(counts, step.lanes.first);
            total =
                arith::DivFOp::create(e.b, total, emitMul(e.b, count, scale));
          }
          store(step.lanes, total);
        });
  }

  /// The joined elements of windows from number `first` on.
  Value windows(Value first) {
    const WindowAxis &axis = axes.back();
    Value cell = e.mul(first, e.number(axis.stride));
    int64_t taps = view.kernel.back();
    if (taps > mostTaps)
      return e.loop(e.number(0), e.number(taps), {start},
                    [&](Value tap, ValueRange sofar) {
                      Value at = e.mul(tap, e.number(axis.dilation));
                      Value x = lines->strided(held, e.add(cell, at), 0);
                      return SmallVector<Value>{joined(sofar[0], x)};
                    })[0];
    Value total;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Value x = lines->strided(held, cell, tap * axis.dilation);
      total = total ? joined(total, x) : x;
    }
    return total;
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
  /// Taps that have code of their own.
  static constexpr int64_t mostTaps = 16;

  Emitter &e;
  const kernel::PoolView &view;
  int64_t width;
  Type element;
  VectorType vector;
  Value image, start;
  // A line, padded, and of how many elements of it each window is.
  std::optional<PaddedLines> lines;
  Value held, counts;
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
