//===- ConvDeviceSchedules.h - Schedules of convolutions on devices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_CONVDEVICESCHEDULES_H
#define TENON_COMPILER_SCHEDULES_CONVDEVICESCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalConvMma(const KernelView &view);
kernel::Geometry geometryConvMma(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvMma(const KernelView &view);

std::optional<std::string> refusalConvMmaSmall(const KernelView &view);
kernel::Geometry geometryConvMmaSmall(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvMmaSmall(const KernelView &view);
kernel::Expr whenConvMmaSmall(const KernelView &view);

std::optional<std::string> refusalConvMmaInt8(const KernelView &view);
kernel::Geometry geometryConvMmaInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvMmaInt8(const KernelView &view);

std::optional<std::string> refusalConvMmaInt8Small(const KernelView &view);
kernel::Geometry geometryConvMmaInt8Small(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvMmaInt8Small(const KernelView &view);
kernel::Expr whenConvMmaInt8Small(const KernelView &view);

std::optional<std::string> refusalConvSimt(const KernelView &view);
kernel::Geometry geometryConvSimt(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvSimt(const KernelView &view);

std::optional<std::string> refusalConvSimtSmall(const KernelView &view);
kernel::Geometry geometryConvSimtSmall(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvSimtSmall(const KernelView &view);
kernel::Expr whenConvSimtSmall(const KernelView &view);

std::optional<std::string> refusalConvTf32(const KernelView &view);
kernel::Geometry geometryConvTf32(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvTf32(const KernelView &view);

std::optional<std::string> refusalConvTf32Small(const KernelView &view);
kernel::Geometry geometryConvTf32Small(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvTf32Small(const KernelView &view);
kernel::Expr whenConvTf32Small(const KernelView &view);

std::optional<std::string> refusalConvTf32x3(const KernelView &view);
kernel::Geometry geometryConvTf32x3(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvTf32x3(const KernelView &view);

std::optional<std::string> refusalConvTf32x3Small(const KernelView &view);
kernel::Geometry geometryConvTf32x3Small(const KernelView &view);
llvm::SmallVector<std::string> layoutsConvTf32x3Small(const KernelView &view);
kernel::Expr whenConvTf32x3Small(const KernelView &view);

std::optional<std::string> refusalDepthwiseDevice(const KernelView &view);
kernel::Geometry geometryDepthwiseDevice(const KernelView &view);
llvm::SmallVector<std::string> layoutsDepthwiseDevice(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_CONVDEVICESCHEDULES_H
