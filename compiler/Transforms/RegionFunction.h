//===- RegionFunction.h - What regions that do the same have in common ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_REGIONFUNCTION_H
#define TENON_COMPILER_TRANSFORMS_REGIONFUNCTION_H

#include "dialects/Kernel/Kernel.h"

namespace tenon {

/// A region as a kernel.func, whose sizes are d0, d1, ... in order of
/// appearance: regions that compute the same have the same text.
class RegionFunction {
public:
  explicit RegionFunction(kernel::RegionOp region);

  /// In no module; the caller's to place or erase.
  kernel::FuncOp function() const { return made; }
  /// What the sizes are called in the region.
  llvm::ArrayRef<graph::Expr> symbols() const { return order; }
  /// As the function is now, but for its name.
  std::string text() const;

private:
  void add(graph::Expr symbol);
  graph::DimsAttr rename(graph::DimsAttr dims) const;

  kernel::FuncOp made;
  llvm::DenseMap<mlir::Attribute, graph::Expr> names;
  llvm::SmallVector<graph::Expr> order;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_REGIONFUNCTION_H
