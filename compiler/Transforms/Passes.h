//===- Passes.h - Passes on graphs ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PASSES_H
#define TENON_COMPILER_TRANSFORMS_PASSES_H

#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tenon {
enum class Precision;
struct ObservedProduct;
struct PrecisionPlan;
struct PrecisionProbes;
class WeightStore;

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

/// What is computed at compile time: casts and borders alone; the filters of
/// bytes that convolutions of f32 are left with, which the others keep; or
/// filters of 16 bits in f32.
enum class Folding { All, Roundings, Filters, WideFilters };

/// Reads weights from, and adds results to, `weights`.
std::unique_ptr<mlir::Pass>
createFoldConstantsPass(WeightStore &weights, Folding folding = Folding::All);

/// Adds filters that are constants to `weights`.
std::unique_ptr<mlir::Pass>
createIntegerProductsPass(WeightStore &weights,
                          IntegerProductsPassOptions options);

/// Adds weights of i8 and the sums of their columns to `weights`.
std::unique_ptr<mlir::Pass> createCenterProductsPass(WeightStore &weights);

/// Reads `plan`, which has a row for each op that is not to be f32.
std::unique_ptr<mlir::Pass>
createAssignPrecisionPass(const PrecisionPlan &plan);

/// Fills in `probes`, but for what is taken.
std::unique_ptr<mlir::Pass>
createProbePrecisionPass(llvm::ArrayRef<Precision> candidates,
                         PrecisionProbes &probes);

/// Fills in `observed`; looks into `weights` for what a product refuses.
std::unique_ptr<mlir::Pass>
createObserveProductsPass(WeightStore &weights,
                          std::vector<ObservedProduct> &observed,
                          ObserveProductsPassOptions options);

/// Makes `plan` say what has become of what was assigned.
std::unique_ptr<mlir::Pass> createRecordPrecisionPass(PrecisionPlan &plan);

/// Reads weights from, and adds quantized ones to, `weights`.
std::unique_ptr<mlir::Pass> createLowerInt8Pass(WeightStore &weights,
                                                LowerInt8PassOptions options);

/// The same for products whose lhs was calibrated.
std::unique_ptr<mlir::Pass>
createLowerStaticInt8Pass(WeightStore &weights,
                          LowerStaticInt8PassOptions options);

/// Looks into `weights` for what is beyond the range of f16.
std::unique_ptr<mlir::Pass>
createLowerPrecisionPass(const WeightStore &weights,
                         LowerPrecisionPassOptions options);

/// Looks into `weights` for what a bias may be.
std::unique_ptr<mlir::Pass>
createRecogniseAttentionPass(const WeightStore &weights,
                             RecogniseAttentionPassOptions options);

/// Looks into `weights` for tables of positions.
std::unique_ptr<mlir::Pass>
createRecogniseWindowsPass(const WeightStore &weights,
                           RecogniseWindowsPassOptions options);

/// Adds scales and zero points to `weights`.
std::unique_ptr<mlir::Pass> createLiftConstantsPass(WeightStore &weights);

/// Looks into `weights` for what a weight is the transpose of.
std::unique_ptr<mlir::Pass> createViewWeightsPass(const WeightStore &weights);

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"
} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PASSES_H
