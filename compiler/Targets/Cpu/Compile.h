//===- Compile.h - Kernels become object code for CPUs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_COMPILE_H
#define TENON_COMPILER_TARGETS_CPU_COMPILE_H

#include "compiler/CodeCache.h"
#include "compiler/Targets/Cpu/CpuLevel.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tenon::cpu {

/// One archive of ELF objects per level, in the levels' order, from all
/// kernel.func ops of `module`: an object for each function, which one of the
/// cache's threads compiled if no equal one had been. Kernel NAME is the global
/// function NAME.LEVEL of the type tenon_kernel_fn_t; an archive has no
/// undefined symbol and is the same for the same input. What cannot be compiled
/// is reported at the kernel.
mlir::FailureOr<std::vector<std::string>>
compileArchives(mlir::ModuleOp module, llvm::ArrayRef<CpuLevel> levels,
                CodeCache &cache);

/// The optimised LLVM IR of one level, as text.
mlir::FailureOr<std::string> compileToLlvmIr(mlir::ModuleOp module,
                                             const CpuLevel &level);

/// Registers the dialects that kernels are lowered through and their
/// translation to LLVM IR.
void registerCpuDialects(mlir::DialectRegistry &registry);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_COMPILE_H
