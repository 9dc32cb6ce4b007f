//===- RowsMatmul.h - A block's part of a product of few rows -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_ROWSMATMUL_H
#define TENON_COMPILER_TARGETS_CUDA_ROWSMATMUL_H

#include "compiler/Targets/Cuda/FewBits.h"
#include "compiler/Targets/Cuda/Product.h"
#include "dialects/Kernel/FewRows.h"

namespace tenon::cuda {

/// The threads of a block sum a part of the result, or a piece of k of it.
class RowsMatmul {
public:
  RowsMatmul(DeviceEmitter &e, MatmulProduct &product);

  void emit(Value ordinal);

private:
  void barrier();
  void locate(Value ordinal);
  void sumRows();

  // MatmulRowsSums.cpp
  llvm::SmallVector<Value> lhsOffsets(int64_t lines);
  Value rhsOffset(Value i);
  llvm::SmallVector<llvm::SmallVector<Value>>
  loadLhs(llvm::ArrayRef<Value> offsets, Value k, int64_t count);
  llvm::SmallVector<Value> addRuns(llvm::ArrayRef<Value> lhs,
                                   llvm::ArrayRef<Value> rhs,
                                   llvm::ArrayRef<Value> runs, int64_t count,
                                   mlir::ValueRange before);
  void sumAlongColumns(int64_t lines);
  void storeColumnSums(llvm::SmallVector<Value> sums,
                       llvm::ArrayRef<Value> places, int64_t lines);
  void addLanes(llvm::MutableArrayRef<Value> sums, int64_t apart);
  llvm::SmallVector<Value> addSteps(llvm::ArrayRef<Value> lhs,
                                    llvm::ArrayRef<Value> rhs,
                                    llvm::ArrayRef<Value> steps,
                                    mlir::ValueRange before);
  void sumAlongDepth(int64_t lines);

  // MatmulRowsFewBits.cpp
  /// What a lane has of a block of k: of each group of rows, and each panel.
  struct LaneBlock {
    llvm::SmallVector<llvm::SmallVector<Value>, 2> lhs;
    llvm::SmallVector<FewBits::Words, 2> rhs;
  };
  llvm::SmallVector<Value> lhsPairs(Value offset, Value k, bool mayEnd);
  LaneBlock loadBlock(llvm::ArrayRef<Value> lhs, Value block, bool mayEnd);
  void addBlock(const LaneBlock &block, llvm::MutableArrayRef<Value> sums);
  void sumFewBits(int64_t lines);
  void storeFewBitsSums(llvm::ArrayRef<Value> sums, int64_t groups);

  void eachSum(int64_t columns, llvm::function_ref<void(Value)> body);
  Value sumOfWarps(Value i);
  Value joinBlocks();
  void storeResults();

  DeviceEmitter &e;
  MatmulProduct &product;
  const MatrixOperand &left, &right;
  const kernel::MatmulView &view;
  const kernel::FewRows plan;
  std::optional<FewBits> fewBits; // Where rhs is such.
  const mlir::Type f32;
  const Value sharedMemory, thread, pieces;
  const int64_t outColumns;  // Of one half where there are halves.
  Value part, piece;         // Of this block, and
  Value row, column, height; // where its sums are in the batch;
  Value from, to;            // its steps of k.
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_ROWSMATMUL_H
