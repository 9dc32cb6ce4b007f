//===- ListedRows.h - Products of some rows only --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a condition per row says that nothing needs a product's sums (see
// kernel::SkippedRows), the others of a group of blocks are listed and brought
// together, so that tiles stay full.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_LISTEDROWS_H
#define TENON_COMPILER_TARGETS_CPU_LISTEDROWS_H

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon::cpu {

class ListedRows {
public:
  ListedRows(Emitter &e, kernel::SkippedRows skipped);

  /// Lists the rows of a group of a batch that are computed: from row `first`
  /// on, those below `rows`.
  void list(Value batch, Value first, Value rows);
  /// How many there are, and how many lie before a block of the group.
  Value count() { return starts.back(); }
  Value before(Value block);
  Value rowAt(Value position);
  /// out[position * stride + i] = their elements from `k` on, `depth` of them,
  /// as f32.
  void copy(const Matrix &lhs, Value k, Value depth, Value out, Value stride);
  /// Calls `body` for those of [from, to) that are not listed.
  void forEachSkipped(Value from, Value to,
                      llvm::function_ref<void(Value row)> body);

private:
  Value isSkipped(Value row);

  Emitter &e;
  kernel::SkippedRows skipped;
  Value rowsOnStack;
  // Of the current group.
  Value batch;
  Indices starts; // Of each block, and the end.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LISTEDROWS_H
