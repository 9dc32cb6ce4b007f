//===- MatmulBatches.h - Products of many pairs of matrices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_MATMULBATCHES_H
#define TENON_COMPILER_TARGETS_CPU_MATMULBATCHES_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon::cpu {

/// Runs `body` for what of each batch, of so many rows of the launch, is in
/// rows [begin, end) of the kernel: its part [from, to).
void forEachBatch(
    Emitter &e, Value rowsOfBatch,
    llvm::function_ref<void(Value batch, Value from, Value to)> body);

/// Where the matrix of a batch begins in the memory of `tensor`, which is an
/// operand of a product whose other axes are `batchDims`: in units of
/// `elements`, which all strides are multiples of.
Value batchOffset(Emitter &e, const kernel::StridedView &view, Value tensor,
                  llvm::ArrayRef<Expr> batchDims, Value batch,
                  int64_t elements = 1);

/// What tiles of a batch fetch of the next one, where both matrices are small
/// and lie dense: the hardware, which follows lines, begins anew with each.
class NextBatch {
public:
  /// nullopt where the matrices are none such.
  static std::optional<NextBatch> of(graph::MatmulOp op,
                                     const kernel::MatmulView &view);

  /// A batch begins, behind which the next one's matrices are.
  void start(Value lhs, Value rhs);
  /// Has the tiles of a panel's strip fetch its share.
  void share(Emitter &e, Strip &work, Value panel) const;

private:
  int64_t lhsBytes, rhsBytes, depth;
  int64_t panels, rhsPanels; // The first ones fetch rhs, the others lhs.
  Value lhs, rhs;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_MATMULBATCHES_H
