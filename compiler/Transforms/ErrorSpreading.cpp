//===- ErrorSpreading.cpp - How rows of a weight make up for one another --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Cholesky decomposition by strips of rows: the strip's corner, then the rest
// of the strip by it, then what the strip takes off all below. Rows end up
// divided by their diagonal.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/ErrorSpreading.h"
#include "compiler/Weights/MatrixProduct.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"
#include <cmath>

namespace tenon {
namespace {

/// Of the mean of the diagonal: in any case, and where as many rows were seen
/// as there are channels. Fewer say less of what goes together.
constexpr double dampingShare = 0.01, shareOfFewRows = 0.1;
/// Columns that one thread works on at once.
constexpr int64_t columnsAtOnce = 256;
constexpr int64_t stripRows = UpperTriangle::stripRows;

/// Calls body(first, end) for the columns from `first` on, on all threads.
template <typename Body>
void forColumns(int64_t first, int64_t size, Body body) {
  size_t pieces = size_t(llvm::divideCeil(size - first, columnsAtOnce));
  llvm::parallelFor(0, pieces, [&](size_t piece) {
    int64_t begin = first + int64_t(piece) * columnsAtOnce;
    body(begin, std::min(begin + columnsAtOnce, size));
  });
}

} // namespace

ErrorSpreading::ErrorSpreading(const UpperTriangle &sums)
    : factor(sums), costs(size_t(sums.size())) {}

std::optional<ErrorSpreading> ErrorSpreading::of(const LhsSquares &squares) {
  const UpperTriangle &sums = squares.getSums();
  double trace = 0;
  for (int64_t i = 0; i < squares.getChannels(); ++i)
    trace += double(sums.row(i)[i]);
  auto channels = double(squares.getChannels());
  double share =
      dampingShare + shareOfFewRows * channels /
                         double(std::max<int64_t>(squares.getRows(), 1));
  // No element is larger than the largest on the diagonal.
  auto damping = float(trace / channels * share);
  if (!std::isfinite(trace) || !std::isnormal(damping))
    return std::nullopt;
  ErrorSpreading result(sums);
  result.decompose(damping);
  return result;
}

void ErrorSpreading::decompose(float damping) {
  for (int64_t i = 0; i < size(); ++i)
    factor.row(i)[i] += damping;
  for (int64_t top = 0; top < size(); top += stripRows) {
    decomposeCorner(top, damping);
    solveStrip(top);
    subtractStrip(top);
  }
  llvm::parallelFor(0, size_t(size()), [&](size_t i) {
    float *row = factor.row(int64_t(i)), diagonal = row[i];
    costs[i] = diagonal * diagonal;
    for (int64_t j = int64_t(i); j < size(); ++j)
      row[j] /= diagonal;
  });
}

void ErrorSpreading::decomposeCorner(int64_t top, float damping) {
  int64_t end = top + stripRows;
  for (int64_t i = top; i < end; ++i) {
    float *row = factor.row(i);
    // It cannot be less than what was added, but for rounding.
    float diagonal = std::sqrt(std::max(row[i], damping));
    row[i] = diagonal;
    for (int64_t j = i + 1; j < end; ++j)
      row[j] /= diagonal;
    for (int64_t k = i + 1; k < end; ++k)
      for (int64_t j = k; j < end; ++j)
        factor.row(k)[j] -= row[k] * row[j];
  }
}

/// Of the strip what is right of its corner: by forward substitution.
void ErrorSpreading::solveStrip(int64_t top) {
  int64_t end = top + stripRows;
  forColumns(end, size(), [&](int64_t begin, int64_t last) {
    for (int64_t i = top; i < end; ++i) {
      float *row = factor.row(i);
      for (int64_t j = begin; j < last; j += laneCount)
        lanesAt(row + j) /= row[i];
      for (int64_t k = i + 1; k < end; ++k) {
        float *below = factor.row(k);
        for (int64_t j = begin; j < last; j += laneCount)
          lanesAt(below + j) -= row[k] * lanesAt(row + j);
      }
    }
  });
}

void ErrorSpreading::subtractStrip(int64_t top) {
  const float *strip = factor.row(top);
  int64_t stride = factor.rowStride(top), first = top + stripRows;
  int64_t below = (size() - first) / stripRows;
  int64_t pieces = llvm::divideCeil(size() - first, columnsAtOnce);
  llvm::parallelFor(0, size_t(below * pieces), [&](size_t task) {
    int64_t row = first + int64_t(task) / pieces * stripRows;
    int64_t left = first + int64_t(task) % pieces * columnsAtOnce;
    int64_t end = std::min(left + columnsAtOnce, size());
    left = std::max(left, row);
    if (left < end)
      addProduct({strip + row, 1, stride}, strip + left, stride,
                 factor.row(row) + left, factor.rowStride(row), stripRows,
                 stripRows, end - left, /*sign=*/-1);
  });
}

} // namespace tenon
