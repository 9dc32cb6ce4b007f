//===- FunctionUnits.h - Functions that compile by themselves -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_FUNCTIONUNITS_H
#define TENON_COMPILER_TARGETS_CPU_FUNCTIONUNITS_H

#include "compiler/CodeCache.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tenon::cpu {

/// A function of a module, cut out of it. Functions whose names alone differ,
/// and the names of what they call, have equal bitcode.
struct FunctionUnit {
  std::string bitcode; // Of a module that defines the function alone.
  /// What the module calls the function, and then what it calls, in the order
  /// in which its code does.
  std::vector<std::string> names;

  const std::string &name() const { return names.front(); }
};

/// Every function that a module defines. Those that were local to it are hidden
/// now, so that their callers find them in other objects.
std::vector<FunctionUnit> splitFunctions(llvm::Module &code);

/// The module of a unit; null if the bitcode is none of one.
std::unique_ptr<llvm::Module> readUnit(llvm::StringRef bitcode,
                                       llvm::LLVMContext &context);

/// A unit and what it was compiled to; empty if that failed.
struct CompiledUnit {
  FunctionUnit unit;
  CodeCache::Code code;
};

/// Begins to compile every function that a module defines, by itself and on the
/// cache's threads, if no equal one has been. `compile` gets a unit's module,
/// in a context of its own.
std::vector<CompiledUnit>
compileUnits(llvm::Module &code, CodeCache &cache,
             std::function<std::string(llvm::Module &)> compile);

/// The assembly text of a unit that calls nothing, with its module's name.
std::string withName(llvm::StringRef text, const FunctionUnit &unit);

/// A unit's object code with the names of its module.
llvm::Expected<std::string> withNames(llvm::StringRef object,
                                      const FunctionUnit &unit);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_FUNCTIONUNITS_H
