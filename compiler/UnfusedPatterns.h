//===- UnfusedPatterns.h - What --require-fused refuses -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_UNFUSEDPATTERNS_H
#define TENON_COMPILER_UNFUSEDPATTERNS_H

#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace tenon {

/// Whether `kind` is one of attention, norm, activation and rotary.
bool isPatternKind(llvm::StringRef kind);

/// A sentence for each pattern of these kinds that is still written out in the
/// module: its node and why. `remarks` is what the recognisers said, by node.
std::vector<std::string>
findUnfused(mlir::ModuleOp module, llvm::ArrayRef<std::string> kinds,
            const std::multimap<std::string, std::string> &remarks);

} // namespace tenon

#endif // TENON_COMPILER_UNFUSEDPATTERNS_H
