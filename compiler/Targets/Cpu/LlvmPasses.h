//===- LlvmPasses.h - LLVM's part of making code --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_LLVMPASSES_H
#define TENON_COMPILER_TARGETS_CPU_LLVMPASSES_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <string>

namespace tenon::cpu {

/// Runs the passes that `pipeline` names, as opt's -passes does. No library
/// function is known to them, so none is called. Leaves no masked stores of one
/// lane that is known.
void runPasses(llvm::Module &code, llvm::TargetMachine &machine,
               llvm::StringRef pipeline);
/// The same by function, each of which has a pipeline of function passes.
void runFunctionPasses(
    llvm::Module &code, llvm::TargetMachine &machine,
    llvm::function_ref<llvm::StringRef(const llvm::Function &)> pipelineOf);

/// The machine's code of a module; empty when it has no such form.
std::string writeCode(llvm::Module &code, llvm::TargetMachine &machine,
                      llvm::CodeGenFileType form);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LLVMPASSES_H
