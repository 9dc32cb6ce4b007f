//===- TileAttention.h - Tiles of an attention, key by key ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of the schedules AttentionMma, AttentionRows and AttentionSimt
// share: where a tile's queries and keys lie, how they come to shared memory,
// which scores count, the softmax over keys that come one tile after the other,
// and how sums leave. They differ in their products and in which thread has
// which scores and sums.
//
// A warp has rows of its own, so that nothing but the copies of keys and values
// needs more than it. Of both there is one tile in shared memory: while scores
// are computed of keys, the values come; while values are summed, the next
// keys.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_TILEATTENTION_H
#define TENON_COMPILER_TARGETS_CUDA_TILEATTENTION_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/DeviceAttention.h"

namespace tenon::cuda {

class TileAttention {
public:
  TileAttention(DeviceEmitter &e, kernel::DeviceAttention view);
  virtual ~TileAttention() = default;

  /// Computes a row of the launch, all threads of a block together.
  void emit(Value row);

protected:
  using Values = llvm::SmallVector<Value>;

  /// Which of a tile's scores a lane has: rows that it shares with `rowLanes`
  /// neighbours, and of each some columns. Row and column of a slot; columns
  /// are `firstColumn` + a constant.
  struct Slots {
    int64_t rows, columns, rowLanes;
  };
  virtual Slots slots() const = 0;
  virtual Value rowAt(int64_t slot) = 0;
  virtual Value firstColumn() = 0;
  virtual int64_t columnBehind(int64_t slot) = 0;

  /// The products of queries and keys, f32: of a row slot all columns, then the
  /// next.
  virtual Values scores() = 0;
  /// Sums over values: at first, with those of each row times a factor, with
  /// the products of weights and values added, and on their way to sumAt.
  virtual Values zeroSums() = 0;
  virtual Values scaled(mlir::ValueRange sums, llvm::ArrayRef<Value> byRow) = 0;
  virtual Values withValues(llvm::ArrayRef<Value> weights, Values sums) = 0;
  virtual void storeSums(llvm::ArrayRef<Value> sums) = 0;

  void warpBarrier();
  /// Two f32 in a word, rounded to 16 bits; the first one in its lower half.
  Value rounded(Value low, Value high);
  /// The place of byte `offset` of shared memory, or behind a pointer.
  Value sharedAt(Value offset);
  Value at(Value pointer, int64_t bytes);
  Value at(Value pointer, Value bytes);
  /// Where the sum of a row and column of the tile goes in the end.
  Value sumAt(Value row, Value column);
  Value word(int64_t number); // As i32.
  Value real(double value);   // As f32.
  Value multiply(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value call(llvm::StringRef intrinsic, mlir::Type type, mlir::ValueRange of);

  DeviceEmitter &e;
  const kernel::DeviceAttention view;
  graph::AttentionOp op;
  const mlir::Type f32;
  Value sharedMemory, lane;
  Value warpRow; // The first of the warp's rows in the tile.

private:
  /// In `body`, thread, lane and warpRow are computed of a number that is read
  /// there.
  void locally(llvm::function_ref<void()> body);
  void readThread();
  void locate(Value row);
  void findKeys();
  std::pair<Value, Value> queryAt(Value number);
  Value bufferOf(const kernel::StridedView &seen);

  /// Rows of an operand, and where they go in shared memory.
  struct Rows {
    const kernel::StridedView &operand;
    int64_t size, padded; // Elements.
    int64_t count;        // Of a tile.
    int64_t place, bytes; // Of the first one, and from row to row.
    const kernel::StridedView *scales = nullptr; // Of rows of bytes.
  };
  /// 16 bytes of a row in memory; `place` is where they go in shared memory.
  /// All threads have one before they have their next: `before` are of others.
  struct Chunk {
    Value row, element, place;
    int64_t before;
  };
  Rows queryRows();
  Rows keyRows();
  Rows valueRows();
  int64_t elementsOfChunk(const Rows &rows);
  void eachChunk(const Rows &rows, llvm::function_ref<void(Chunk)> body);
  /// Where row i of a tile is in memory, behind the first one of its head, or
  /// of its batch where no head is given.
  using OffsetOf =
      llvm::function_ref<Value(const kernel::StridedView &seen, Value i)>;
  void copyRows(const Rows &rows, Value head, OffsetOf offsetOf, Value there);
  void copyChunk(const Rows &rows, Value from, Value to, Value size);
  Value inBatch(const kernel::StridedView &seen, Value head);
  void copyKeyed(const Rows &rows, Value start);
  void copyNextKeys(Value start);
  void commit();
  void meet();
  void meet(const Rows &rows);
  Value stagedAt(int64_t before);
  Value stagedScaleAt(int64_t before);
  void convertRows(const Rows &rows);
  Values floatsOf(const Rows &rows, const Chunk &chunk);
  Values floatsOfBytes(Value four, Value scale);
  void storeConverted(llvm::ArrayRef<Value> four, Value place);
  void barrier();

  // AttentionScores.cpp
  Values withAddends(Value start, Values scores);
  Values withoutUnseen(Value start, Values scores);
  void addBias(unsigned ordinal, Value number,
               llvm::ArrayRef<Value> keysOfColumns,
               llvm::MutableArrayRef<Value> scores);
  Value capped(Value product);
  Value overRow(Value mine, bool isSum);
  Value shiftOf(Value largest);
  Value power(Value score, Value shift);

  void sumTiles();
  void copyTiles();
  Values step(Value start, mlir::ValueRange before);

  // AttentionResults.cpp
  void storeStats(llvm::ArrayRef<Value> largest, llvm::ArrayRef<Value> totals);
  void finish();
  Value sharePiece();
  void joinPieces();
  void joinStats();
  void joinRows(Value first, int64_t rows);
  void storeRows();
  Value deadValue(Value position, Value column);
  Value statAt(Value row, int64_t ordinal);
  Value pieceAt(Value ordinal, Value row, Value column);
  void eachRow(llvm::function_ref<void(Value row)> body);
  void eachColumn(llvm::function_ref<void(Value column)> body);

  const bool isPlain;    // Scores are the products, until powers are taken.
  const double exponent; // Their factor in powers of two.
  Value thread, group, listLength, keys, pieces, units, blocks;
  // Of the row of the launch: its unit and piece; where in its list the unit
  // starts, and how many numbers it has; the keys that are seen.
  Value unit, piece, batch, keyHead, first, count, from, to;
  Value offset; // From a query's position to the last key that it sees.
};

/// How a kernel of one of the schedules runs; nothing for others.
std::optional<kernel::DeviceTile> attentionTileOf(kernel::FuncOp kernel);
mlir::LogicalResult emitAttentionTile(DeviceEmitter &e, Value row);

void emitAttentionMma(DeviceEmitter &e, const kernel::DeviceAttention &view,
                      Value row);
void emitAttentionSimt(DeviceEmitter &e, const kernel::DeviceAttention &view,
                       Value row);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_TILEATTENTION_H
