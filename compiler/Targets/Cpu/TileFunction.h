//===- TileFunction.h - Functions that kernels of a module share ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H
#define TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::cpu {

/// Of LLVM functions: their loops and vectors are as they are to be.
inline constexpr llvm::StringLiteral tileAttribute = "tenon-tile";

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
  function.setPassthroughAttr(b.getArrayAttr(b.getStringAttr(tileAttribute)));
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

/// Sums, plus what was there `before` if `accumulate`. Added last, it has
/// arrived by then: sums that start from it would wait for the cache.
inline mlir::ValueRange
plusIf(mlir::ImplicitLocOpBuilder &b, mlir::Value accumulate,
       mlir::ValueRange sums,
       llvm::function_ref<mlir::Value(size_t i)> before) {
  using namespace mlir;
  auto choice = scf::IfOp::create(b, sums.getTypes(), accumulate,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  llvm::SmallVector<Value> totals;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value own = before(i);
    totals.push_back(isa<FloatType>(getElementTypeOrSelf(sum))
                         ? arith::AddFOp::create(b, own, sum).getResult()
                         : arith::AddIOp::create(b, own, sum));
  }
  scf::YieldOp::create(b, totals);
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, sums);
  return choice.getResults();
}

/// What writers of such functions begin with: numbers, which are i64, and
/// addresses.
class TileBuilder {
protected:
  using Value = mlir::Value;

  explicit TileBuilder(mlir::ModuleOp module)
      : module(module),
        b(mlir::UnknownLoc::get(module.getContext()), module.getContext()),
        pointer(mlir::LLVM::LLVMPointerType::get(module.getContext())),
        i64(b.getI64Type()) {}

  Value number(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b, value, 64);
  }
  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivUIOp::create(b, x, y); }
  Value min(Value x, Value y) { return mlir::arith::MinUIOp::create(b, x, y); }

  Value address(Value base, mlir::Type type, mlir::LLVM::GEPArg offset) {
    return mlir::LLVM::GEPOp::create(
        b, pointer, type, base, llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }
  Value byte(Value base, mlir::LLVM::GEPArg offset) {
    return address(base, b.getI8Type(), offset);
  }

  mlir::ModuleOp module;
  mlir::ImplicitLocOpBuilder b;
  mlir::Type pointer, i64;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_TILEFUNCTION_H
