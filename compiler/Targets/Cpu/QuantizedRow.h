//===- QuantizedRow.h - One row times quantized weights -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile of one row of bf16 and numbers of 4 bits, for vectors of 8 elements:
// as whole numbers of 16 bits both need fewer instructions than as f32, and one
// of those multiplies two for each lane of 32 and adds them.
//
// A block of the row, as many elements as have a scale in common, is whole
// numbers of 15 bits and a sign times a power of two. What has 8 bits, as bf16
// does, is exact unless it is less than 2^-7 of the block's largest element;
// what is less is rounded by 2^-15 of that one at most.
//
// Of several rows a tile has fewer vectors, and would make its rows whole for
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

/// As others of such weights (QuantizedReader::startTile), of all columns of a
/// panel.
mlir::LLVM::LLVMFuncOp writeQuantizedRow(mlir::ModuleOp module,
                                         const kernel::QuantizedRhs &rhs,
                                         const CpuLevel &level,
                                         llvm::StringRef name);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUANTIZEDROW_H
