//===- DepthwiseTile.h - Convolutions of small groups, tile by tile -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_DEPTHWISETILE_H
#define TENON_COMPILER_TARGETS_CPU_DEPTHWISETILE_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// What a tile function computes, for a vector of channels of which `count`
/// lanes are there: sums of `pixels` outputs side by side,
///
///     out[p] = sum over i < lines, m < members and taps t of
///              a[i][j](m) * b[i][t][m]
///     with j = p * stride + t * dilation, where j lies in [low, high),
///
/// in f32, from zero by fused multiply-adds in the order of i, m and t. Each
/// lane of a(m) is member m of its group: channels that follow each other, from
/// a multiple of `members` on. The vector has whole groups, or is a part of
/// one, with whose first channel a begins then. With bytes for a, of one
/// member, what is multiplied are those less `zero`; with bf16, those. Elements
/// apart from each other lie: columns of a, and members of b, `channels`; lines
/// of a `lineStride`; pixels of out `width`.
struct DepthwiseTile {
  enum Image { F32, Unsigned, Signed, Bf16 };

  int64_t pixels, taps, stride, dilation, low, high, count;
  int64_t channels, lineStride, width;
  int64_t members; // A power of two.
  Image image = F32;
};

/// The type of the image's elements in memory.
mlir::Type typeOf(mlir::OpBuilder &b, DepthwiseTile::Image image);

/// The most pixels of a tile.
int64_t depthwisePixels(const CpuLevel &level, int64_t members);

/// The function (a, b, out, lines, zero) of a tile, which all convolutions of a
/// module share.
mlir::LLVM::LLVMFuncOp depthwiseTile(mlir::ModuleOp module,
                                     const CpuLevel &level,
                                     const DepthwiseTile &tile);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_DEPTHWISETILE_H
