//===- QuantizedRow.h - One row times quantized weights -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile of one row of bf16 and numbers of 4 bits, for vectors of 8 elements:
// as whole numbers of 16 bits (see FixedPointRow.h) both need fewer
// instructions than as f32, and one of those multiplies twice as many. Of
// several rows a tile has fewer vectors, and would make its rows whole for
// each panel more often than that pays.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_QUANTIZEDROW_H
#define TENON_COMPILER_TARGETS_CPU_QUANTIZEDROW_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// Whether there is such a tile.
bool hasQuantizedRow(const kernel::QuantizedRhs &rhs, const CpuLevel &level);

/// tile(a, aStride, numbers, depth, scales, zeros, c, cStride, out, outStride,
/// accumulate), of all columns of a panel.
mlir::LLVM::LLVMFuncOp writeQuantizedRow(mlir::ModuleOp module,
                                         const kernel::QuantizedRhs &rhs,
                                         const CpuLevel &level,
                                         llvm::StringRef name);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUANTIZEDROW_H
