//===- FewRowsSchedule.h - The schedule of products of few rows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_FEWROWSSCHEDULE_H
#define TENON_COMPILER_SCHEDULES_FEWROWSSCHEDULE_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalMatmulRows(const KernelView &view);
kernel::Expr whenMatmulRows(const KernelView &view);
kernel::Geometry geometryMatmulRows(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulRows(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_FEWROWSSCHEDULE_H
