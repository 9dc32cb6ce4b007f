//===- MatrixProduct.cpp - Small products on the compiling machine --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/MatrixProduct.h"
#include <algorithm>

namespace tenon {
namespace {

/// Rows of a tile: its sums and what it multiplies fit the 16 registers of the
/// lowest level.
constexpr int64_t tileRows = 4;
/// Steps whose rows of the right side stay in the first level of the cache.
constexpr int64_t stepsAtOnce = 64;

void addTile(const LeftFactor &left, const float *right, int64_t rightRow,
             float *sums, int64_t sumsRow, int64_t steps, float sign) {
  Lanes total[tileRows];
  for (int64_t i = 0; i < tileRows; ++i)
    total[i] = lanesAt(sums + i * sumsRow);
  for (int64_t s = 0; s < steps; ++s) {
    Lanes line = sign * lanesAt(right + s * rightRow);
    for (int64_t i = 0; i < tileRows; ++i)
      total[i] += left.data[i * left.row + s * left.step] * line;
  }
  for (int64_t i = 0; i < tileRows; ++i)
    lanesAt(sums + i * sumsRow) = total[i];
}

} // namespace

void addProduct(const LeftFactor &left, const float *right, int64_t rightRow,
                float *sums, int64_t sumsRow, int64_t rows, int64_t steps,
                int64_t columns, float sign) {
  for (int64_t s = 0; s < steps; s += stepsAtOnce) {
    int64_t count = std::min(stepsAtOnce, steps - s);
    for (int64_t j = 0; j < columns; j += laneCount)
      for (int64_t i = 0; i < rows; i += tileRows) {
        LeftFactor part = left;
        part.data += i * left.row + s * left.step;
        addTile(part, right + s * rightRow + j, rightRow,
                sums + i * sumsRow + j, sumsRow, count, sign);
      }
  }
}

} // namespace tenon
