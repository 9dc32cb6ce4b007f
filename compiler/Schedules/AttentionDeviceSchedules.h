//===- AttentionDeviceSchedules.h - Schedules of attention on devices -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_ATTENTIONDEVICESCHEDULES_H
#define TENON_COMPILER_SCHEDULES_ATTENTIONDEVICESCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalAttentionMma(const KernelView &view);
kernel::Geometry geometryAttentionMma(const KernelView &view);
llvm::SmallVector<std::string> layoutsAttentionMma(const KernelView &view);

std::optional<std::string> refusalAttentionMmaTall(const KernelView &view);
kernel::Expr whenAttentionMmaTall(const KernelView &view);
kernel::Geometry geometryAttentionMmaTall(const KernelView &view);
llvm::SmallVector<std::string> layoutsAttentionMmaTall(const KernelView &view);

std::optional<std::string> refusalAttentionRows(const KernelView &view);
kernel::Expr whenAttentionRows(const KernelView &view);
kernel::Geometry geometryAttentionRows(const KernelView &view);
llvm::SmallVector<std::string> layoutsAttentionRows(const KernelView &view);

std::optional<std::string> refusalAttentionSimt(const KernelView &view);
kernel::Geometry geometryAttentionSimt(const KernelView &view);
llvm::SmallVector<std::string> layoutsAttentionSimt(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_ATTENTIONDEVICESCHEDULES_H
