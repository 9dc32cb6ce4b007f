//===- ConvTile.h - The inner kernel of direct convolutions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_CONVTILE_H
#define TENON_COMPILER_TARGETS_CPU_CONVTILE_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// A loop over taps: so many, so many elements apart.
struct TapLoop {
  int64_t taps, stride;
};

/// What a tile function computes: `pixels` by `columns` sums
///
///     out[p][n] = sum over taps t and k < run of
///                 a[p * pixelStride + offset(t) + k] * b[t][k][n]
///
/// in f32, from zero by fused multiply-adds in the order of t and k; of pairs
/// or quads, by what a level has for them. Where pairs of b alone are widened,
/// each distance in a is that many pairs of f32. Pairs of f16 are added up so
/// for some steps, and that is multiplied by `scale` and added to out. Rows of
/// b and out are `width` elements apart. It fetches `fetch` bytes per four
/// steps of k from another address meanwhile. It may add to what out holds, its
/// pixels may be on several lines, and it may leave out products by zeros
/// beside an image.
struct ConvTile {
  int64_t pixels, columns, width, pixelStride, run, fetch;
  llvm::SmallVector<TapLoop> loops; // Outermost first.
  bool accumulates = false;
  StripKind kind = StripKind::F32;
  /// Where a line has `length` pixels, the first of the tile is number `first`
  /// of one, and the next line starts `stride` elements behind.
  struct Lines {
    int64_t length = 0, first = 0, stride = 0;
  } lines = {};
  /// Of each of the equal parts that taps cut a run into, the pixels whose
  /// products are not left out: bit p is pixel p. None: all of all.
  llvm::SmallVector<uint32_t> reached = {};
  /// From one of these parts to the next, where they do not follow each other.
  int64_t partStride = 0;

  /// Of a pixel, from the first one on.
  int64_t offsetOf(int64_t pixel) const;
};

/// The most pixels of a tile with panels of `width` columns, of which so many
/// are computed.
int64_t tilePixels(const CpuLevel &level, int64_t width, int64_t columns);

/// Where a tile's operands and sums lie, and what it fetches.
struct ConvTilePlaces {
  mlir::Value a, b, out, next;
  /// How many taps of the outermost loop there are, if it is not the tile's
  /// number.
  mlir::Value taps = nullptr;
  mlir::Value scale = nullptr; // f32, of pairs of f16.
};

/// Computes that many of a panel's columns, rounded up to vectors: as often as
/// a level's registers want it, by a function that all convolutions of a module
/// share. `tile.columns` need not be set.
void callConvTile(Emitter &e, ConvTile tile, const ConvTilePlaces &places,
                  int64_t columns);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_CONVTILE_H
