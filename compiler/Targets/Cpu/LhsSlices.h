//===- LhsSlices.h - The left side of a product, slice by slice -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles read the rows of a slice as they lie, or from a copy in scratch memory:
// where their elements lie apart or are of another type than is multiplied,
// where only some rows are computed, and where rows lie a multiple of 4 KiB
// apart and meet in too few lines of the cache.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_LHSSLICES_H
#define TENON_COMPILER_TARGETS_CPU_LHSSLICES_H

#include "compiler/Targets/Cpu/ListedRows.h"
#include "compiler/Targets/Cpu/RhsPanels.h"

namespace tenon::cpu {

class LhsSlices {
public:
  /// The arguments outlive this; `listed` is null where all rows are computed.
  LhsSlices(Emitter &e, const kernel::MatmulView &view, RhsPanels &rhs,
            ListedRows *listed);

  /// Whether slices are copied, and whether they are where the machine's cache
  /// has few ways: there is code for both then.
  bool copies() const { return isCopied; }
  bool mayCopy() const { return mayBeCopied; }
  void setCopies(bool copies) { isCopied = copies; }
  /// Whether what tiles read is interleaved, as far as its rows are tiles.
  bool interleaves() const { return isCopied && canInterleave; }

  void setScratch(Value area) { copy = area; }
  void startBatch(const Matrix &matrix) { lhs = matrix; }
  const Matrix &ofBatch() const { return lhs; }

  /// The steps of k that so many rows of a batch take at once.
  Value stepsAtOnce(Value rows, Value depth);
  /// Copies steps [k, kEnd) of `count` rows from `first` on, or of the list.
  void copySlice(Value first, Value count, Value k, Value kEnd);
  /// Where a strip's block of k finds its rows, those from `row` on of a slice
  /// that begins at `first`; its kind and depth are known.
  void placeRows(Strip &work, Value row, Value first, Value k);

private:
  void round(Value first, Value count, Value k, Value pairs);
  int64_t bytesOfCopy() const;
  Value factors();
  Value strideOfCopy(Value steps);

  Emitter &e;
  const kernel::MatmulView &view;
  RhsPanels &rhs;
  ListedRows *listed;
  StripKind kind;
  int64_t rowPadding; // Elements between rows of a copy.
  bool canInterleave, isCopied, mayBeCopied;
  Value copy;
  Matrix lhs; // Of the current batch.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LHSSLICES_H
