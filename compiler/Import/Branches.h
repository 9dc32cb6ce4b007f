//===- Branches.h - Either of two, as a run decides -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_BRANCHES_H
#define TENON_COMPILER_IMPORT_BRANCHES_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// Emits a branch where the builder stands.
using BranchBody = llvm::function_ref<llvm::SmallVector<NamedValue>()>;

/// What one of two branches gives, whichever a run takes; empty after a
/// problem. Dims in which they differ become symbols.
llvm::SmallVector<NamedValue> eitherOf(NodeConverter &node,
                                       mlir::Value condition,
                                       BranchBody thenBody,
                                       BranchBody elseBody);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_BRANCHES_H
