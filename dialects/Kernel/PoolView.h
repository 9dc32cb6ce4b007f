//===- PoolView.h - Pools, by vectors -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Max and average pools as the PoolRows schedule computes them: a row of the
// launch is the last axis of the result, which vectors lie along. With channels
// last that axis has no windows; otherwise the lines that a row is made of are
// joined first, and then the elements of its windows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_POOLVIEW_H
#define TENON_DIALECTS_KERNEL_POOLVIEW_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

struct PoolView {
  mlir::Operation *op;
  llvm::ArrayRef<int64_t> kernel, strides, dilations;
  graph::DimsAttr pads;
  bool channelsLast, isMax, countPads;

  mlir::BlockArgument input() const {
    return mlir::cast<mlir::BlockArgument>(op->getOperand(0));
  }
  Geometry geometry(mlir::Block &body) const;
  /// Of scratch memory: for a padded line, of which windows that are not
  /// channels last are joined, from which vectors can be read.
  Expr lineBytes() const;
  Expr number(int64_t value) const;
};

/// nullopt with a reason for kernels that it does not suit.
std::optional<PoolView> poolViewOf(mlir::Block &body, std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_POOLVIEW_H
