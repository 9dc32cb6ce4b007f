//===- Windows.h - The sliding windows of convolutions and pools ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_WINDOWS_H
#define TENON_COMPILER_IMPORT_WINDOWS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

enum class AutoPad { None, Valid, SameUpper, SameLower };

/// `auto_pad` of a node; a problem when it is no value of it.
AutoPad autoPad(NodeConverter &node);

/// How windows lie on the spatial axes of an input [N, C, spatial..].
struct Windows {
  AutoPad mode = AutoPad::None;
  llvm::SmallVector<int64_t> strides, dilations;
  Emitter::Exprs kernel;    // Taps along each axis.
  Emitter::Exprs input;     // Sizes of the spatial axes.
  Emitter::Exprs low, high; // Borders, resolved by `readWindows`.

  size_t rank() const { return input.size(); }
  /// How far one window reaches along an axis.
  graph::Expr reach(size_t axis) const;
  /// All lows, then all highs.
  Emitter::Exprs pads() const;
};

/// An attribute with one number in lo..2^31 per axis; `missing` for each axis
/// when it is left out.
llvm::SmallVector<int64_t> perAxisAttr(NodeConverter &node,
                                       llvm::StringRef name, size_t rank,
                                       int64_t missing, int64_t lo);

/// Reads strides, dilations, pads and auto_pad for windows of `kernel` taps on
/// an input of these dims. Check `node.failed()` before use.
Windows readWindows(NodeConverter &node, llvm::ArrayRef<graph::Expr> dims,
                    llvm::ArrayRef<graph::Expr> kernel);

/// How many windows fit along each axis. With `ceil`, one that only starts
/// inside the input counts too.
Emitter::Exprs countWindows(NodeConverter &node, const Windows &windows,
                            bool ceil = false);

/// [N, spatial.., C] as [N, C, spatial..], and back. What has no spatial axis
/// is a problem.
mlir::Value channelsSecond(NodeConverter &node, mlir::Value x);
mlir::Value channelsLast(NodeConverter &node, mlir::Value x);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_WINDOWS_H
