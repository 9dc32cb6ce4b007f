//===- LlvmPasses.cpp - LLVM's part of making code ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/LlvmPasses.h"
#include "compiler/Targets/Cpu/FlushedBits.h"
#include "compiler/Targets/Cpu/PlainBases.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace tenon::cpu {
namespace {

/// The only lane of a mask that is there, where it is known to be one.
std::optional<unsigned> singleLane(const llvm::Value *mask) {
  auto *known = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  std::optional<unsigned> found;
  for (unsigned lane = 0; known && type && lane < type->getNumElements();
       ++lane) {
    const llvm::Constant *bit = known->getAggregateElement(lane);
    if (!bit || !(bit->isZeroValue() || bit->isOneValue()))
      return std::nullopt;
    if (bit->isZeroValue())
      continue;
    if (found)
      return std::nullopt;
    found = lane;
  }
  return found;
}

/// Makes masked stores of one lane stores of a number. LLVM 22 does the same,
/// but where it narrows the vector on its way to memory it stores the lane as
/// wide as it was before, over what follows.
void storeSingleLanes(llvm::Module &code) {
  llvm::SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : code)
    for (llvm::Instruction &each : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&each);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
        stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    unsigned maskAt = store->arg_size() - 1;
    std::optional<unsigned> lane = singleLane(store->getArgOperand(maskAt));
    if (!lane)
      continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value *value =
        builder.CreateExtractElement(store->getArgOperand(0), *lane);
    llvm::Value *at = builder.CreateConstGEP1_32(
        value->getType(), store->getArgOperand(1), *lane);
    builder.CreateAlignedStore(value, at, llvm::Align(1));
    store->eraseFromParent();
  }
}

/// What LLVM's passes ask for. No library function is known to them.
struct Analyses {
  explicit Analyses(llvm::TargetMachine &machine) : builder(&machine) {
    llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
    library.disableAllFunctions();
    functions.registerPass(
        [&] { return llvm::TargetLibraryAnalysis(library); });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    registerPlainBases(builder);
  }

  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

} // namespace

void runPasses(llvm::Module &code, llvm::TargetMachine &machine,
               llvm::StringRef pipeline) {
  Analyses analyses(machine);
  llvm::ModulePassManager passes;
  llvm::cantFail(analyses.builder.parsePassPipeline(passes, pipeline));
  passes.run(code, analyses.modules);
  storeSingleLanes(code);
  expandFlushedBits(code);
}

void runFunctionPasses(
    llvm::Module &code, llvm::TargetMachine &machine,
    llvm::function_ref<llvm::StringRef(const llvm::Function &)> pipelineOf) {
  Analyses analyses(machine);
  llvm::StringMap<llvm::FunctionPassManager> pipelines;
  for (llvm::Function &function : code) {
    if (function.isDeclaration())
      continue;
    llvm::StringRef pipeline = pipelineOf(function);
    auto [found, isNew] = pipelines.try_emplace(pipeline);
    llvm::FunctionPassManager &passes = found->second;
    if (isNew)
      llvm::cantFail(analyses.builder.parsePassPipeline(passes, pipeline));
    passes.run(function, analyses.functions);
  }
  storeSingleLanes(code);
  expandFlushedBits(code);
}

std::string writeCode(llvm::Module &code, llvm::TargetMachine &machine,
                      llvm::CodeGenFileType form) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, form))
    return {};
  passes.run(code);
  return bytes.str().str();
}

} // namespace tenon::cpu
