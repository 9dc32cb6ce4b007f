//===- Passes.h - Passes that make the host program -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_LOWERING_PASSES_H
#define TENON_COMPILER_LOWERING_PASSES_H

#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tenon {
class WeightStore;

#define GEN_PASS_DECL
#include "compiler/Lowering/Passes.h.inc"

/// Adds constants to `weights`.
std::unique_ptr<mlir::Pass>
createLowerToExecPass(WeightStore &weights, LowerToExecPassOptions options);

#define GEN_PASS_REGISTRATION
#include "compiler/Lowering/Passes.h.inc"
} // namespace tenon

#endif // TENON_COMPILER_LOWERING_PASSES_H
