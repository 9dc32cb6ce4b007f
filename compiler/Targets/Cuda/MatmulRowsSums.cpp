//===- MatmulRowsSums.cpp - The sums of a block's threads -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where columns are neighbours in memory, eight lanes go along them and a warp
// takes four runs of k at a time; where steps of k are, a warp goes along k
// with some columns. The sums of lanes are added in a fixed order, and leave
// for shared memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/RowsMatmul.h"
#include "compiler/Targets/Cuda/WideLoads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::FewRows;

/// Where in lhs the first step of each row is; rows that are not there are
/// copies of the last one.
SmallVector<Value> RowsMatmul::lhsOffsets(int64_t lines) {
  SmallVector<Value> offsets;
  Value last = e.sub(product.rows, e.number(1));
  for (int64_t i = 0; i < lines; ++i)
    offsets.push_back(
        e.mul(e.min(e.add(row, e.number(i)), last), left.lineStride));
  return offsets;
}

/// The same of column `i` of the block's in rhs.
Value RowsMatmul::rhsOffset(Value i) {
  Value inHalf = e.add(column, e.rem(i, e.number(outColumns)));
  Value half = e.div(i, e.number(outColumns));
  Value index = e.add(inHalf, e.mul(half, product.columns));
  Value isThere = e.less(inHalf, product.columns);
  return e.mul(e.select(isThere, index, e.number(0)), right.lineStride);
}

/// `count` steps of k of rows of lhs, from step `k` on, a multiple of
/// `count`.
SmallVector<SmallVector<Value>> RowsMatmul::loadLhs(ArrayRef<Value> offsets,
                                                    Value k, int64_t count) {
  int64_t wide = std::max<int64_t>(
      left.alongDepth / int64_t(graph::byteWidth(left.type)), 1);
  wide = std::min(wide, count);
  SmallVector<SmallVector<WideLoad>> loaded;
  for (Value offset : offsets) {
    SmallVector<WideLoad> line;
    for (int64_t i = 0; i < count; i += wide) {
      Value step = e.mul(e.add(k, e.number(i)), left.depthStride);
      line.push_back(loadWide(e, left, e.add(offset, step), wide));
    }
    loaded.push_back(line);
  }
  SmallVector<SmallVector<Value>> lines;
  for (const SmallVector<WideLoad> &line : loaded) {
    SmallVector<Value> floats;
    for (const WideLoad &each : line)
      appendFloats(e, each, floats);
    lines.push_back(floats);
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// Columns are neighbours
//===----------------------------------------------------------------------===//

/// Adds products of `count` steps from each of `runs` on, to sums of
/// [row][column].
SmallVector<Value> RowsMatmul::addRuns(ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                                       ArrayRef<Value> runs, int64_t count,
                                       ValueRange before) {
  SmallVector<WideLoad> weights;
  for (Value k : runs)
    for (int64_t i = 0; i < count; ++i) {
      Value step = e.mul(e.add(k, e.number(i)), right.depthStride);
      for (Value offset : rhs)
        weights.push_back(loadWide(e, right, e.add(offset, step), plan.width));
    }
  SmallVector<SmallVector<SmallVector<Value>>> factors;
  for (Value k : runs)
    factors.push_back(loadLhs(lhs, k, count));
  SmallVector<Value> sums(before);
  for (size_t run = 0; run < runs.size(); ++run)
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<Value> elements;
      for (size_t j = 0; j < rhs.size(); ++j)
        appendFloats(e, weights[(run * count + i) * rhs.size() + j], elements);
      for (size_t line = 0; line < lhs.size(); ++line)
        for (size_t j = 0; j < elements.size(); ++j) {
          Value &sum = sums[line * elements.size() + j];
          sum = cpu::emitMulAdd(e.b, factors[run][line][i], elements[j], sum);
        }
    }
  return sums;
}

void RowsMatmul::sumAlongColumns(int64_t lines) {
  constexpr int64_t runs = FewRows::runs;
  const int64_t further = plan.depth();
  Value lane = e.rem(thread, e.number(FewRows::across));
  Value slot = e.div(thread, e.number(FewRows::across));
  SmallVector<Value> lhs = lhsOffsets(lines), rhs, places;
  for (int64_t i = 0; i < plan.together; i += plan.width) {
    places.push_back(e.add(e.mul(lane, e.number(plan.width)),
                           e.number(i * FewRows::across)));
    rhs.push_back(rhsOffset(places.back()));
  }
  SmallVector<Value> sums(lines * plan.together, e.zero(f32));
  Value k = e.add(from, e.mul(slot, e.number(runs)));
  Value end = e.sub(to, e.number(runs - 1));
  if (lines * plan.together <= 16) {
    // Two runs at a time, as long as there are two and registers for them.
    Value most = e.sub(end, e.number(further));
    sums = e.loop(
        k, most, sums,
        [&](Value k, ValueRange before) {
          return addRuns(lhs, rhs, {k, e.add(k, e.number(further))}, runs,
                         before);
        },
        2 * further);
    Value pairs =
        e.ceilDiv(e.max(e.sub(most, k), e.number(0)), e.number(2 * further));
    k = e.add(k, e.mul(pairs, e.number(2 * further)));
  }
  // Of many rows, elements of lhs take the registers of two steps at most.
  int64_t count = lines < plan.rows ? runs : runs / 2;
  sums = e.loop(
      k, end, sums,
      [&](Value k, ValueRange before) {
        SmallVector<Value> now(before);
        for (int64_t i = 0; i < runs; i += count)
          now = addRuns(lhs, rhs, e.add(k, e.number(i)), count, now);
        return now;
      },
      further);
  std::optional<int64_t> known = getConstantIntValue(product.depth);
  if (!known || *known % runs != 0) {
    // The steps behind the last run: one of each of the first threads.
    Value rest =
        e.add(e.sub(product.depth, e.rem(product.depth, e.number(runs))), slot);
    Value isLast = e.equal(to, product.depth);
    sums = e.loop(
        e.select(isLast, rest, to), to, sums,
        [&](Value k, ValueRange before) {
          return addRuns(lhs, rhs, k, 1, before);
        },
        FewRows::threads);
  }
  storeColumnSums(sums, places, lines);
}

void RowsMatmul::storeColumnSums(SmallVector<Value> sums,
                                 ArrayRef<Value> places, int64_t lines) {
  addLanes(sums, FewRows::across);
  Value lane = e.rem(thread, e.number(32));
  Value slab =
      e.mul(e.div(thread, e.number(32)), e.number(plan.slabElements()));
  e.ifThen(e.less(lane, e.number(FewRows::across)), [&] {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < plan.together; ++i) {
        Value place = e.add(places[i / plan.width], e.number(i % plan.width));
        place = e.add(place, e.number(line * plan.columns()));
        e.storeRaw(sums[line * plan.together + i], sharedMemory,
                   e.add(slab, place));
      }
  });
}

/// Adds the sums of lanes whose ordinals differ by multiples of `apart`.
void RowsMatmul::addLanes(MutableArrayRef<Value> sums, int64_t apart) {
  for (int64_t distance = 16; distance >= apart; distance /= 2)
    for (Value &sum : sums)
      sum = arith::AddFOp::create(e.b, sum, e.exchange(sum, distance));
}

//===----------------------------------------------------------------------===//
// Steps of k are neighbours
//===----------------------------------------------------------------------===//

/// Adds products of `width` steps from each of `steps` on.
SmallVector<Value> RowsMatmul::addSteps(ArrayRef<Value> lhs,
                                        ArrayRef<Value> rhs,
                                        ArrayRef<Value> steps,
                                        ValueRange before) {
  SmallVector<WideLoad> weights;
  for (Value offset : rhs)
    for (Value k : steps)
      weights.push_back(loadWide(e, right, e.add(offset, k), plan.width));
  SmallVector<SmallVector<SmallVector<Value>>> factors;
  for (Value k : steps)
    factors.push_back(loadLhs(lhs, k, plan.width));
  SmallVector<Value> sums(before);
  for (size_t column = 0; column < rhs.size(); ++column)
    for (size_t step = 0; step < steps.size(); ++step) {
      SmallVector<Value> elements;
      appendFloats(e, weights[column * steps.size() + step], elements);
      for (size_t line = 0; line < lhs.size(); ++line)
        for (size_t i = 0; i < elements.size(); ++i) {
          Value &sum = sums[line * rhs.size() + column];
          sum = cpu::emitMulAdd(e.b, factors[step][line][i], elements[i], sum);
        }
    }
  return sums;
}

void RowsMatmul::sumAlongDepth(int64_t lines) {
  Value lane = e.rem(thread, e.number(32));
  Value first = e.mul(e.div(thread, e.number(32)), e.number(FewRows::runs));
  SmallVector<Value> lhs = lhsOffsets(lines), rhs, ahead;
  for (int64_t i = 0; i < FewRows::runs; ++i)
    rhs.push_back(rhsOffset(e.add(first, e.number(i))));
  for (int64_t i = 0; i < plan.together; i += plan.width)
    ahead.push_back(e.add(e.mul(lane, e.number(plan.width)), e.number(32 * i)));
  SmallVector<Value> sums(lines * FewRows::runs, e.zero(f32));
  Value part = e.rem(e.sub(to, from), e.number(plan.depth()));
  Value whole = e.sub(to, part);
  sums = e.loop(
      from, whole, sums,
      [&](Value k, ValueRange before) {
        SmallVector<Value> steps;
        for (Value each : ahead)
          steps.push_back(e.add(k, each));
        return addSteps(lhs, rhs, steps, before);
      },
      plan.depth());
  std::optional<int64_t> known = getConstantIntValue(product.depth);
  if (!known || *known % plan.depth() != 0)
    sums = e.loop(
        e.add(whole, ahead[0]), to, sums,
        [&](Value k, ValueRange before) {
          return addSteps(lhs, rhs, k, before);
        },
        32 * plan.width);
  addLanes(sums, 1);
  e.ifThen(e.equal(lane, e.number(0)), [&] {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < FewRows::runs; ++i)
        e.storeRaw(sums[line * FewRows::runs + i], sharedMemory,
                   e.add(first, e.number(line * plan.columns() + i)));
  });
}

} // namespace tenon::cuda
