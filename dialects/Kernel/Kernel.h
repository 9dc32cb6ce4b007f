//===- Kernel.h - The Kernel dialect: which ops share a kernel ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_KERNEL_H
#define TENON_DIALECTS_KERNEL_KERNEL_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Kernel/KernelDialect.h.inc"

namespace tenon::kernel {
using graph::DimsAttr;
using graph::Expr;

/// What an op may be in a region.
enum class Role {
  Pointwise, // element by element
  Movement,  // each result element is made of one or two input elements, found
             // by its index
  Constant,  // made from nothing: constant, sizes, iota
  Root,      // reduces, contracts, scans, scatters: at most one
  Foreign,   // never in a region: control, bind, require, weight
};
Role roleOf(mlir::Operation *op);

/// The only root among the ops of a block; null when there is none.
mlir::Operation *findRoot(mlir::Block &block);

/// What makes bytes of the rows that a body computes: the root itself, or what
/// is behind a norm of rows. Null if nothing does.
graph::QuantizeRowsOp quantizedRowsOf(mlir::Block &block);

/// Whether rows that an op gives can become bytes in its kernel.
bool givesRows(mlir::Operation *root);

} // namespace tenon::kernel

#define GET_OP_CLASSES
#include "dialects/Kernel/KernelOps.h.inc"

#endif // TENON_DIALECTS_KERNEL_KERNEL_H
