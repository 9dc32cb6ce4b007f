//===- LhsSquares.h - How the channels of an lhs go together --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_WEIGHTS_LHSSQUARES_H
#define TENON_COMPILER_WEIGHTS_LHSSQUARES_H

#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <string>
#include <vector>

namespace tenon {

/// The upper triangle of a square matrix of f32: strips of rows, each from the
/// strip's first column on. Its size is completed to whole strips by zeros.
class UpperTriangle {
public:
  static constexpr int64_t stripRows = 64;

  explicit UpperTriangle(int64_t size);

  int64_t size() const { return padded; }
  /// Element [i][j] is row(i)[j], where j is not left of the strip.
  float *row(int64_t i) { return elements.data() + offsetOf(i); }
  const float *row(int64_t i) const { return elements.data() + offsetOf(i); }
  /// From a row of i's strip to the next.
  int64_t rowStride(int64_t i) const { return padded - firstOf(i); }
  /// The first column, and row, of the strip of row i.
  static int64_t firstOf(int64_t i) { return i / stripRows * stripRows; }

private:
  int64_t offsetOf(int64_t i) const;

  int64_t padded;
  std::vector<float> elements;
};

/// The sum of x^T * x over rows x of what a product reads: how much an error in
/// each row of the weight shows in the results, and which cancel each other.
class LhsSquares {
public:
  explicit LhsSquares(int64_t channels) : channels(channels), sums(channels) {}

  /// Whole rows, one behind the other; what is not finite counts as 0. Runs on
  /// all threads; sums do not depend on how many there are.
  void add(llvm::ArrayRef<float> added);

  int64_t getChannels() const { return channels; }
  int64_t getRows() const { return rows; } // So many were added.
  const UpperTriangle &getSums() const { return sums; }

private:
  int64_t channels, rows = 0;
  UpperTriangle sums;
};

/// By the name of the weight.
using SquaresByWeight = std::map<std::string, LhsSquares>;

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_LHSSQUARES_H
