//===- ChannelTail.h - Convolutions that are stored channels first --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_CHANNELTAIL_H
#define TENON_DIALECTS_KERNEL_CHANNELTAIL_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// What a kernel has behind a convolution with channels last: element-wise ops
/// that read nothing which differs from pixel to pixel, so that pixels of one
/// map may be computed side by side.
struct ChannelTail {
  mlir::Value last; // Of f32, with channels last.
  /// The last axis of several pixels; 0 where there is one alone.
  int64_t pixelAxis = 0;
  graph::TransposeOp turn; // That puts channels first; null if none follows.
};

/// nullopt where something else is behind it, several results are, or a single
/// pixel is turned.
std::optional<ChannelTail> channelTailOf(graph::ConvOp op);

/// Whether channels, the last axis, become the second one.
bool putsChannelsFirst(graph::TransposeOp op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_CHANNELTAIL_H
