//===- MatrixSource.h - Elements of a matrix that is packed ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_MATRIXSOURCE_H
#define TENON_COMPILER_PACKAGE_MATRIXSOURCE_H

#include "compiler/Weights/WeightStore.h"

namespace tenon {

/// A number of 4 bits as a byte.
char widenedNibble(uint32_t number, mlir::Type type);

/// A matrix of a weight, which may be the transpose of one that is stored.
class MatrixSource {
public:
  /// The matrix itself, or its transpose.
  explicit MatrixSource(const Weight &weight, bool isTurned = false);

  /// Bytes of an element of the tensor; nullopt for those that are no bytes.
  static std::optional<int64_t> widthOf(const Weight &weight);

  const int64_t depth, columns;
  const mlir::Type type;

  /// The lower 4 bits of a number.
  uint32_t nibble(int64_t k, int64_t n) const;
  /// The bytes of an element, of `width`.
  void read(int64_t k, int64_t n, int64_t width, char *to) const;

private:
  int64_t rowStride, columnStride;
  bool isNarrow;
  llvm::ArrayRef<char> bytes;
};

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_MATRIXSOURCE_H
