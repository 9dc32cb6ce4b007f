//===- KernelGroups.h - Which ops of a block share a kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_KERNELGROUPS_H
#define TENON_COMPILER_TRANSFORMS_KERNELGROUPS_H

#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <memory>
#include <string>

namespace tenon {

/// Ops that become one kernel, in block order, and their only root.
struct KernelGroup {
  llvm::SetVector<mlir::Operation *> ops;
  mlir::Operation *root = nullptr;
  mlir::Value also; // What it gives beside its last op's result, if anything.
};

struct KernelGroups {
  /// In an order in which each can stand at the place of its last op.
  llvm::SmallVector<std::unique_ptr<KernelGroup>> groups;
  /// Why an op's group did not join that of its user, where it was asked.
  llvm::DenseMap<mlir::Operation *, std::string> refusals;
};

/// Groups the ops of a block, each of which is in one group or in none. Views
/// of operands that several kernels are to read are copied before.
KernelGroups groupOps(mlir::Block &block, bool isCuda);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_KERNELGROUPS_H
