//===- NormalizedRows.h - Norms of the last axis --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_NORMALIZEDROWS_H
#define TENON_COMPILER_IMPORT_NORMALIZEDROWS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// x normalized along its last axis by LayerNormOp or RmsNormOp, with the
/// node's epsilon; `missing` where it has none.
template <typename Op>
mlir::Value normalizedRows(NodeConverter &node, mlir::Value x, double missing) {
  int64_t rank = node.dimsOf(x).size();
  double epsilon = node.floatAttr("epsilon", missing);
  if (!node.failed() && (rank == 0 || !(epsilon >= 0)))
    (void)node.invalid("it needs rows and an epsilon that is not negative");
  return node.emit<Op>(
      {x}, {node.i64("axis", rank - 1), node.f64("epsilon", epsilon)});
}

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_NORMALIZEDROWS_H
