//===- DimNames.h - Symbols for the named dims of a model -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_DIMNAMES_H
#define TENON_COMPILER_IMPORT_DIMNAMES_H

#include "compiler/Import/Emitter.h"

namespace tenon {

/// One symbol per dim_param. Names that are formulas (`past + sequence`,
/// `2*s0`, `s0//2`) become them, when all their parts are names of their own.
class DimNames {
public:
  /// `fixed` gives numbers to some names, and `same` others to some.
  DimNames(ImportState &state, const llvm::StringMap<int64_t> &fixed,
           const llvm::StringMap<std::string> &same)
      : state(state), fixed(fixed), same(same) {}

  /// Announces a dim_param; all are announced before the first `get`.
  void announce(llvm::StringRef text);

  /// The size that a dim_param stands for. An empty or meaningless one ("?")
  /// is a new symbol each time, named after `hint`, or the number that `fixed`
  /// gives to that name.
  graph::Expr get(llvm::StringRef text, llvm::StringRef hint);

private:
  /// The number that `fixed` gives to a name, else a new symbol.
  graph::Expr made(llvm::StringRef name);
  graph::Expr named(llvm::StringRef text);

  ImportState &state;
  const llvm::StringMap<int64_t> &fixed;
  const llvm::StringMap<std::string> &same;
  llvm::StringMap<graph::Expr> symbols; // Null until first used.
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_DIMNAMES_H
