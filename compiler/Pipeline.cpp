//===- Pipeline.cpp - The compiler, top to bottom -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Pipeline.h"
#include "compiler/Lowering/Passes.h"
#include "compiler/Schedules/Passes.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/WeightPasses.h"

using namespace mlir;

namespace tenon {

void buildGraphPipeline(OpPassManager &pm, WeightStore &weights,
                        const CompileOptions &options) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createUnifySizesPass({options.explain}));
  function.addPass(createSimplifyPass());             // debris of exporters
  function.addPass(createSinkScalesPass());           // before weights do
  function.addPass(createFoldConstantsPass(weights)); // what weights decide
  function.addPass(createPadRecurrentUnitsPass());
  function.addPass(createFoldConstantsPass(weights)); // what that pads
  function.addPass(createSimplifyPass());             // what that exposed
  function.addPass(createHoistInvariantsPass());      // once, not in each step
  function.addPass(createFoldPadsPass());             // zeros around images
  function.addPass(createSinkDequantizePass());       // bytes stay bytes
  function.addPass(createRecogniseNormsPass({options.explain}));
  function.addPass(createRecogniseActivationsPass({options.explain}));
  function.addPass(createRecogniseRotaryPass({options.explain}));
  function.addPass(createRecogniseAttentionPass(weights, {options.explain}));
  function.addPass(createRecognisePermutationsPass({options.explain}));
  function.addPass(createRecogniseWindowsPass(weights, {options.explain}));
  function.addPass(createSinkWindowsPass({options.explain}));
  function.addPass(createSkipExpertsPass({options.explain}));
  function.addPass(createRecogniseRowIndicesPass({options.explain}));
  function.addPass(createSinkRowTransposesPass());
  function.addPass(createSinkMovesPass({options.explain}));
  function.addPass(createMergeMatmulsPass({options.explain})); // Q, K and V
  function.addPass(createHoistReshapesPass({options.explain}));
  function.addPass(createHoistRowMovesPass({options.explain})); // above norms
  function.addPass(createExtendConcatsPass()); // of dense blocks
  function.addPass(createHoistSlicesPass());   // rows that nothing reads
  function.addPass(createFoldBatchNormPass()); // factors into filters
  function.addPass(createSplitConvTransposesPass({options.explain}));
  function.addPass(createProjectRecurrentInputsPass()); // for all steps
  function.addPass(createChannelsLastPass({options.explain}));
  function.addPass(createFoldConstantsPass(weights)); // weights in new orders
  function.addPass(createTrimTapsPass()); // of windows over small images
  function.addPass(createSimplifyPass()); // tables that layers share
}

/// Products in the precision that each is to have.
static void addPrecision(OpPassManager &function, WeightStore &weights,
                         const CompileOptions &options, bool isCuda,
                         PrecisionPlan &precisions, PrecisionProbes &probes) {
  if (options.precisionPlan)
    function.addPass(createAssignPrecisionPass(*options.precisionPlan));
  else
    function.addPass(createAssignPrecisionPass(
        {nameOf(options.precision).str(), options.squares != nullptr}));
  if (options.hasFewBitFloats)
    function.addPass(createExactProductsPass(weights));
  if (!options.probes.empty())
    function.addPass(createProbePrecisionPass(options.probes, probes));
  if (options.observe != Observed::None)
    function.addPass(createObserveProductsPass(
        weights, probes.observed, {options.observe == Observed::Weights}));
  LowerPrecisionPassOptions lowering;
  lowering.explain = options.explain;
  lowering.target = isCuda ? "cuda" : "cpu";
  lowering.hasPairDots = options.hasPairDots;
  lowering.hasF16Fma = options.hasF16Fma;
  function.addPass(createLowerPrecisionPass(weights, lowering));
  function.addPass(
      createLowerInt8Pass(weights, {options.explain, lowering.target}));
  function.addPass(createLowerStaticInt8Pass(weights, {options.explain}));
  function.addPass(createPadQuadsPass());
  if (isCuda)
    function.addPass(createCenterProductsPass(weights));
  else
    function.addPass(createRoundConcatsPass());
  // What is observed is f32 on levels that do not multiply bf16.
  bool isObserved = options.observe != Observed::None;
  function.addPass(createHoistCastsPass({/*products=*/!isObserved}));
  // Rounded weights.
  function.addPass(createFoldConstantsPass(weights, Folding::Roundings));
  LowerWeightsPassOptions blocks;
  blocks.block = options.blockSize;
  blocks.explain = options.explain;
  blocks.target = lowering.target;
  function.addPass(
      createLowerWeightsPass(weights, options.squares.get(), blocks));
  LowerRecurrencesPassOptions cells;
  cells.explain = options.explain;
  cells.target = lowering.target;
  function.addPass(createLowerRecurrencesPass(weights, cells));
  function.addPass(createRecordPrecisionPass(precisions));
}

/// What of the graph depends on the target.
static void buildTargetGraphPipeline(OpPassManager &pm, WeightStore &weights,
                                     const CompileOptions &options,
                                     Target target, PrecisionPlan &precisions,
                                     PrecisionProbes &probes) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  bool isCuda = target == Target::Cuda;
  bool isRounded = options.precision != Precision::Fp32 ||
                   options.precisionPlan || !options.probes.empty() ||
                   options.hasRoundedLhs;
  if (isCuda) {
    function.addPass(
        createIntegerProductsPass(weights, {options.explain, "cuda"}));
    function.addPass(createPadQuadsPass());
    function.addPass(createFoldConstantsPass(weights)); // weights turned round
    function.addPass(createCenterProductsPass(weights));
    function.addPass(createFoldConstantsPass(weights)); // zero points
    // Behind what would fold its transposes again.
    function.addPass(createViewWeightsPass(weights));
  } else {
    function.addPass(createWidenHalvesPass(weights));
    function.addPass(createProjectRecurrentInputsPass()); // what is f32 by now
    function.addPass(
        createIntegerProductsPass(weights, {options.explain, "cpu"}));
    function.addPass(createPadQuadsPass());
    function.addPass(createDepthwisePlanesPass({options.explain}));
    function.addPass(createSplitConvGroupsPass({options.explain}));
    function.addPass(createFoldConstantsPass(weights)); // scales, filters
  }
  function.addPass(createFoldConstantsPass(weights, Folding::Filters));
  // Of the products that are left: others would no longer be known. CUDA's
  // kernels multiply none of f32 by them.
  if (!isCuda || isRounded)
    function.addPass(
        createRecogniseQuantizedWeightsPass(weights, {options.explain}));
  if (isRounded || options.hasFewBitFloats)
    addPrecision(function, weights, options, isCuda, precisions, probes);
  if (!isCuda) {
    function.addPass(createKeepHalvesPass(weights));
    function.addPass(createReduceProductsPass());
  }
  function.addPass(createSplitReductionsPass());
  function.addPass(createAppendCachesPass({options.explain}));
  if (!isCuda)
    function.addPass(createAppendMapsPass()); // of dense blocks
  if (options.kvCache != CacheType::AsGiven)
    function.addPass(
        createNarrowCachesPass({nameOf(options.kvCache).str(),
                                isCuda ? "cuda" : "cpu", options.explain}));
  if (!isCuda && options.itemsAtOnce != CompileOptions::allItems)
    function.addPass(createFindBatchPass({options.explain}));
}

void buildKernelPipeline(OpPassManager &pm, WeightStore &weights,
                         const CompileOptions &options, Target target,
                         PrecisionPlan &precisions, PrecisionProbes &probes) {
  buildTargetGraphPipeline(pm, weights, options,
                           options.graphTarget.value_or(target), precisions,
                           probes);
  // CPUs convolve by filters of f32, or pairs of channels; GPUs by any of 16
  // bits.
  if (options.graphTarget.value_or(target) != target)
    pm.addNestedPass<func::FuncOp>(
        createFoldConstantsPass(weights, Folding::WideFilters));
  if (options.stage == EmitStage::Graph)
    return;
  // graph -> kernel.region: which ops share a kernel.
  FormRegionsPassOptions regions;
  regions.explain = options.explain;
  regions.target = target == Target::Cuda ? "cuda" : "cpu";
  pm.addNestedPass<func::FuncOp>(createFormRegionsPass(regions));
  if (options.stage == EmitStage::Regions)
    return;
  pm.addNestedPass<func::FuncOp>(createLiftConstantsPass(weights));
  // kernel.region -> kernel.func: each once, and how it runs.
  pm.addPass(createOutlineKernelsPass());
  ApplySchedulesPassOptions schedules;
  schedules.generic = options.generic;
  schedules.without.assign(options.without.begin(), options.without.end());
  if (options.winograd < 4)
    schedules.without.push_back("WinogradF4");
  if (options.winograd < 2)
    schedules.without.append({"WinogradF2", "WinogradPairs"});
  if (options.tf32 != Tf32::On)
    schedules.without.append(
        {"MatmulTf32", "MatmulTf32Small", "ConvTf32", "ConvTf32Small"});
  if (options.tf32 != Tf32::Split)
    schedules.without.append(
        {"MatmulTf32x3", "MatmulTf32x3Small", "ConvTf32x3", "ConvTf32x3Small"});
  schedules.explain = options.explain;
  if (target == Target::Cuda)
    schedules.target = "cuda";
  pm.addPass(createApplySchedulesPass(schedules));
  pm.addPass(createStoreTurnedPass()); // by tiles that can
  pm.addPass(createShareTablesPass(weights));
  if (options.stage == EmitStage::Kernels)
    return;
  // kernel calls -> exec: when and where.
  pm.addPass(createLowerToExecPass(weights, {schedules.target}));
  pm.addPass(createSplitBatchPass({options.itemsAtOnce, options.explain}));
}

} // namespace tenon
