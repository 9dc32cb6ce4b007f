//===- CompensateRounding.cpp - Rows that make up for others' rounding ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/CompensateRounding.h"
#include "compiler/Weights/MatrixProduct.h"
#include "compiler/Weights/WeightStore.h"
#include <cfloat>
#include <cmath>

namespace tenon {

/// A grid for each of some columns, and what rounding to it costs.
struct CompensatedColumns::LaneGrid {
  Lanes scale = {}, inverse = {}, low = {}, high = {}, zero = {};
  Lanes cost = Lanes{} + FLT_MAX;

  void set(int64_t lane, const NumberGrid &grid) {
    float stored = widenBf16(roundToBf16(grid.scale));
    bool isUsable = std::fabs(stored) >= FLT_MIN && std::isfinite(1 / stored);
    scale[lane] = isUsable ? stored : 0;
    inverse[lane] = isUsable ? 1 / stored : 0;
    low[lane] = grid.low;
    high[lane] = grid.high;
    zero[lane] = float(grid.zero);
  }

  /// Takes what costs less.
  void improve(const LaneGrid &other) {
    auto isBetter = other.cost < cost;
    auto take = [&](Lanes &own, const Lanes &others) {
      own = isBetter ? others : own;
    };
    take(scale, other.scale);
    take(inverse, other.inverse);
    take(low, other.low);
    take(high, other.high);
    take(zero, other.zero);
    take(cost, other.cost);
  }

  /// The nearest numbers of the grid.
  void toNumbers(Lanes &values) const {
    values = values > low ? values : low;
    values = values < high ? values : high;
    values = (values + roundingStep) - roundingStep;
  }
};

CompensatedColumns::CompensatedColumns(const ErrorSpreading &spreading,
                                       int64_t depth, int64_t block,
                                       BlockForm form)
    : spreading(spreading), depth(depth), block(block), form(form),
      values(size_t(depth * width)), errors(size_t(depth * width)),
      moved(size_t(block * width)), numbers(size_t(block * laneCount)),
      own(size_t(block * laneCount)) {}

void CompensatedColumns::round(int64_t columns, Keep keep) {
  for (float &value : values)
    value = std::isfinite(value) ? value : 0;
  for (int64_t at = (depth - 1) / block * block; at >= 0; at -= block) {
    Steps rows = {at, std::min(block, depth - at)};
    moveBlock(rows);
    for (int64_t column = 0; column < columns; column += laneCount) {
      LaneGrid grid = bestGrid(rows, column);
      roundLanes(rows, column, grid);
      keepLanes(rows, column, columns, grid, keep);
    }
  }
}

/// By the errors of the blocks behind it.
void CompensatedColumns::moveBlock(Steps rows) {
  int64_t end = rows.begin + rows.count;
  std::copy_n(values.begin() + rows.begin * width, rows.count * width,
              moved.begin());
  if (end == depth)
    return;
  const UpperTriangle &factor = spreading.getFactor();
  for (int64_t i = rows.begin; i < end;) {
    int64_t next =
        std::min(UpperTriangle::firstOf(i) + UpperTriangle::stripRows, end);
    addProduct({factor.row(i) + end, factor.rowStride(i), 1},
               errors.data() + end * width, width,
               moved.data() + (i - rows.begin) * width, width, next - i,
               depth - end, width);
    i = next;
  }
}

CompensatedColumns::LaneGrid CompensatedColumns::bestGrid(Steps rows,
                                                          int64_t column) {
  Lanes low = {}, high = {};
  for (int64_t i = 0; i < rows.count; ++i) {
    Lanes value = lanesAt(moved.data() + i * width + column);
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  llvm::SmallVector<LaneGrid, 8> grids;
  for (int64_t lane = 0; lane < laneCount; ++lane) {
    auto own = gridsFor(low[lane], high[lane], form);
    grids.resize(own.size());
    for (auto [grid, each] : llvm::zip_equal(grids, own))
      grid.set(lane, each);
  }
  LaneGrid best;
  for (LaneGrid &grid : grids) {
    roundLanes(rows, column, grid);
    best.improve(grid);
  }
  return best;
}

/// Leaves numbers and errors of the lanes, and what they cost.
void CompensatedColumns::roundLanes(Steps rows, int64_t column,
                                    LaneGrid &grid) {
  grid.cost = {};
  for (int64_t i = rows.count - 1; i >= 0; --i) {
    int64_t k = rows.begin + i;
    const float *factors = spreading.getFactor().row(k) + rows.begin;
    Lanes target = lanesAt(moved.data() + i * width + column);
    for (int64_t j = i + 1; j < rows.count; ++j)
      target += factors[j] * lanesAt(own.data() + j * laneCount);
    Lanes number = target * grid.inverse;
    grid.toNumbers(number);
    Lanes rounded = number * grid.scale, left = target - rounded;
    grid.cost += spreading.getCosts()[size_t(k)] * left * left;
    lanesAt(numbers.data() + i * laneCount) = number;
    Lanes value = lanesAt(values.data() + k * width + column);
    lanesAt(own.data() + i * laneCount) = value - rounded;
  }
}

void CompensatedColumns::keepLanes(Steps rows, int64_t column, int64_t columns,
                                   const LaneGrid &grid, Keep keep) {
  for (int64_t i = 0; i < rows.count; ++i)
    std::copy_n(own.begin() + i * laneCount, laneCount,
                errors.begin() + (rows.begin + i) * width + column);
  std::vector<int8_t> found(static_cast<size_t>(block));
  int64_t count = std::min(laneCount, columns - column);
  for (int64_t lane = 0; lane < count; ++lane) {
    QuantizedBlock result;
    result.scale = roundToBf16(grid.scale[lane]);
    result.zero = int8_t(grid.zero[lane]);
    result.error = double(grid.cost[lane]);
    std::fill(found.begin(), found.end(), result.zero);
    for (int64_t i = 0; i < rows.count; ++i)
      found[size_t(i)] =
          int8_t(numbers[size_t(i * laneCount + lane)] + grid.zero[lane]);
    keep(column + lane, rows.begin / block, result, found);
  }
}

} // namespace tenon
