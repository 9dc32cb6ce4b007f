//===- Joins.h - Kernels that only join what others compute ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A concatenation moves all that it joins. Where that is known in time, whoever
// computes a part stores it where it ends up, and nothing is left to do: as it
// is, where a part is one run of bytes, or with its rows apart, where parts
// take turns (see dialects/Kernel/ResultPlaces.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_LOWERING_JOINS_H
#define TENON_COMPILER_LOWERING_JOINS_H

#include "dialects/Kernel/Kernel.h"

namespace tenon {

/// Where an operand of a join ends up in its result.
struct JoinedPart {
  mlir::Value operand;
  graph::Expr offset; // In bytes.
  /// Elements of the last axis, where rows of several parts take turns: fewer
  /// than those of the result.
  std::optional<int64_t> row;
};

struct Join {
  kernel::CallOp call;
  llvm::SmallVector<JoinedPart> parts;
  int64_t pitch = 0; // Elements of a row of the result; 0: parts are runs.
  std::optional<unsigned> buffer; // The operand that a part is appended to.
};

/// What a call joins if it does nothing else; none where a size in the way is
/// no number.
std::optional<Join> joinOf(kernel::CallOp call, mlir::SymbolTable &kernels);

/// The same of a call that only appends rows to a buffer, behind those that it
/// has along the last axis.
std::optional<Join> appendOf(kernel::CallOp call, mlir::SymbolTable &kernels);

/// Whether rows of a call's result may lie apart, at all sizes at which one of
/// its kernels runs, and for a copy whether that is worth it.
bool mayStoreApart(kernel::CallOp call, bool isCopy,
                   mlir::SymbolTable &kernels);

} // namespace tenon

#endif // TENON_COMPILER_LOWERING_JOINS_H
