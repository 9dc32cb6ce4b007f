//===- TileProduct.h - Tiles of a product and what follows them -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels by tiles share: where a tile lies in the result, how its
// operands come to shared memory, and how its sums leave through it. There, a
// thread has the sums of one column: neighbouring threads read and write
// neighbours, whatever follows the product, and whatever registers the sums
// were in.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_TILEPRODUCT_H
#define TENON_COMPILER_TARGETS_CUDA_TILEPRODUCT_H

#include "compiler/Targets/Cuda/Product.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Ptx/Ptx.h"

namespace tenon::cuda {

class TileProduct {
public:
  TileProduct(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
              int64_t padding);
  virtual ~TileProduct() = default;

  /// Computes a tile, all threads of a block together.
  void emit(Value ordinal);

protected:
  /// Sums the products of the tile at `row` and `column` of the result's batch.
  virtual void sumProducts() = 0;
  /// Stores its sums of rows [chunkRows * ordinal, + chunkRows) of the tile to
  /// shared memory, `chunkStride` f32 elements for each row.
  virtual void storeChunk(Value ordinal, Value thread) = 0;

  /// Line `i` of a tile's.
  Line lhsLine(Value i);
  Line rhsLine(Value i);
  Line lineOf(Value i, bool isLhs) { return isLhs ? lhsLine(i) : rhsLine(i); }
  Operand &operandOf(bool isLhs) { return isLhs ? *product.lhs : *product.rhs; }

  /// What a thread copies of an operand's panel.
  struct PanelCopies {
    Operand *operand;
    ChunkShape shape;
    llvm::SmallVector<Chunk> chunks;
    Value place;   // In the stage, in bytes, of the first,
    int64_t apart; // and from one to the next.

    void add(Line line, Value step);
  };
  void start(const PanelCopies &copies, Value panel, Value stage);

  /// Adds the products of a panel that is there to sums.
  using Add = llvm::function_ref<llvm::SmallVector<Value>(Value stage,
                                                          mlir::ValueRange)>;
  /// Starts the copies of a panel.
  using Fetch = llvm::function_ref<void(Value panel, Value stage)>;
  /// The sums over all panels, of `stageBytes` each.
  llvm::SmallVector<Value> sumPanels(mlir::ValueRange zeros, int64_t stageBytes,
                                     Fetch fetch, Add add);
  llvm::SmallVector<Value> sumPanels(mlir::ValueRange zeros, int64_t stageBytes,
                                     llvm::ArrayRef<PanelCopies> copies,
                                     Add add) {
    auto fetch = [&](Value panel, Value stage) {
      for (const PanelCopies &all : copies)
        start(all, panel, stage);
    };
    return sumPanels(zeros, stageBytes, fetch, add);
  }

  /// Steps of a panel: while the products of one are added, the factors of the
  /// next are loaded, across panels too.
  struct Steps {
    int64_t count;
    llvm::function_ref<llvm::SmallVector<Value>(Value stage, int64_t step)>
        load;
    llvm::function_ref<llvm::SmallVector<Value>(mlir::ValueRange factors,
                                                mlir::ValueRange sums)>
        add;
  };
  llvm::SmallVector<Value> sumSteps(mlir::ValueRange zeros, int64_t stageBytes,
                                    llvm::ArrayRef<PanelCopies> copies,
                                    const Steps &steps);

  void barrier();
  /// An address in shared memory: of byte `offset` behind `from`.
  Value sharedAt(Value from, Value offset);
  Value word(Value number); // As i32.
  /// The thread's number, read here: what is computed of it does not take
  /// registers elsewhere.
  Value threadHere();
  /// The first column of the tile: of each half where there are two.
  Value tileColumn() const { return column; }
  /// Whether panels are known to end where k does.
  bool hasWholeDepth() const;

  DeviceEmitter &e;
  Product &product;
  kernel::DeviceTile tile;
  const int64_t chunkStride;
  Value sharedMemory;

private:
  struct Ring;
  Ring ringOf(int64_t stageBytes, Fetch fetch,
              llvm::ArrayRef<PanelCopies> copies = {});
  void fetchInto(const Ring &ring, Value panel, Value offset);
  void fetchFirst(const Ring &ring);
  void fetchWeightsFirst(const Ring &ring);
  Value stageBefore(const Ring &ring, Value offset);
  Value stageBehind(const Ring &ring, Value offset);
  void meetPanel();
  llvm::SmallVector<Value> sumRing(const Ring &ring, mlir::ValueRange zeros,
                                   const Steps &steps);
  llvm::SmallVector<Value> finishPanels(mlir::ValueRange sums);
  void store(llvm::ArrayRef<Copy> parts, mlir::Type type, Value place);
  void copyOrFill(const Copy &copy, int64_t bytes, Value fill, ptx::Cache cache,
                  Value to);
  void locate(Value ordinal);
  llvm::SmallVector<Value> joinPieces(mlir::ValueRange sums);
  void emitChunks();
  void storeColumn(Value firstRow, Value column, int64_t threadRows);
  void storeTurned(Value firstRow);
  void storeElement(Value firstRow, Value row, Value column);
  int64_t tileColumns() const { return tile.columns / product.results.size(); }

  Value part, piece; // The tile among all of them, and which steps of k.
  Value isDone;      // Whether the sums are those of all pieces; null: yes.
  Value row, column; // Of the tile.
  Value thread;      // As what follows the product sees it.
};

/// A tile of a product of f32, in which each thread has sums of its own; and of
/// 16-bit floats, by the matrix instructions of warps.
void emitSimtTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  Value ordinal);
void emitMmaTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                 Value ordinal);

/// A tile of a product of bf16 by a weight of few bits.
void emitFewBitsTile(DeviceEmitter &e, Product &product,
                     kernel::DeviceTile tile, const kernel::QuantizedRhs &rhs,
                     Value ordinal);

/// A tile of a product of 8-bit numbers (see dialects/Kernel/ByteProduct.h) by
/// a weight of so many rows; those of lhs may be ui8 less 128.
struct ByteOperands {
  mlir::BlockArgument rhs;
  int64_t depth;
  bool isFromMiddle;
};
void emitByteTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  const ByteOperands &operands, Value ordinal);

/// A tile of a product of f32 by the matrix instructions: of factors rounded to
/// tf32, and of factors split in two parts of that.
void emitTf32Tile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  Value ordinal);
void emitTf32x3Tile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                    Value ordinal);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_TILEPRODUCT_H
