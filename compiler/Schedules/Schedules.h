//===- Schedules.h - The table of schedules -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_SCHEDULES_H
#define TENON_COMPILER_SCHEDULES_SCHEDULES_H

#include "compiler/Options.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/Kernel.h"

namespace tenon {

/// A kernel as a schedule sees it.
struct KernelView {
  mlir::Block &body;
  /// Per block argument: whether every caller passes a weight.
  llvm::ArrayRef<bool> isWeight;
  Target target = Target::Cpu;
};

struct Schedule {
  llvm::StringLiteral name;
  llvm::StringLiteral applies;
  /// Whether it is made for that target.
  bool (*isOn)(Target target);
  /// Whether it is made for kernels with such a root.
  bool (*isFor)(mlir::Operation *root);
  /// Nothing when the schedule can run the kernel, else why not.
  std::optional<std::string> (*refusal)(const KernelView &);
  kernel::Geometry (*geometry)(const KernelView &);
  /// Layout of each block argument, "" for row-major.
  llvm::SmallVector<std::string> (*layouts)(const KernelView &);
  /// 1 at the sizes at which it is to run, 0 at others; null: at all.
  kernel::Expr (*when)(const KernelView &);
};

/// All of them, best first; the last refuses nothing.
llvm::ArrayRef<Schedule> schedules();

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_SCHEDULES_H
