//===- FewBitsRhs.cpp - Weights of few bits that devices multiply ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/FewBitsRhs.h"
#include "dialects/Kernel/FragmentLayout.h"

using namespace mlir;

namespace tenon::kernel {

std::optional<std::string> refusalOfFragments(const QuantizedRhs &rhs) {
  bool isNibbles = rhs.bits == 4;
  if (!rhs.codebook.empty())
    return "numbers of rhs stand for the values of a codebook";
  if (!isNibbles && (!rhs.isSigned() || rhs.zeros || rhs.zeroPoint != 0))
    return "rhs has numbers of 8 bits with zero points";
  if (isNibbles && rhs.zeros && rhs.isSigned())
    return "rhs has numbers of 4 bits with a sign and zero points";
  int64_t offset = rhs.zeroPoint + (rhs.isSigned() ? 8 : 0);
  if (isNibbles && (offset < 0 || offset > 15))
    return "the zero point of rhs is none of its numbers";
  if (rhs.blocks > 1 && rhs.block % fragmentSteps != 0)
    return "blocks of rhs are no multiple of 32 steps of k";
  Type scale = graph::getElementType(rhs.scales);
  if (!scale.isBF16() && !scale.isF32())
    return "scales of rhs are neither f32 nor bf16";
  return std::nullopt;
}

} // namespace tenon::kernel
