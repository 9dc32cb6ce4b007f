//===- MatrixProduct.h - Small products on the compiling machine ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_WEIGHTS_MATRIXPRODUCT_H
#define TENON_COMPILER_WEIGHTS_MATRIXPRODUCT_H

#include <cstdint>

namespace tenon {

/// Eight floats, which compilers keep in registers at any optimization level.
using Lanes = float __attribute__((vector_size(32)));
inline constexpr int64_t laneCount = 8;

/// Eight of an array, to read or write. References, since values of this type
/// are passed in ways that differ from machine to machine.
using LanesInArray = Lanes __attribute__((aligned(4), may_alias));
inline const LanesInArray &lanesAt(const float *from) {
  return *reinterpret_cast<const LanesInArray *>(from);
}
inline LanesInArray &lanesAt(float *at) {
  return *reinterpret_cast<LanesInArray *>(at);
}

/// A matrix whose element [i][s] is data[i * row + s * step].
struct LeftFactor {
  const float *data;
  int64_t row, step;
};

/// sums[i][j] += sign * left[i][s] * right[s][j], of s in ascending order. Rows
/// are a multiple of 4, columns one of laneCount; steps are any.
void addProduct(const LeftFactor &left, const float *right, int64_t rightRow,
                float *sums, int64_t sumsRow, int64_t rows, int64_t steps,
                int64_t columns, float sign = 1);

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_MATRIXPRODUCT_H
