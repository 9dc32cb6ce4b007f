//===- PadChannels.h - Convolutions whose channels lie in pairs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PADCHANNELS_H
#define TENON_COMPILER_TRANSFORMS_PADCHANNELS_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Whether an image is moved, or computed element by element, by a kernel that
/// can write another channel.
bool canPadImage(mlir::Value image);
/// Whether an image of bytes can get channels of zeros so that they lie by
/// fours: it is such, and has so few that windows are little larger with them.
bool canPadQuads(int64_t channels, mlir::Value image);
/// Whether devices convolve an image of bytes by tiles: by one group of maps
/// enough, whose channels lie by fours or can with some of zeros.
bool fitsByteTiles(graph::ConvOp op, mlir::Value image);
/// A value with zeros behind the elements of its axes, to these sizes; and so
/// many in front of them.
mlir::Value padded(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, llvm::ArrayRef<graph::Expr> dims,
                   llvm::ArrayRef<graph::Expr> before = {});

/// Whether a convolution with channels last and an odd number of them is the
/// first of its network: its image can be padded and has few channels.
bool canPadChannels(graph::ConvOp op);

/// Makes channels of the pixels of a stride, where that is an even number of
/// them and no more work; else gives image and filter one channel more, of
/// zeros, and the filter's last axis some taps more, of zeros too, where that
/// makes windows of whole steps of a matrix unit.
void padChannels(graph::ConvOp op);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PADCHANNELS_H
