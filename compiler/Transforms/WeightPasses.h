//===- WeightPasses.h - Passes on weights of fewer bits -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_H
#define TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_H

#include "compiler/Weights/LhsSquares.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tenon {
class WeightStore;

#define GEN_PASS_DECL
#include "compiler/Transforms/WeightPasses.h.inc"

/// Adds quantized weights to `weights`. `squares`, which may be null, says what
/// the products read whose weights are to be compensated.
std::unique_ptr<mlir::Pass>
createLowerWeightsPass(WeightStore &weights, const SquaresByWeight *squares,
                       LowerWeightsPassOptions options);

/// Adds quantized recurrences to `weights`.
std::unique_ptr<mlir::Pass>
createLowerRecurrencesPass(WeightStore &weights,
                           LowerRecurrencesPassOptions options);

/// Looks at what `weights` hold.
std::unique_ptr<mlir::Pass> createExactProductsPass(WeightStore &weights);

/// Adds weights of 16 bits as f32 to `weights`.
std::unique_ptr<mlir::Pass> createWidenHalvesPass(WeightStore &weights);

/// Asks `weights` for what widen-halves made f32.
std::unique_ptr<mlir::Pass> createKeepHalvesPass(WeightStore &weights);

/// Reads numbers and scales from `weights`, and adds them in other shapes.
std::unique_ptr<mlir::Pass> createRecogniseQuantizedWeightsPass(
    WeightStore &weights, RecogniseQuantizedWeightsPassOptions options);

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/WeightPasses.h.inc"
} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_H
