//===- WarpTile.h - Tiles whose sums warps have in fragments --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tiles by mma.sync share, whatever they multiply: a warp has 64 or 32
// columns of a tile and as many of its rows, or twice as many, in fragments of
// 16 x 8 sums.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_WARPTILE_H
#define TENON_COMPILER_TARGETS_CUDA_WARPTILE_H

#include "compiler/Targets/Cuda/TileProduct.h"

namespace tenon::cuda {

class WarpTile : public TileProduct {
public:
  WarpTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile)
      : TileProduct(e, product, tile, kernel::mmaPadding),
        warpColumns(widthOf(tile)), warpsAcross(tile.columns / warpColumns),
        warpRows(tile.rows / (tile.threads / 32 / warpsAcross)) {}

protected:
  /// Columns of a warp. With 64 of both it loads, for each product, two thirds
  /// of what it does with 64 rows and 32 columns; that takes 128 registers.
  static int64_t widthOf(const kernel::DeviceTile &tile) {
    return tile.rows * tile.columns * 32 / tile.threads < 64 * 64 ? 32 : 64;
  }

  void storeChunk(Value ordinal, Value thread) override;

  /// Finds lane and warp of a thread.
  void locateThread(Value thread);
  /// A zero for each fragment of a warp, row by row.
  llvm::SmallVector<Value> zeros();

  const int64_t warpColumns, warpsAcross, warpRows;
  Value lane, warpRow, warpColumn;
  llvm::SmallVector<Value> sums;

private:
  void storePair(Value sum, int64_t half, Value base, int64_t row,
                 int64_t column);
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_WARPTILE_H
