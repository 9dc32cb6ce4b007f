//===- LhsSquares.cpp - How the channels of an lhs go together ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/LhsSquares.h"
#include "compiler/Weights/MatrixProduct.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"
#include <cmath>

namespace tenon {
namespace {

/// Rows that are copied, and columns that one thread sums, at once.
constexpr int64_t rowsAtOnce = 512, columnsAtOnce = 256;

} // namespace

UpperTriangle::UpperTriangle(int64_t size)
    : padded(int64_t(llvm::alignTo(size, stripRows))) {
  elements.resize(size_t(padded * (padded + stripRows) / 2));
}

int64_t UpperTriangle::offsetOf(int64_t i) const {
  int64_t first = firstOf(i);
  // Strips above have `padded`, `padded` - stripRows, ... columns.
  int64_t above = first * padded - first * (first - stripRows) / 2;
  return above + (i - first) * (padded - first) - first;
}

void LhsSquares::add(llvm::ArrayRef<float> added) {
  int64_t size = sums.size(), count = int64_t(added.size()) / channels;
  rows += count;
  std::vector<float> copy;
  for (int64_t begin = 0; begin < count; begin += rowsAtOnce) {
    int64_t some = std::min(rowsAtOnce, count - begin);
    copy.assign(size_t(some * size), 0);
    for (int64_t i = 0; i < some; ++i)
      for (int64_t k = 0; k < channels; ++k) {
        float x = added[size_t((begin + i) * channels + k)];
        copy[size_t(i * size + k)] = std::isfinite(x) ? x : 0;
      }
    constexpr int64_t height = UpperTriangle::stripRows;
    int64_t pieces = llvm::divideCeil(size, columnsAtOnce);
    llvm::parallelFor(0, size_t(size / height * pieces), [&](size_t task) {
      int64_t top = int64_t(task) / pieces * height;
      int64_t left = int64_t(task) % pieces * columnsAtOnce;
      int64_t end = std::min(left + columnsAtOnce, size);
      left = std::max(left, top);
      if (left < end)
        addProduct({copy.data() + top, 1, size}, copy.data() + left, size,
                   sums.row(top) + left, sums.rowStride(top), height, some,
                   end - left);
    });
  }
}

} // namespace tenon
