//===- PlainBases.cpp - Addresses that the vectorizer understands ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of aliases looks through the intrinsic that hides an address,
// so noalias arguments stay what they are; that of loops does not.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PlainBases.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace tenon::cpu {
namespace {

constexpr llvm::Intrinsic::ID hiding = llvm::Intrinsic::launder_invariant_group;

/// Whether a value counts steps of a loop as the analysis sees it.
bool counts(llvm::ScalarEvolution &evolution, llvm::Value *value,
            const llvm::Loop &loop) {
  auto *steps = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(value));
  return steps && steps->getLoop() == &loop;
}

/// The address computation of a load or store that counts from a base of its
/// loop, and is not seen to; null for all others.
llvm::GetElementPtrInst *hiddenCount(llvm::Instruction &access,
                                     const llvm::Loop &loop,
                                     llvm::ScalarEvolution &evolution) {
  auto *address = llvm::dyn_cast_if_present<llvm::GetElementPtrInst>(
      llvm::getLoadStorePointerOperand(&access));
  if (!address || address->getNumIndices() != 1 || !loop.contains(address))
    return nullptr;
  llvm::Value *base = address->getPointerOperand();
  if (!llvm::isa<llvm::Instruction>(base) || !loop.isLoopInvariant(base) ||
      counts(evolution, address, loop) ||
      !counts(evolution, address->getOperand(1), loop))
    return nullptr;
  return address;
}

} // namespace

llvm::PreservedAnalyses
HideBases::run(llvm::Function &function,
               llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    llvm::BasicBlock *before = loop->getLoopPreheader();
    if (!loop->isInnermost() || !before)
      continue;
    llvm::SmallVector<llvm::GetElementPtrInst *> addresses;
    for (llvm::BasicBlock *block : loop->blocks())
      for (llvm::Instruction &each : *block)
        if (auto *address = hiddenCount(each, *loop, evolution))
          addresses.push_back(address);
    // What is read and written from one base still is.
    llvm::DenseMap<llvm::Value *, llvm::Value *> hidden;
    llvm::IRBuilder<> builder(before->getTerminator());
    for (llvm::GetElementPtrInst *address : addresses) {
      llvm::Value *base = address->getPointerOperand();
      llvm::Value *&plain = hidden[base];
      if (!plain)
        plain = builder.CreateLaunderInvariantGroup(base);
      address->setOperand(0, plain);
      evolution.forgetValue(address);
      changed = true;
    }
  }
  if (!changed)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

llvm::PreservedAnalyses
ShowBases::run(llvm::Function &function,
               llvm::FunctionAnalysisManager &analyses) {
  llvm::SmallVector<llvm::IntrinsicInst *> found;
  for (llvm::Instruction &each : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&each);
        call && call->getIntrinsicID() == hiding)
      found.push_back(call);
  if (found.empty())
    return llvm::PreservedAnalyses::all();
  for (llvm::IntrinsicInst *call : found) {
    call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
  }
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

void registerPlainBases(llvm::PassBuilder &builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager &passes,
         llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name == "hide-bases")
          passes.addPass(HideBases());
        else if (name == "show-bases")
          passes.addPass(ShowBases());
        else
          return false;
        return true;
      });
}

} // namespace tenon::cpu
