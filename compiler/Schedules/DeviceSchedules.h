//===- DeviceSchedules.h - Schedules of matrix products on devices --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_DEVICESCHEDULES_H
#define TENON_COMPILER_SCHEDULES_DEVICESCHEDULES_H

#include "compiler/Schedules/Schedules.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon {

/// Why a kernel cannot run over tiles of a matmul, whatever its types.
std::optional<std::string> refusalOfTiles(const KernelView &view);

/// Why devices cannot read the quantized rhs of a product, and its lhs, as
/// fragments; and how its tensors lie where they can.
std::optional<std::string> refusalOfFewBits(const KernelView &view,
                                            const kernel::MatmulView &sizes);
llvm::SmallVector<std::string> layoutsOfDevice(const KernelView &view);

std::optional<std::string> refusalMatmulMma(const KernelView &view);
kernel::Geometry geometryMatmulMma(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulMma(const KernelView &view);

std::optional<std::string> refusalMatmulMmaSmall(const KernelView &view);
kernel::Geometry geometryMatmulMmaSmall(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulMmaSmall(const KernelView &view);
kernel::Expr whenMatmulMmaSmall(const KernelView &view);

std::optional<std::string> refusalMatmulSimt(const KernelView &view);
kernel::Geometry geometryMatmulSimt(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulSimt(const KernelView &view);

std::optional<std::string> refusalMatmulSimtSmall(const KernelView &view);
kernel::Geometry geometryMatmulSimtSmall(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulSimtSmall(const KernelView &view);
kernel::Expr whenMatmulSimtSmall(const KernelView &view);

std::optional<std::string> refusalMatmulTf32(const KernelView &view);
kernel::Geometry geometryMatmulTf32(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulTf32(const KernelView &view);

std::optional<std::string> refusalMatmulTf32Small(const KernelView &view);
kernel::Geometry geometryMatmulTf32Small(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulTf32Small(const KernelView &view);
kernel::Expr whenMatmulTf32Small(const KernelView &view);

std::optional<std::string> refusalMatmulTf32x3(const KernelView &view);
kernel::Geometry geometryMatmulTf32x3(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulTf32x3(const KernelView &view);

std::optional<std::string> refusalMatmulTf32x3Small(const KernelView &view);
kernel::Geometry geometryMatmulTf32x3Small(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulTf32x3Small(const KernelView &view);
kernel::Expr whenMatmulTf32x3Small(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_DEVICESCHEDULES_H
