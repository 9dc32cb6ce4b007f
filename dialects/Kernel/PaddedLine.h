//===- PaddedLine.h - Lines of images, with their borders -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_PADDEDLINE_H
#define TENON_DIALECTS_KERNEL_PADDEDLINE_H

#include "dialects/Graph/Graph.h"

namespace tenon::kernel {

/// Elements behind a line that may be read with it.
inline constexpr int64_t lineBehind = 16;

/// Bytes of a line of f32 in scratch memory, with its border, from which
/// vectors of `windows` windows can be read.
inline graph::Expr paddedLineBytes(graph::Expr windows, int64_t stride,
                                   int64_t reach) {
  graph::Expr cache = graph::Expr::constant(windows.getContext(), 64);
  return (((windows + lineBehind) * stride + reach) * 4).ceilDiv(cache) * 64;
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PADDEDLINE_H
