//===- OtherSizes.h - Kernels of which one runs at any sizes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_OTHERSIZES_H
#define TENON_DIALECTS_KERNEL_OTHERSIZES_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// The attribute of a function that names another one with the same body, which
/// runs at the sizes at which this one has no rows.
constexpr llvm::StringLiteral otherwise = "otherwise";

/// The kernels of a call, of which one runs.
llvm::SmallVector<FuncOp> kernelsOf(CallOp call, mlir::SymbolTable &functions);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_OTHERSIZES_H
