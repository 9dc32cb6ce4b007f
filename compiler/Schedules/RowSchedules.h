//===- RowSchedules.h - Norms, softmax, reductions, pools, resampling -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_ROWSCHEDULES_H
#define TENON_COMPILER_SCHEDULES_ROWSCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalRowProgram(const KernelView &view);
kernel::Geometry geometryRowProgram(const KernelView &view);
llvm::SmallVector<std::string> layoutsRowProgram(const KernelView &view);

std::optional<std::string> refusalPoolRows(const KernelView &view);
kernel::Geometry geometryPoolRows(const KernelView &view);
llvm::SmallVector<std::string> layoutsPoolRows(const KernelView &view);

std::optional<std::string> refusalResizeRows(const KernelView &view);
kernel::Geometry geometryResizeRows(const KernelView &view);
llvm::SmallVector<std::string> layoutsResizeRows(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_ROWSCHEDULES_H
