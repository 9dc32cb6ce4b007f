//===- Rewrites.cpp - LLVM IR as devices have instructions for it ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Rewrites.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tenon::cuda {
namespace {

/// The f32 that a value is after rounding to its upper half, or null.
Value *roundedOf(Instruction &line) {
  constexpr uint64_t half = 0x7fff, upper = 0xffff0000;
  Value *number, *sum, *bits;
  if (!match(&line, m_Select(m_FCmp(m_Value(number), m_Deferred(number)),
                             m_Constant(), m_BitCast(m_Value(sum)))) ||
      !number->getType()->getScalarType()->isFloatTy() ||
      !match(sum, m_And(m_Add(m_Add(m_Value(bits), m_SpecificInt(half)),
                              m_And(m_LShr(m_Deferred(bits), m_SpecificInt(16)),
                                    m_One())),
                        m_SpecificInt(upper))))
    return nullptr;
  return match(bits, m_BitCast(m_Specific(number))) ? number : nullptr;
}

/// The bfloat whose bits an integer of 16 bits is, or null.
Value *storedOf(Instruction &line) {
  Value *narrow;
  bool isUpper = match(
      &line,
      m_Trunc(m_LShr(m_BitCast(m_FPExt(m_Value(narrow))), m_SpecificInt(16))));
  return isUpper && narrow->getType()->getScalarType()->isBFloatTy() ? narrow
                                                                     : nullptr;
}

} // namespace

void useConversions(Module &code) {
  for (Function &function : code)
    for (Instruction &line : make_early_inc_range(instructions(function))) {
      IRBuilder<> b(&line);
      Type *type = line.getType();
      Value *now = nullptr;
      if (Value *number = roundedOf(line)) {
        Type *narrow = type->getWithNewType(b.getBFloatTy());
        now = b.CreateFPExt(b.CreateFPTrunc(number, narrow), type);
      } else if (Value *narrow = storedOf(line)) {
        now = b.CreateBitCast(narrow, type);
      }
      if (now)
        line.replaceAllUsesWith(now);
    }
}

void keepPartialStores(Module &code) {
  for (Function &function : code)
    for (Instruction &line : instructions(function)) {
      auto *store = dyn_cast<StoreInst>(&line);
      Value *number;
      if (!store ||
          !match(store->getValueOperand(), m_Trunc(m_BitCast(m_Value(number)))))
        continue;
      // A vector of one element is a register as well.
      Type *type = number->getType();
      auto *vector = dyn_cast<FixedVectorType>(type);
      if (vector && vector->getNumElements() == 1)
        type = vector->getElementType();
      if (!type->isFloatTy() && !type->isDoubleTy())
        continue;
      IRBuilder<> b(store);
      bool isWide = type->isDoubleTy();
      Type *bits = b.getIntNTy(unsigned(type->getPrimitiveSizeInBits()));
      InlineAsm *move =
          InlineAsm::get(FunctionType::get(bits, {bits}, /*isVarArg=*/false),
                         isWide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                         isWide ? "=l,l" : "=r,r", /*hasSideEffects=*/false);
      Value *moved = b.CreateCall(move, b.CreateBitCast(number, bits));
      Type *stored = store->getValueOperand()->getType();
      Value *part = b.CreateTrunc(moved, stored->getScalarType());
      store->setOperand(0, b.CreateBitCast(part, stored));
    }
}

} // namespace tenon::cuda
