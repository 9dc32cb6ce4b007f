//===- WindowCopy.cpp - What a pixel's window reads, in a row -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/WindowCopy.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Of a vector.
constexpr int64_t elements = 16;

} // namespace

WindowCopy::WindowCopy(Emitter &e, graph::ConvOp op,
                       const kernel::ConvDepth &depth)
    : e(e), op(op), depth(depth), unit(e.b.getF32Type()),
      channels(depth.channels),
      input(e.argumentBuffer(
          cast<BlockArgument>(kernel::operandOf(op, op.getInput()))
              .getArgNumber())),
      inputDims(e.dimsOf(op.getInput())) {
  if (depth.hasQuads && channels % kernel::quadSteps == 0) {
    unit = e.b.getI32Type();
    channels /= kernel::quadSteps;
  } else if (depth.hasQuads) {
    unit = e.b.getI8Type();
    unitsOfElement = kernel::quadSteps;
  }
  lanes = elements * unitsOfElement;
  vector = VectorType::get({lanes}, unit);
  if (!depth.hasQuads) {
    fill = arith::ConstantOp::create(e.b, SplatElementsAttr::get(vector, 0.0f));
    return;
  }
  kernel::IntegerFactor numbers = kernel::integerConvViewOf(op)->input;
  flips = numbers.isSigned();
  Value zeros = zeroPointQuad(e, numbers);
  if (unit.isInteger(8))
    zeros = arith::TruncIOp::create(e.b, unit, zeros);
  fill = vector::BroadcastOp::create(e.b, vector, zeros);
}

Value WindowCopy::stored(Value lanes) {
  return flips ? flippedToUnsigned(e, lanes) : lanes;
}

void WindowCopy::copyRows(const Rows &rows, const Part &part) {
  forEachLine(e, rows.dims, rows.from, rows.to, [&](const Line &line) {
    Value before = e.sub(line.firstRow, rows.from);
    Value out = e.address(rows.out, e.b.getF32Type(),
                          e.mul(before, e.number(rows.stride)));
    e.loop(e.number(0), part.lines,
           [&](Value i) { copyLines({line, out, rows.stride}, part, i); });
  });
}

/// Line `i` of a part, of each pixel of a line of the result.
void WindowCopy::copyLines(const Pixels &pixels, const Part &part, Value i) {
  size_t axes = op.getStrides().size(), last = axes - 1;
  bool isLineTap = depth.lineTaps.size() == axes; // The last axis is dilated.
  Indices tapDims;
  for (int64_t taps : depth.lineTaps)
    tapDims.push_back(e.number(taps));
  Indices taps =
      tapDims.empty() ? Indices() : e.delinearise(e.add(part.line, i), tapDims);
  auto positionOf = [&](size_t axis, Value pixel, Value tap) {
    Value at = e.sub(e.mul(pixel, e.number(op.getStrides()[axis])),
                     e.valueOf(op.getPads()[axis]));
    return tap ? e.add(at, e.mul(tap, e.number(op.getDilations()[axis]))) : at;
  };
  Value none = e.number(0), perPixel = e.number(channels);
  // The last part of a line of bytes may end inside of an element.
  Value ofElement = e.number(unitsOfElement);
  Value start = e.mul(part.start, ofElement);
  Value count = e.mul(part.length, ofElement);
  if (unitsOfElement > 1)
    count = e.min(count, e.sub(e.number(depth.numbers), start));
  Value holds = arith::ConstantIntOp::create(e.b, 1, 1);
  const Line &line = pixels.line;
  Value imageLine = line.outer[0];
  for (size_t axis = 0; axis < last; ++axis) {
    Value at = positionOf(axis, line.outer[1 + axis], taps[axis]);
    holds = e.both(holds, e.both(e.less(e.number(-1), at),
                                 e.less(at, inputDims[1 + axis])));
    imageLine = e.add(e.mul(imageLine, inputDims[1 + axis]), at);
  }
  Value width = inputDims[1 + last], tap = isLineTap ? taps[last] : Value();
  Value out = unitAt(pixels.out, e.mul(i, e.mul(part.length, ofElement)));
  auto copy = [&](Value from, Value to, bool isInside) {
    e.loop(from, to, [&](Value x) {
      Value at = positionOf(last, x, tap);
      Value first =
          e.add(e.mul(e.add(e.mul(imageLine, width), at), perPixel), start);
      Value place =
          e.address(out, e.b.getF32Type(), e.mul(x, e.number(pixels.stride)));
      Value source = unitAt(input, first);
      if (isInside)
        return copyInside(source, count, place);
      // Of the line's units, those inside are [-at, width - at) * channels.
      Value low = e.sub(e.mul(e.sub(none, at), perPixel), start);
      Value high = e.sub(e.mul(e.sub(width, at), perPixel), start);
      high = e.select(holds, e.min(high, count), none);
      copyBorder(source, e.max(low, none), high, count, place);
    });
  };
  // Pixels of which all units are inside.
  Value origin = positionOf(last, none, tap);
  Value least = e.sub(e.sub(none, e.div(start, perPixel)), origin);
  Value most =
      e.sub(e.sub(width, e.ceilDiv(e.add(start, count), perPixel)), origin);
  auto [inside, behind] =
      rowsWithin(e, line, op.getStrides()[last], least, most);
  inside = e.select(holds, inside, line.to);
  behind = e.select(holds, behind, line.to);
  copy(line.from, inside, /*isInside=*/false);
  copy(inside, behind, /*isInside=*/true);
  copy(behind, line.to, /*isInside=*/false);
}

void WindowCopy::copyInside(Value from, Value length, Value to) {
  std::optional<int64_t> known = getConstantIntValue(length);
  Value none = e.number(0);
  Value whole = known ? e.number(*known / lanes * lanes)
                      : e.mul(e.div(length, e.number(lanes)), e.number(lanes));
  e.loop(
      none, whole,
      [&](Value i) {
        Value value = LLVM::LoadOp::create(e.b, vector, unitAt(from, i),
                                           /*alignment=*/unitBytes());
        LLVM::StoreOp::create(e.b, stored(value), unitAt(to, i),
                              /*alignment=*/unitBytes());
      },
      lanes);
  e.ifThen(e.less(whole, length),
           [&] { copyMasked(from, to, whole, lanesIn(whole, none, length)); });
}

void WindowCopy::copyBorder(Value from, Value low, Value high, Value length,
                            Value to) {
  Value one = arith::ConstantIntOp::create(e.b, 1, 1);
  // Without any lane a load gives the fill, too, but where no page is in front
  // of the image or behind it, it takes hundreds of cycles to find that out:
  // 0.27 ms for 0.16 for a small model in three dimensions.
  e.loop(
      e.number(0), length,
      [&](Value i) {
        Value end = e.add(i, e.number(lanes));
        Value hasSome = e.less(e.max(low, i), e.min(high, end));
        e.ifThen(hasSome,
                 [&] { copyMasked(from, to, i, lanesIn(i, low, high)); });
        e.ifThen(arith::XOrIOp::create(e.b, hasSome, one), [&] {
          LLVM::StoreOp::create(e.b, stored(fill), unitAt(to, i),
                                /*alignment=*/unitBytes());
        });
      },
      lanes);
}

/// Addresses before and behind the image are made, but not read.
Value WindowCopy::unitAt(Value base, Value offset) {
  return LLVM::GEPOp::create(e.b, base.getType(), unit, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// For lanes first, first + 1, ...: whether they lie in [low, high).
Value WindowCopy::lanesIn(Value first, Value low, Value high) {
  Value lane = laneNumbers(e.b, lanes);
  auto splat = [&](Value bound) -> Value {
    // Within the lanes' reach, so that 32 bits hold it.
    Value near =
        e.max(e.min(e.sub(bound, first), e.number(lanes)), e.number(0));
    Value narrow = arith::TruncIOp::create(e.b, e.b.getI32Type(), near);
    return vector::BroadcastOp::create(e.b, lane.getType(), narrow);
  };
  Value behind =
      arith::CmpIOp::create(e.b, arith::CmpIPredicate::sge, lane, splat(low));
  Value before =
      arith::CmpIOp::create(e.b, arith::CmpIPredicate::slt, lane, splat(high));
  return arith::AndIOp::create(e.b, behind, before);
}

void WindowCopy::copyMasked(Value from, Value to, Value i, Value mask) {
  Value value = LLVM::MaskedLoadOp::create(e.b, vector, unitAt(from, i), mask,
                                           fill, /*alignment=*/unitBytes());
  LLVM::StoreOp::create(e.b, stored(value), unitAt(to, i),
                        /*alignment=*/unitBytes());
}

} // namespace tenon::cpu
