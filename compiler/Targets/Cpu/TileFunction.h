//===- TileFunction.h - Functions that kernels of a module share ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H
#define TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::cpu {

/// Begins an inner kernel: a new function of the module without a result, in
/// whose entry block the builder is left.
inline mlir::LLVM::LLVMFuncOp
startTileFunction(mlir::OpBuilder &b, mlir::ModuleOp module,
                  llvm::StringRef name, llvm::ArrayRef<mlir::Type> inputs) {
  using namespace mlir;
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), inputs);
  auto function = LLVM::LLVMFuncOp::create(b, module.getLoc(), name, type,
                                           LLVM::Linkage::Internal);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H
