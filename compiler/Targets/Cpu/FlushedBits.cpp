//===- FlushedBits.cpp - Rounding to bf16 by an instruction ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/FlushedBits.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr llvm::StringLiteral ofOne = "tenon_flushed_bits";
constexpr llvm::StringLiteral ofVector = "tenon_flushed_bits_16";
constexpr int64_t lanes = 16;

LLVM::LLVMFuncOp declare(OpBuilder &b, ModuleOp module, StringRef name,
                         Type result, Type argument) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto function =
      LLVM::LLVMFuncOp::create(b, module.getLoc(), name,
                               LLVM::LLVMFunctionType::get(result, {argument}));
  auto none = LLVM::ModRefInfo::NoModRef;
  function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      b.getContext(), {none, none, none, none, none, none}));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  return function;
}

/// What takes the place of a call, of one number or of 16.
llvm::Value *expansionOf(llvm::CallInst &call) {
  llvm::IRBuilder<> b(&call);
  llvm::Value *numbers = call.getArgOperand(0);
  bool isOne = !numbers->getType()->isVectorTy();
  auto *floats = llvm::FixedVectorType::get(b.getFloatTy(), lanes);
  if (isOne)
    numbers = b.CreateInsertElement(llvm::Constant::getNullValue(floats),
                                    numbers, uint64_t(0));
  llvm::Value *narrow = b.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {numbers});
  llvm::Value *bits = b.CreateBitCast(
      narrow, llvm::FixedVectorType::get(b.getInt16Ty(), lanes));
  return isOne ? b.CreateExtractElement(bits, uint64_t(0)) : bits;
}

} // namespace

Value callFlushedBits(ImplicitLocOpBuilder &b, ModuleOp module, Value number) {
  Type f32 = b.getF32Type(), i16 = b.getI16Type();
  declare(b, module, ofVector, VectorType::get({lanes}, i16),
          VectorType::get({lanes}, f32));
  LLVM::LLVMFuncOp function = declare(b, module, ofOne, i16, f32);
  std::string form =
      ("_ZGV_LLVM_N" + llvm::Twine(lanes) + "v_" + ofOne + "(" + ofVector + ")")
          .str();
  function.setPassthroughAttr(b.getArrayAttr(
      {b.getStrArrayAttr({"vector-function-abi-variant", form})}));
  return LLVM::CallOp::create(b, function, number).getResult();
}

void expandFlushedBits(llvm::Module &code) {
  for (StringRef name : {ofOne, ofVector}) {
    llvm::Function *function = code.getFunction(name);
    if (!function)
      continue;
    for (llvm::User *user : llvm::make_early_inc_range(function->users())) {
      auto &call = *llvm::cast<llvm::CallInst>(user);
      call.replaceAllUsesWith(expansionOf(call));
      call.eraseFromParent();
    }
    function->eraseFromParent();
  }
}

} // namespace tenon::cpu
