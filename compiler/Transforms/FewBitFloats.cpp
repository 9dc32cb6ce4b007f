//===- FewBitFloats.cpp - Numbers that bf16 has ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/Matching.h"
#include <cstring>

using namespace mlir;

namespace tenon {

bool isInFewBits(Value value) {
  return isa_and_present<graph::RoundFloatOp>(
      behind<graph::CastOp, graph::ReshapeOp, graph::TransposeOp>(value));
}

bool fitsBf16(const Weight &weight) {
  if (weight.elementType.isBF16())
    return true;
  if (weight.widened)
    return fitsBf16(*weight.widened);
  if (weight.transposed)
    return fitsBf16(*weight.transposed);
  if (!weight.joined.empty())
    return llvm::all_of(weight.joined,
                        [](const Weight *part) { return fitsBf16(*part); });
  if (!weight.elementType.isF32())
    return false;
  ArrayRef<char> bytes = weight.bytes();
  uint32_t lost = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    lost |= bits & 0xFFFF;
  }
  return lost == 0;
}

bool multipliesFewBits(Operation *product, const WeightStore *weights) {
  if (!isa<graph::ConvOp, graph::MatmulOp>(product))
    return false;
  auto fits = [&](Value value) {
    if (isInFewBits(value))
      return true;
    auto stored = dyn_cast_if_present<graph::WeightOp>(
        behind<graph::ReshapeOp, graph::TransposeOp>(value));
    const Weight *weight =
        stored && weights ? weights->lookup(stored.getName()) : nullptr;
    return weight && fitsBf16(*weight);
  };
  Value lhs = product->getOperand(0), rhs = product->getOperand(1);
  return (isInFewBits(lhs) || isInFewBits(rhs)) && fits(lhs) && fits(rhs);
}

} // namespace tenon
