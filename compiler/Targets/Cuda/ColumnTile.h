//===- ColumnTile.h - Tiles that multiply columns by rows -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tiles share whose rhs lies by panels of 32 columns, as warps read it: a
// warp has a panel, and gives it to the matrix instructions as their lhs. So
// rows of the product's lhs are their rhs, of which a lane has 16 bytes of one
// row at a time: neighbouring steps of k.
//
// A panel of lhs is 64 bytes of each line, in chunks of 16. What rhs has for
// those steps lies behind it, one tensor after the other.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_COLUMNTILE_H
#define TENON_COMPILER_TARGETS_CUDA_COLUMNTILE_H

#include "compiler/Targets/Cuda/WarpTile.h"

namespace tenon::cuda {

class ColumnTile : public WarpTile {
protected:
  /// `partBytes` are what each tensor of rhs has for a block of a panel; panels
  /// of `halves` ranges of columns lie in turn.
  ColumnTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
             int64_t halves, llvm::ArrayRef<int64_t> partBytes);

  /// Where in memory tensor `part` of rhs has a block of a panel.
  virtual Value addressOf(size_t part, Value panel, Value block) = 0;
  /// A fragment of zeros, and the sums with the products of a block.
  virtual Value noSums() = 0;
  virtual llvm::SmallVector<Value> addBlock(Value stage,
                                            mlir::ValueRange before) = 0;

  /// Where a stage has what tensor `part` of rhs has for the warp's panel.
  Value partAt(Value stage, size_t part);
  /// Where it has the lane's bytes of a row: `row`, a multiple of groupRows, of
  /// the warp's, and as many more as lanes differ in.
  Value rowAt(Value stage, int64_t row);
  /// Rows whose products are two fragments of sums. Sum i of fragment f of lane
  /// 4 * g + t is that of column 16 * f + g + 8 * (i / 2) and row 2 * t + i
  /// % 2.
  static constexpr int64_t groupRows = 8, groupSums = 2;

private:
  void sumProducts() override;
  void storeChunk(Value ordinal, Value thread) override;

  Value placeOf(Value row, Value chunk);
  PanelCopies planLhs(Value thread);
  Value memoryPanel(Value i);
  void startPart(size_t part, Value block, Value stage);

  const int64_t halves, panels; // Of the tile.
  llvm::SmallVector<int64_t> partBytes, partStarts;
  int64_t stageBytes;
  Value lhsPlace; // Of the lane's first row, in a stage.
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_COLUMNTILE_H
