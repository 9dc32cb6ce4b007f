//===- RowMajor.cpp - Weights as their tensors lie ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/RowMajor.h"
#include "compiler/Weights/WeightBlock.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstring>

namespace tenon {
namespace {

bool isReadByBlocks(const Weight &weight) {
  mlir::Type type = weight.elementType;
  return type.isF32() || type.isBF16() || type.isF16();
}

/// Stores floats as numbers of a weight's type.
void narrow(llvm::ArrayRef<float> from, mlir::Type type,
            std::vector<char> &to) {
  int64_t width = elementBytes(type).value_or(0);
  to.resize(from.size() * size_t(width));
  if (type.isF32())
    std::memcpy(to.data(), from.data(), to.size());
  for (size_t i = 0; !type.isF32() && i < from.size(); ++i) {
    uint16_t bits = type.isBF16() ? roundToBf16(from[i]) : roundToF16(from[i]);
    std::memcpy(&to[i * sizeof bits], &bits, sizeof bits);
  }
}

} // namespace

void layRows(const Weight &weight, ByteSink sink) {
  if (!weight.isMade() || !isReadByBlocks(weight))
    return sink(weight.bytes());
  std::vector<char> piece;
  readRows(weight, [&](int64_t, llvm::ArrayRef<float> rows) {
    narrow(rows, weight.elementType, piece);
    sink(piece);
  });
}

} // namespace tenon
