//===- CompensateRounding.h - Rows that make up for others' rounding ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_COMPENSATEROUNDING_H
#define TENON_COMPILER_TRANSFORMS_COMPENSATEROUNDING_H

#include "compiler/Transforms/ErrorSpreading.h"
#include "compiler/Transforms/QuantizeBlock.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon {

/// Rounds columns of a weight to numbers of few bits, so that products by them
/// err least for a lhs like the one that `spreading` is of: rows from the last
/// to the first, each moved by the errors of those behind it. Rows of a block
/// have one scale in a column, which is chosen as the block is reached: the
/// candidate whose numbers cost least.
class CompensatedColumns {
public:
  /// Columns that are rounded at once.
  static constexpr int64_t width = 64;

  using Keep =
      llvm::function_ref<void(int64_t column, int64_t block,
                              const QuantizedBlock &, llvm::ArrayRef<int8_t>)>;

  CompensatedColumns(const ErrorSpreading &spreading, int64_t depth,
                     int64_t block, BlockForm form);

  /// [depth][width], zeros: to be filled in. Infinities and NaN count as 0.
  float *getValues() { return values.data(); }

  /// Calls keep for each block of the first `columns`. Numbers of a last block
  /// beyond the weight stand for 0.
  void round(int64_t columns, Keep keep);

private:
  struct LaneGrid;
  struct Steps {
    int64_t begin, count;
  };

  void moveBlock(Steps rows);
  LaneGrid bestGrid(Steps rows, int64_t column);
  void roundLanes(Steps rows, int64_t column, LaneGrid &grid);
  void keepLanes(Steps rows, int64_t column, int64_t columns,
                 const LaneGrid &grid, Keep keep);

  const ErrorSpreading &spreading;
  int64_t depth, block;
  BlockForm form;
  std::vector<float> values, errors; // [depth][width]
  std::vector<float> moved;          // [block][width]: what becomes numbers.
  std::vector<float> numbers, own;   // Of a block's lanes; own: errors.
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_COMPENSATEROUNDING_H
