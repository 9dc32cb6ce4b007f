//===- WindowCopy.cpp - What a pixel's window reads, in a row -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/WindowCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t lanes = 16;

} // namespace

WindowCopy::WindowCopy(Emitter &e, graph::ConvOp op,
                       const kernel::ConvDepth &depth)
    : e(e), op(op), depth(depth),
      vector(VectorType::get({lanes}, e.b.getF32Type())),
      input(e.argumentBuffer(
          cast<BlockArgument>(kernel::operandOf(op, op.getInput()))
              .getArgNumber())),
      inputDims(e.dimsOf(op.getInput())) {}

void WindowCopy::copyRow(ArrayRef<Value> pixel, Value line, Value lines,
                         Value start, Value length, Value to) {
  size_t axes = op.getStrides().size(), last = axes - 1;
  bool isLineTap = depth.lineTaps.size() == axes; // The last axis is dilated.
  auto positionOf = [&](size_t axis, Value tap) {
    Value at = e.sub(e.mul(pixel[1 + axis], e.number(op.getStrides()[axis])),
                     e.valueOf(op.getPads()[axis]));
    return tap ? e.add(at, e.mul(tap, e.number(op.getDilations()[axis]))) : at;
  };
  Indices tapDims;
  for (int64_t taps : depth.lineTaps)
    tapDims.push_back(e.number(taps));
  Value none = e.number(0), channels = e.number(depth.channels);
  e.loop(none, lines, [&](Value i) {
    Indices taps =
        tapDims.empty() ? Indices() : e.delinearise(e.add(line, i), tapDims);
    Value holds = arith::ConstantIntOp::create(e.b, 1, 1);
    Value offset = pixel[0];
    for (size_t axis = 0; axis < last; ++axis) {
      Value at = positionOf(axis, taps[axis]);
      holds = e.both(holds, e.both(e.less(e.number(-1), at),
                                   e.less(at, inputDims[1 + axis])));
      offset = e.add(e.mul(offset, inputDims[1 + axis]), at);
    }
    Value at = positionOf(last, isLineTap ? taps[last] : Value());
    Value width = inputDims[1 + last];
    offset = e.add(e.mul(offset, width), at);
    offset = e.add(e.mul(offset, channels), start);
    // Of the line's elements, those inside are [-at, width - at) * channels.
    Value low = e.sub(e.mul(e.sub(none, at), channels), start);
    Value high = e.sub(e.mul(e.sub(width, at), channels), start);
    low = e.max(low, none);
    high = e.select(holds, e.min(high, length), none);
    copyLine(element(input, offset), low, high, length,
             element(to, e.mul(i, length)));
  });
}

void WindowCopy::copyLine(Value from, Value low, Value high, Value length,
                          Value to) {
  std::optional<int64_t> known = getConstantIntValue(length);
  Value none = e.number(0);
  Value whole = known ? e.number(*known / lanes * lanes)
                      : e.mul(e.div(length, e.number(lanes)), e.number(lanes));
  auto copyAll = [&] {
    e.loop(
        none, whole,
        [&](Value i) {
          Value value = LLVM::LoadOp::create(e.b, vector, element(from, i),
                                             /*alignment=*/4);
          LLVM::StoreOp::create(e.b, value, element(to, i), /*alignment=*/4);
        },
        lanes);
    e.ifThen(e.less(whole, length), [&] {
      copyMasked(from, to, whole, lanesIn(whole, none, length));
    });
  };
  auto copySome = [&] {
    e.loop(
        none, length,
        [&](Value i) { copyMasked(from, to, i, lanesIn(i, low, high)); },
        lanes);
  };
  Value isInside = e.both(e.equal(low, none), e.equal(high, length));
  Value one = arith::ConstantIntOp::create(e.b, 1, 1);
  Value isOutside = arith::XOrIOp::create(e.b, isInside, one);
  e.ifThen(isInside, copyAll);
  e.ifThen(isOutside, copySome);
}

Value laneNumbers(Emitter &e, int64_t lanes) {
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(int32_t(i));
  auto type = VectorType::get({lanes}, e.b.getI32Type());
  return arith::ConstantOp::create(
      e.b, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}

/// Addresses before and behind the image are made, but not read.
Value WindowCopy::element(Value base, Value offset) {
  return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// For lanes first, first + 1, ...: whether they lie in [low, high).
Value WindowCopy::lanesIn(Value first, Value low, Value high) {
  Value lane = laneNumbers(e, lanes);
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
  Value zeros =
      arith::ConstantOp::create(e.b, SplatElementsAttr::get(vector, 0.0f));
  Value value = LLVM::MaskedLoadOp::create(e.b, vector, element(from, i), mask,
                                           zeros, /*alignment=*/4);
  LLVM::StoreOp::create(e.b, value, element(to, i), /*alignment=*/4);
}

} // namespace tenon::cpu
