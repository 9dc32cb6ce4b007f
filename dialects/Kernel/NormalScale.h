//===- NormalScale.h - Scales that need no division -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quotient by a scale of f32 is as exact by multiply-adds with the scale's
// reciprocal, as long as none of their steps overflows or loses bits. Of a
// scale that is an operand an attribute says that it is such a one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_NORMALSCALE_H
#define TENON_DIALECTS_KERNEL_NORMALSCALE_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// A unit attribute of graph.quantize.
inline constexpr llvm::StringLiteral normalScaleAttr = "kernel.normal_scale";

inline bool isNormalScale(float scale) {
  return scale >= 0x1p-60f && scale <= 0x1p60f;
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_NORMALSCALE_H
