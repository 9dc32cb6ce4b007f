//===- TileMatmul.h - Tiles of a matrix product and what follows them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of the schedules MatmulSimt and MatmulMma share: where a tile
// lies in the result, how its operands come to shared memory, and how its sums
// leave through it. There, a thread has the sums of one column: neighbouring
// threads read and write neighbours, whatever follows the product, and whatever
// registers the sums were in.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_TILEMATMUL_H
#define TENON_COMPILER_TARGETS_CUDA_TILEMATMUL_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/DeviceTiles.h"

namespace tenon::cuda {

/// A matrix of an operand, by its steps of k and its lines: the rows of lhs,
/// or the columns of rhs. Strides are in elements.
struct OperandMatrix {
  Value base; // Of the first line and step.
  Value lineStride, depthStride;
};

class TileMatmul {
public:
  TileMatmul(DeviceEmitter &e, graph::MatmulOp op, kernel::MatmulView view,
             kernel::DeviceTile tile, int64_t padding);
  virtual ~TileMatmul() = default;

  /// Computes a tile, all threads of a block together.
  void emit(Value ordinal);

protected:
  /// Sums the products of the tile at `row` and `column` of the result's batch.
  virtual void sumProducts() = 0;
  /// Stores its sums of rows [chunkRows * ordinal, + chunkRows) of the tile to
  /// shared memory, `chunkStride` f32 elements for each row.
  virtual void storeChunk(Value ordinal, Value thread) = 0;

  /// Where line `i` of a tile lies among those of the operand, and how many
  /// are behind it, itself included: less than 1 when it is not there.
  struct Line {
    Value index, rest;
  };
  Line lhsLine(Value i);
  Line rhsLine(Value i);

  /// Starts the copies of a panel of both operands to a stage; and adds the
  /// products of a panel that is there to sums.
  using Fetch = llvm::function_ref<void(Value panel, Value stage)>;
  using Add = llvm::function_ref<llvm::SmallVector<Value>(Value stage,
                                                          mlir::ValueRange)>;
  /// The sums over all panels, of `stageBytes` each.
  llvm::SmallVector<Value> sumPanels(mlir::ValueRange zeros, int64_t stageBytes,
                                     Fetch fetch, Add add);
  Line lineOf(Value i, bool isLhs) { return isLhs ? lhsLine(i) : rhsLine(i); }

  void barrier();
  /// An address in shared memory: of byte `offset` behind `from`.
  Value sharedAt(Value from, Value offset);
  Value word(Value number); // As i32.
  /// The thread's number, read here: what is computed of it does not take
  /// registers elsewhere.
  Value threadHere();

  DeviceEmitter &e;
  graph::MatmulOp op;
  kernel::MatmulView view;
  kernel::DeviceTile tile;
  const int64_t chunkStride;
  Value rows, columns, depth; // Columns of one half where there are halves.
  Value sharedMemory;
  OperandMatrix lhs, rhs;

private:
  OperandMatrix matrixOf(const kernel::StridedView &operand, Value tensor,
                         bool isLhs);
  void locate(Value ordinal);
  void emitChunks();
  void storeColumn(Value firstRow, Value column, int64_t threadRows);
  void storeTurned(Value firstRow);
  void storeElement(Value firstRow, Value row, Value column);
  int64_t tileColumns() const {
    return view.halves ? tile.columns / 2 : tile.columns;
  }

  Indices leadDims;
  Value batch, row, column; // Of the tile.
  Value thread;             // As what follows the product sees it.
};

mlir::LogicalResult emitMatmulMma(DeviceEmitter &e, Value tile);
mlir::LogicalResult emitMatmulSimt(DeviceEmitter &e, Value tile);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_TILEMATMUL_H
