//===- IntegerSchedules.h - Schedules of products of 8-bit numbers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_INTEGERSCHEDULES_H
#define TENON_COMPILER_SCHEDULES_INTEGERSCHEDULES_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

std::optional<std::string> refusalPackedMatmulInt8(const KernelView &view);
kernel::Geometry geometryPackedMatmulInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsPackedMatmulInt8(const KernelView &view);

std::optional<std::string> refusalBatchedMatmulInt8(const KernelView &view);
kernel::Geometry geometryBatchedMatmulInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsBatchedMatmulInt8(const KernelView &view);

std::optional<std::string> refusalMatmulMmaInt8(const KernelView &view);
kernel::Geometry geometryMatmulMmaInt8(const KernelView &view);
llvm::SmallVector<std::string> layoutsMatmulMmaInt8(const KernelView &view);

std::optional<std::string> refusalMatmulMmaInt8Small(const KernelView &view);
kernel::Expr whenMatmulMmaInt8Small(const KernelView &view);
kernel::Geometry geometryMatmulMmaInt8Small(const KernelView &view);
llvm::SmallVector<std::string>
layoutsMatmulMmaInt8Small(const KernelView &view);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_INTEGERSCHEDULES_H
