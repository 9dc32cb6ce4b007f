//===- ConvSchedules.h - Schedules of convolutions ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_CONVSCHEDULES_H
#define TENON_COMPILER_SCHEDULES_CONVSCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalLineConv(const KernelView &view);
kernel::Geometry geometryLineConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsLineConv(const KernelView &view);

std::optional<std::string> refusalWinogradPairs(const KernelView &view);
kernel::Geometry geometryWinogradPairs(const KernelView &view);
llvm::SmallVector<std::string> layoutsWinogradPairs(const KernelView &view);

std::optional<std::string> refusalPackedConv(const KernelView &view);
kernel::Geometry geometryPackedConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsPackedConv(const KernelView &view);

std::optional<std::string> refusalLineConvInt8(const KernelView &view);
kernel::Geometry geometryLineConvInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsLineConvInt8(const KernelView &view);

std::optional<std::string> refusalPackedConvInt8(const KernelView &view);
kernel::Geometry geometryPackedConvInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsPackedConvInt8(const KernelView &view);

std::optional<std::string> refusalWinogradF2(const KernelView &view);
kernel::Geometry geometryWinogradF2(const KernelView &view);
llvm::SmallVector<std::string> layoutsWinogradF2(const KernelView &view);

std::optional<std::string> refusalWinogradF4(const KernelView &view);
kernel::Geometry geometryWinogradF4(const KernelView &view);
llvm::SmallVector<std::string> layoutsWinogradF4(const KernelView &view);

std::optional<std::string> refusalSmallConv(const KernelView &view);
kernel::Geometry geometrySmallConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsSmallConv(const KernelView &view);

std::optional<std::string> refusalDirectConv(const KernelView &view);
kernel::Geometry geometryDirectConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsDirectConv(const KernelView &view);

std::optional<std::string> refusalFewMapsConv(const KernelView &view);
kernel::Geometry geometryFewMapsConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsFewMapsConv(const KernelView &view);

std::optional<std::string> refusalDepthwiseTiles(const KernelView &view);
kernel::Geometry geometryDepthwiseTiles(const KernelView &view);
llvm::SmallVector<std::string> layoutsDepthwiseTiles(const KernelView &view);

std::optional<std::string> refusalGroupTiles(const KernelView &view);
kernel::Geometry geometryGroupTiles(const KernelView &view);
llvm::SmallVector<std::string> layoutsGroupTiles(const KernelView &view);

std::optional<std::string> refusalDepthwisePlanes(const KernelView &view);
kernel::Geometry geometryDepthwisePlanes(const KernelView &view);
llvm::SmallVector<std::string> layoutsDepthwisePlanes(const KernelView &view);

std::optional<std::string> refusalDepthwiseConv(const KernelView &view);
kernel::Geometry geometryDepthwiseConv(const KernelView &view);
llvm::SmallVector<std::string> layoutsDepthwiseConv(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_CONVSCHEDULES_H
