//===- PlanesView.h - Convolutions of each channel, plane by plane --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with channels first and a group for each channel, as the
// DepthwisePlanes schedule computes it: a row of the launch is a line of the
// result, which vectors lie along. What some lines read is copied to scratch
// memory before, with the border around it, so that no tap lies outside.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PLANESVIEW_H
#define TENON_DIALECTS_KERNEL_PLANESVIEW_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

struct PlanesView {
  graph::ConvOp op;
  /// Of a filter: lines (one where there is no axis of them), and pixels.
  int64_t lines, pixels;
  int64_t lineStride, pixelStride, lineDilation, pixelDilation;

  /// Lines of a result whose image is in scratch memory at a time.
  static constexpr int64_t blockLines = 16;
  /// Bytes of each of the lines that wait there.
  Expr lineBytes() const;
  Geometry geometry(mlir::Block &body) const;
};

/// nullopt with a reason for convolutions that it does not suit, whichever
/// axis their channels are.
std::optional<PlanesView> planesViewOf(graph::ConvOp op, std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PLANESVIEW_H
