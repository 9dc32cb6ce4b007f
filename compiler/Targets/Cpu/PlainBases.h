//===- PlainBases.h - Addresses that the vectorizer understands -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PLAINBASES_H
#define TENON_COMPILER_TARGETS_CPU_PLAINBASES_H

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace tenon::cpu {

/// Hides from the analysis of loops how an address was found that one does not
/// change, where it would not see that what follows counts from there: sizes
/// that are symbols make expressions which it takes for too large to add to,
/// and elements side by side would be stored one by one.
struct HideBases : llvm::PassInfoMixin<HideBases> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

/// Takes away what HideBases put in.
struct ShowBases : llvm::PassInfoMixin<ShowBases> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

/// "hide-bases" and "show-bases" in the text of a pipeline.
void registerPlainBases(llvm::PassBuilder &builder);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PLAINBASES_H
