//===- DepthwisePlanes.cpp - Convolutions of each channel by planes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of lines of a plane, and the border around them, is copied to scratch
// memory. Some lines of the result are then summed at a time: vectors along
// them, which a tap's weight is the same for.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/DepthwisePlanes.h"
#include "compiler/Targets/Cpu/PaddedLines.h"
#include "compiler/Targets/Cpu/PixelLines.h"
#include "dialects/Kernel/PlanesView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::PlanesView;

class DepthwisePlanes {
public:
  DepthwisePlanes(Emitter &e, const PlanesView &view)
      : e(e), view(view), op(view.op), width(RowVectors::widthOf(e)),
        dims(e.dimsOf(op.getResult())), imageDims(e.dimsOf(op.getInput())),
        image(bufferOf(op.getInput())), filter(bufferOf(op.getFilter())),
        held(e.scratch(0)), lineBytes(e.valueOf(view.lineBytes())),
        axes(axesOf()), padded(e, axes.back(), view.pixels) {}

  void emit() {
    Value none = constantLike(e.b, e.b.getF32Type(), 0);
    Value most = hasLines() ? e.min(e.number(PlanesView::blockLines), dims[2])
                            : e.number(1);
    e.loop(e.number(0), linesRead(most),
           [&](Value i) { padded.pad(lineAt(i), none); });
    forEachLine(e, dims, [&](const Line &rows) {
      if (!hasLines()) {
        e.loop(rows.from, rows.to, [&](Value channel) {
          emitBlock({rows.outer[0], channel}, e.number(0), e.number(1),
                    e.add(rows.firstRow, channel));
        });
        return;
      }
      e.loop(
          rows.from, rows.to,
          [&](Value first) {
            Value count =
                e.min(e.number(PlanesView::blockLines), e.sub(rows.to, first));
            emitBlock(rows.outer, first, count, e.add(rows.firstRow, first));
          },
          PlanesView::blockLines);
    });
  }

private:
  Value bufferOf(Value operand) {
    return e.argumentBuffer(cast<BlockArgument>(operand).getArgNumber());
  }
  SmallVector<WindowAxis> axesOf() {
    SmallVector<Value> taps;
    if (hasLines())
      taps.push_back(e.number(view.lines));
    taps.push_back(e.number(view.pixels));
    return windowAxes(e, op.getStrides(), op.getDilations(), op.getPads(),
                      op.getInput(), op.getResult(), taps, /*first=*/2);
  }
  bool hasLines() const { return dims.size() == 4; }

  /// Lines of the image that so many of the result read.
  Value linesRead(Value count) {
    return e.add(e.mul(e.sub(count, e.number(1)), e.number(view.lineStride)),
                 e.number((view.lines - 1) * view.lineDilation + 1));
  }
  Value lineAt(Value i) {
    return e.address(held, e.b.getI8Type(), e.mul(i, lineBytes));
  }

  /// Lines [first, first + count) of the result's plane [image, channel], which
  /// are rows of the launch from `row` on.
  void emitBlock(ArrayRef<Value> plane, Value first, Value count, Value row) {
    copyLines(plane, first, count);
    Value weights =
        e.address(filter, e.b.getF32Type(),
                  e.mul(plane[1], e.number(view.lines * view.pixels)));
    Value line = e.number(0);
    for (int64_t some : sizes()) {
      Value end = e.mul(e.div(count, e.number(some)), e.number(some));
      e.loop(
          line, end,
          [&](Value line) {
            emitSums(line, some, weights,
                     [&](int64_t i, const Lanes &lanes, Value sum) {
                       Value at = e.add(line, e.number(i));
                       store(plane, e.add(first, at), e.add(row, at), lanes,
                             sum);
                     });
          },
          some);
      line = end;
    }
  }

  /// Lines of the result at a time, which share weights and what they read: as
  /// many sums as multiply-adds wait for, or less where a plane then has no
  /// rest; and those of rests.
  SmallVector<int64_t> sizes() {
    int64_t most = mostTogether;
    std::optional<int64_t> height =
        hasLines() ? graph::getDim(op.getResult(), 2).asConstant() : 1;
    if (height && *height > 0 && *height <= PlanesView::blockLines) {
      int64_t parts = llvm::divideCeil(*height, most);
      most = *height % parts == 0 ? *height / parts : most;
    }
    SmallVector<int64_t> all = {most};
    for (int64_t rest : {2, 1})
      if (rest < most)
        all.push_back(rest);
    return all;
  }

  /// What those lines read of the image, and zeros for what is not there.
  void copyLines(ArrayRef<Value> plane, Value first, Value count) {
    Value low = e.number(0), height = e.number(1);
    if (hasLines()) {
      low = axes.front().low;
      height = axes.front().size;
    }
    Value start = e.sub(e.mul(first, e.number(view.lineStride)), low);
    Value from = e.linearise(plane, ArrayRef(imageDims).take_front(2));
    e.loop(e.number(0), linesRead(count), [&](Value i) {
      Value at = e.add(start, i), line = lineAt(i);
      Value isInside = e.both(e.less(e.number(-1), at), e.less(at, height));
      Value begin = e.add(
          e.mul(e.add(e.mul(from, height), at), axes.back().size), padded.from);
      RowVectors(e, e.sub(padded.to, padded.from), /*mostResident=*/0)
          .forEach(1, [&](const RowVectors::Step &step) {
            storeInLine(
                e, step.lanes,
                load(e.add(begin, step.lanes.first), step.lanes, isInside),
                line, e.add(padded.cell, step.lanes.first));
          });
    });
  }

  /// The image's elements, none of which is read unless the line is inside.
  Value load(Value at, const Lanes &lanes, Value isInside) {
    auto type = VectorType::get({width}, e.b.getF32Type());
    Value mask = e.spread(isInside, width);
    if (lanes.mask)
      mask = arith::AndIOp::create(e.b, mask, lanes.mask);
    // Addresses beside the image are made, but not read.
    Value from = LLVM::GEPOp::create(e.b, image.getType(), e.b.getF32Type(),
                                     image, ArrayRef<LLVM::GEPArg>{at});
    return LLVM::MaskedLoadOp::create(e.b, type, from, mask, e.zero(type),
                                      /*alignment=*/4);
  }

  /// Calls `emit` with each vector of sums of some lines.
  void
  emitSums(Value line, int64_t some, Value weights,
           function_ref<void(int64_t i, const Lanes &lanes, Value sum)> emit) {
    RowVectors(e, dims.back(), mostUnrolled)
        .forEach(1, [&](const RowVectors::Step &step) {
          Value cell = e.mul(step.lanes.first, e.number(view.pixelStride));
          SmallVector<Value> sums(
              some, e.zero(VectorType::get({width}, e.b.getF32Type())));
          if (view.lines * view.pixels <= mostTaps)
            for (int64_t tap = 0; tap < view.pixels; ++tap)
              sums = addColumn(line, tap, cell, weights, sums);
          else
            sums = e.loop(
                e.number(0), e.number(view.pixels), sums,
                [&](Value tap, ValueRange before) {
                  Value at =
                      e.add(cell, e.mul(tap, e.number(view.pixelDilation)));
                  return addColumn(line, 0, at,
                                   e.address(weights, e.b.getF32Type(), tap),
                                   before);
                });
          for (auto [i, sum] : llvm::enumerate(sums))
            emit(i, step.lanes, sum);
        });
  }

  /// The products of a column of the filter, whose weights wait in registers
  /// for the lines of the image.
  SmallVector<Value> addColumn(Value line, int64_t tap, Value cell,
                               Value weights, ValueRange before) {
    SmallVector<Value> sums(before), factors;
    for (int64_t i = 0; i < view.lines; ++i)
      factors.push_back(e.spread(
          e.loadRaw(weights, e.b.getF32Type(), e.number(i * view.pixels + tap)),
          width));
    int64_t last = (sums.size() - 1) * view.lineStride +
                   (view.lines - 1) * view.lineDilation;
    Value first = e.mul(line, e.number(view.lineStride));
    for (int64_t i = 0; i <= last; ++i) {
      Value x;
      for (auto [n, sum] : llvm::enumerate(sums)) {
        int64_t distance = i - int64_t(n) * view.lineStride;
        int64_t factor = distance / view.lineDilation;
        if (distance < 0 || distance % view.lineDilation != 0 ||
            factor >= view.lines)
          continue;
        if (!x)
          x = padded.strided(lineAt(e.add(first, e.number(i))), cell,
                             tap * view.pixelDilation);
        sum = LLVM::FMAOp::create(e.b, x, factors[factor], sum);
      }
    }
    return sums;
  }

  void store(ArrayRef<Value> plane, Value line, Value row, const Lanes &lanes,
             Value sum) {
    e.inLanes(lanes, [&] {
      Indices index(plane);
      if (hasLines())
        index.push_back(line);
      index.push_back(lanes.first);
      e.bind(op.getResult(), index, sum);
      e.storeYields(index, e.add(e.mul(row, dims.back()), lanes.first));
    });
  }

  /// Vectors of a line whose length is known, and taps that all have code of
  /// their own.
  static constexpr int64_t mostUnrolled = 1, mostTaps = 64, mostTogether = 8;

  Emitter &e;
  const PlanesView &view;
  graph::ConvOp op;
  int64_t width;
  Indices dims, imageDims;
  Value image, filter, held, lineBytes;
  SmallVector<WindowAxis> axes;
  PaddedLines padded;
};

} // namespace

LogicalResult emitDepthwisePlanes(Emitter &e) {
  graph::ConvOp op = rootConvOf(e);
  std::string why = "it is no convolution of two operands";
  auto view = op ? kernel::planesViewOf(op, why) : std::nullopt;
  if (!view)
    return e.kernel.emitOpError("has no planes: ") << why;
  DepthwisePlanes(e, *view).emit();
  return success();
}

} // namespace tenon::cpu
