//===- GroupRules.h - What ops are to the kernels they are in -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_GROUPRULES_H
#define TENON_COMPILER_TRANSFORMS_GROUPRULES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Whether an op gives its operand's memory other sizes.
bool onlyRenames(mlir::Operation *op);

/// Whether an op is computed by a kernel.
bool formsKernel(mlir::Operation *op);

/// Roots that compute each element of their operand once.
bool readsOnce(mlir::Operation *op);

/// Roots that store their result through a transpose as well as without.
bool writesThroughViews(mlir::Operation *op);

/// Whether elements of a transpose's last axis stay one behind the other.
bool keepsRows(mlir::Operation *transpose);

/// Roots whose kernels read vectors of the last axis.
bool worksAlongRows(mlir::Operation *op);

/// Movement that is as cheap inside a pointwise loop as by itself.
bool isCheapMovement(mlir::Operation *op);

/// Whether an op may be in a kernel that looks rows up.
bool mayPickRows(mlir::Operation *op);

/// Whether nothing lies between two ops but what the model holds.
bool isBehind(mlir::Operation *first, mlir::Operation *second);

/// The sizes of the loop in which an op reads its operands.
llvm::SmallVector<graph::Expr> dimsReadBy(mlir::Operation *op);

/// An op's name, for remarks.
std::string quoted(mlir::Operation *op);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_GROUPRULES_H
