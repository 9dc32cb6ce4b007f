//===- RowPasses.cpp - A thread's part of a row ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/BlockRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

/// Vectors of a row that is not held which a thread asks for at a time.
constexpr int64_t together = 4;

RowPasses::RowPasses(RowThreads &threads, Value length, kernel::RowTile tile)
    : width(tile.width), e(threads.e), tile(tile), length(length),
      start(e.mul(threads.number(), e.number(tile.width))) {}

void RowPasses::narrow(Value from, Value to) {
  start = e.add(start, from);
  length = to;
}

RowPasses::Values RowPasses::run(const Step &step, ValueRange carried,
                                 Body body) {
  Values next;
  e.inLanes(step.lanes, [&] { next = body(step, carried); });
  return next;
}

RowPasses::Step RowPasses::stepAt(Value first, int64_t i) {
  int64_t stride = tile.rowThreads * width;
  // A value of its own: nothing else counts with these lanes.
  Value at = arith::AddIOp::create(e.b, first, e.number(i * stride));
  std::optional<int64_t> known = getConstantIntValue(length);
  bool isWhole = isHeld() ? *known >= (i + 1) * stride : i == 0;
  Step step = {{at, width, {}, {}}, {}, isHeld() ? i : -1};
  if (isWhole)
    return step;
  step.isThere = e.less(at, length);
  step.lanes.first = arith::SelectOp::create(e.b, step.isThere, at,
                                             isHeld() ? e.number(0) : first);
  return step;
}

RowPasses::Values RowPasses::pass(ValueRange initial, Body body) {
  auto passFrom = [&](Value first, ValueRange carried, int64_t count) {
    Values now(carried);
    for (int64_t i = 0; i < count; ++i)
      now = run(stepAt(first, i), now, body);
    return now;
  };
  if (isHeld())
    return passFrom(start, initial, tile.held);
  return e.loop(
      start, length, initial,
      [&](Value first, ValueRange carried) {
        return passFrom(first, carried, together);
      },
      together * tile.rowThreads * width);
}

void RowPasses::forEach(function_ref<void(const Step &)> body) {
  auto runIn = [&](Step step) {
    Value isThere = step.isThere ? step.isThere : e.equal(length, length);
    e.ifThen(isThere, [&] { e.inLanes(step.lanes, [&] { body(step); }); });
  };
  if (isHeld()) {
    for (int64_t i = 0; i < tile.held; ++i)
      runIn(stepAt(start, i));
    return;
  }
  e.loop(
      start, length,
      [&](Value first) {
        for (int64_t i = 0; i < together; ++i)
          runIn(stepAt(first, i));
      },
      together * tile.rowThreads * width);
}

Value RowPasses::alive(const Step &step, Value value, Value neutral) const {
  return step.isThere
             ? arith::SelectOp::create(e.b, step.isThere, value, neutral)
             : value;
}

} // namespace tenon::cuda
