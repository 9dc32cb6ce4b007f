//===- MatrixSource.cpp - Elements of a matrix that is packed -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/MatrixSource.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstring>

namespace tenon {

char widenedNibble(uint32_t number, mlir::Type type) {
  bool isNegative = !type.isUnsignedInteger() && number > 7;
  return char(isNegative ? int(number) - 16 : int(number));
}

MatrixSource::MatrixSource(const Weight &weight, bool isTurned)
    : depth(weight.shape[isTurned ? 1 : 0]),
      columns(weight.shape[isTurned ? 0 : 1]), type(weight.elementType),
      rowStride(bool(weight.transposed) != isTurned ? 1 : columns),
      columnStride(bool(weight.transposed) != isTurned ? depth : 1),
      isNarrow(hasNibbles(weight.elementType)),
      bytes((weight.transposed ? *weight.transposed : weight).bytes()) {}

std::optional<int64_t> MatrixSource::widthOf(const Weight &weight) {
  return hasNibbles(weight.elementType) ? 1 : elementBytes(weight.elementType);
}

uint32_t MatrixSource::nibble(int64_t k, int64_t n) const {
  int64_t at = k * rowStride + n * columnStride;
  if (!isNarrow)
    return uint32_t(bytes[size_t(at)]) & 15;
  return uint32_t(bytes[size_t(at / 2)] >> (at % 2 * 4)) & 15;
}

void MatrixSource::read(int64_t k, int64_t n, int64_t width, char *to) const {
  int64_t at = k * rowStride + n * columnStride;
  if (isNarrow)
    *to = widenedNibble(nibble(k, n), type);
  else
    std::memcpy(to, bytes.data() + at * width, size_t(width));
}

} // namespace tenon
