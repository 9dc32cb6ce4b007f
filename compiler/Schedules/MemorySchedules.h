//===- MemorySchedules.h - Schedules of what memory bounds on devices -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_MEMORYSCHEDULES_H
#define TENON_COMPILER_SCHEDULES_MEMORYSCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalBlockColumns(const KernelView &view);
kernel::Geometry geometryBlockColumns(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockColumns(const KernelView &view);

std::optional<std::string> refusalBlockRows(const KernelView &view);
kernel::Geometry geometryBlockRows(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockRows(const KernelView &view);

std::optional<std::string> refusalBlockNonzero(const KernelView &view);
kernel::Geometry geometryBlockNonzero(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockNonzero(const KernelView &view);

std::optional<std::string> refusalBlockRecurrent(const KernelView &view);
kernel::Geometry geometryBlockRecurrent(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockRecurrent(const KernelView &view);

std::optional<std::string> refusalBlockState(const KernelView &view);
kernel::Geometry geometryBlockState(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockState(const KernelView &view);

std::optional<std::string> refusalLinearAttention(const KernelView &view);
kernel::Geometry geometryLinearAttention(const KernelView &view);
llvm::SmallVector<std::string> layoutsLinearAttention(const KernelView &view);

std::optional<std::string> refusalRecurrentTiles(const KernelView &view);
kernel::Geometry geometryRecurrentTiles(const KernelView &view);
llvm::SmallVector<std::string> layoutsRecurrentTiles(const KernelView &view);

std::optional<std::string> refusalBlockScan(const KernelView &view);
kernel::Geometry geometryBlockScan(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockScan(const KernelView &view);

std::optional<std::string> refusalBlockTopk(const KernelView &view);
kernel::Geometry geometryBlockTopk(const KernelView &view);
llvm::SmallVector<std::string> layoutsBlockTopk(const KernelView &view);

std::optional<std::string> refusalRankTopk(const KernelView &view);
kernel::Geometry geometryRankTopk(const KernelView &view);
llvm::SmallVector<std::string> layoutsRankTopk(const KernelView &view);

std::optional<std::string> refusalScatterFold(const KernelView &view);
kernel::Geometry geometryScatterFold(const KernelView &view);
llvm::SmallVector<std::string> layoutsScatterFold(const KernelView &view);

std::optional<std::string> refusalTurnedMap(const KernelView &view);
kernel::Geometry geometryTurnedMap(const KernelView &view);
llvm::SmallVector<std::string> layoutsTurnedMap(const KernelView &view);

std::optional<std::string> refusalVectorMap(const KernelView &view);
kernel::Geometry geometryVectorMap(const KernelView &view);
llvm::SmallVector<std::string> layoutsVectorMap(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_MEMORYSCHEDULES_H
