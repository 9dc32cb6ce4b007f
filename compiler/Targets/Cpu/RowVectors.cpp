//===- RowVectors.cpp - Passes over a row by vectors ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

RowVectors::RowVectors(Emitter &e, Value length, int64_t mostResident)
    : e(e), width(widthOf(e)), length(length),
      known(getConstantIntValue(length)) {
  if (known && *known <= mostResident * width)
    for (int64_t i = 0; i < *known; i += width)
      firsts.push_back(opaque(i));
}

/// A position that is no constant to the emitter, which would lose it among
/// other numbers.
Value RowVectors::opaque(int64_t position) {
  Value zero = e.atEntry(
      [&]() -> Value { return arith::SubIOp::create(e.b, e.begin, e.begin); });
  return arith::AddIOp::create(e.b, zero, e.number(position));
}

Lanes RowVectors::knownLanes(Value first, int64_t position) {
  int64_t count = *known - position;
  if (count >= width)
    return {first, width, {}, {}};
  SmallVector<bool> isThere;
  for (int64_t i = 0; i < width; ++i)
    isThere.push_back(i < count);
  Value mask = arith::ConstantOp::create(
      e.b, DenseElementsAttr::get(VectorType::get({width}, e.b.getI1Type()),
                                  isThere));
  return {first, width, e.number(count), mask};
}

Lanes RowVectors::lanesBelow(Emitter &e, Value first, int64_t width,
                             Value end) {
  Value count = e.min(e.sub(end, first), e.number(width));
  return {first, width, count, cpu::lanesBelow(e.b, width, count)};
}

RowVectors::Values RowVectors::runBody(const Step &step, ValueRange carried,
                                       Body body) {
  Values next;
  Lanes lanes = step.lanes;
  lanes.mayFlush = mayFlush;
  e.inLanes(lanes, [&] { next = body(step, carried); });
  return next;
}

RowVectors::Values RowVectors::passUnrolled(int64_t copies,
                                            ArrayRef<Value> start, Body body,
                                            Join join) {
  copies = std::min<int64_t>(copies, firsts.size());
  SmallVector<Values> chains(copies, Values(start));
  for (auto [i, first] : llvm::enumerate(firsts)) {
    Values &chain = chains[i % copies];
    chain = runBody({knownLanes(first, i * width), int64_t(i)}, chain, body);
  }
  for (int64_t i = 1; i < copies; ++i)
    chains[0] = join(chains[0], chains[i]);
  return chains[0];
}

RowVectors::Values RowVectors::pass(int64_t copies, ArrayRef<Value> start,
                                    Body body, Join join) {
  if (isResident())
    return passUnrolled(copies, start, body, join);
  int64_t stride = copies * width, kept = start.size();
  Values all;
  for (int64_t copy = 0; copy < copies; ++copy)
    llvm::append_range(all, start);
  Value stop = e.mul(e.div(length, e.number(stride)), e.number(stride));
  all = e.loop(
      e.number(0), stop, all,
      [&](Value i, ValueRange carried) {
        Values next;
        for (int64_t copy = 0; copy < copies; ++copy) {
          Value first =
              copy ? arith::AddIOp::create(e.b, i, e.number(copy * width))
                         .getResult()
                   : i;
          llvm::append_range(next,
                             runBody({{first, width, {}, {}}},
                                     carried.slice(copy * kept, kept), body));
        }
        return next;
      },
      stride);
  Values sofar(ArrayRef(all).take_front(kept));
  for (int64_t copy = 1; copy < copies && kept; ++copy)
    sofar = join(sofar, ValueRange(all).slice(copy * kept, kept));
  if (known) {
    for (int64_t i = *known / stride * stride; i < *known; i += width)
      sofar = runBody({knownLanes(opaque(i), i)}, sofar, body);
    return sofar;
  }
  return e.loop(
      stop, length, sofar,
      [&](Value i, ValueRange carried) {
        return runBody({lanesBelow(e, i, width, length)}, carried, body);
      },
      width);
}

void RowVectors::forEach(int64_t copies,
                         function_ref<void(const Step &)> body) {
  pass(
      copies, {},
      [&](const Step &step, ValueRange) {
        body(step);
        return Values();
      },
      [](ValueRange, ValueRange) { return Values(); });
}

Value laneNumbers(ImplicitLocOpBuilder &b, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<int32_t>(llvm::to_vector(
                                          llvm::seq<int32_t>(0, lanes)))));
}

Value lanesBelow(ImplicitLocOpBuilder &b, int64_t lanes, Value count) {
  Value lane = laneNumbers(b, lanes);
  Value narrow = arith::TruncIOp::create(b, b.getI32Type(), count);
  Value bound = vector::BroadcastOp::create(b, lane.getType(), narrow);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lane, bound);
}

void storeInLine(Emitter &e, const Lanes &lanes, Value vector, Value line,
                 Value at) {
  Value to = e.address(line, e.b.getF32Type(), at);
  if (lanes.mask)
    LLVM::MaskedStoreOp::create(e.b, vector, to, lanes.mask, 4);
  else
    LLVM::StoreOp::create(e.b, vector, to, /*alignment=*/4);
}

Value gatherFromLine(Emitter &e, Value line, Value offsets) {
  auto vector =
      cast<VectorType>(sameShape(offsets.getType(), e.b.getF32Type()));
  auto pointers = sameShape(offsets.getType(), line.getType());
  Value places = LLVM::GEPOp::create(e.b, pointers, e.b.getF32Type(), line,
                                     ArrayRef<LLVM::GEPArg>{offsets});
  Value all = constantLike(e.b, vector.clone(e.b.getI1Type()), 1);
  return LLVM::masked_gather::create(e.b, vector, places, all,
                                     ValueRange{e.zero(vector)},
                                     /*alignment=*/4);
}

void forEachLine(Emitter &e, ArrayRef<Value> dims,
                 function_ref<void(const Line &)> body) {
  forEachLine(e, dims.drop_back(), e.begin, e.end, body);
}

void forEachLine(Emitter &e, ArrayRef<Value> rows, Value from, Value to,
                 function_ref<void(const Line &)> body) {
  Value length = e.max(rows.back(), e.number(1));
  Value stop = e.ceilDiv(to, length);
  e.loop(e.div(from, length), stop, [&](Value line) {
    Value first = e.mul(line, length);
    body({e.delinearise(line, rows.drop_back()), first,
          e.sub(e.max(from, first), first), e.min(e.sub(to, first), length)});
  });
}

std::pair<Value, Value> rowsWithin(Emitter &e, const Line &line, int64_t stride,
                                   Value least, Value most) {
  Value step = e.number(stride);
  Value first = e.ceilDiv(e.max(least, e.number(0)), step);
  Value behind = e.add(e.floorDiv(most, step), e.number(1));
  first = e.min(e.max(first, line.from), line.to);
  return {first, e.max(e.min(behind, line.to), first)};
}

Value foldLanes(Emitter &e, Value vector,
                function_ref<Value(Value, Value)> join) {
  int32_t count = cast<VectorType>(vector.getType()).getNumElements();
  for (; count > 1; count /= 2) {
    SmallVector<int32_t> low = llvm::to_vector(llvm::seq<int32_t>(count / 2));
    SmallVector<int32_t> high =
        llvm::to_vector(llvm::seq<int32_t>(count / 2, count));
    Value x = LLVM::ShuffleVectorOp::create(e.b, vector, vector, low);
    Value y = LLVM::ShuffleVectorOp::create(e.b, vector, vector, high);
    vector = join(x, y);
  }
  return vector::ExtractOp::create(e.b, vector, 0);
}

} // namespace tenon::cpu
