//===- LowerToLlvm.h - Emitted loop nests become LLVM IR ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_LOWERTOLLVM_H
#define TENON_COMPILER_TARGETS_CPU_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace tenon::cpu {

/// Turns scf, cf, arith, math and vector inside llvm.func into the LLVM dialect
/// and that into LLVM IR. Null after reporting what did not convert.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp module,
                                          llvm::LLVMContext &context);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LOWERTOLLVM_H
