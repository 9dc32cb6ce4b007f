//===- Passes.h - Passes on graphs ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PASSES_H
#define TENON_COMPILER_TRANSFORMS_PASSES_H

#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tenon {
class WeightStore;

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

/// Reads weights from, and adds results to, `weights`.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(WeightStore &weights);

/// Looks into `weights` for what a bias may be.
std::unique_ptr<mlir::Pass>
createRecogniseAttentionPass(const WeightStore &weights,
                             RecogniseAttentionPassOptions options);

/// Looks into `weights` for tables of positions.
std::unique_ptr<mlir::Pass>
createRecogniseWindowsPass(const WeightStore &weights,
                           RecogniseWindowsPassOptions options);

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"
} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PASSES_H
