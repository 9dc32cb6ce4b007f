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

template <uint16_t round(float)>
void roundEach(llvm::ArrayRef<float> from, char *to) {
  for (float value : from) {
    uint16_t bits = round(value);
    std::memcpy(to, &bits, sizeof bits);
    to += sizeof bits;
  }
}

/// Stores floats as numbers of a weight's type.
void narrow(llvm::ArrayRef<float> from, mlir::Type type,
            std::vector<char> &to) {
  int64_t width = elementBytes(type).value_or(0);
  to.resize(from.size() * size_t(width));
  if (type.isF32())
    std::memcpy(to.data(), from.data(), to.size());
  else if (type.isBF16())
    roundEach<roundToBf16>(from, to.data());
  else
    roundEach<roundToF16>(from, to.data());
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
