//===- Pipeline.h - The compiler, from a model file to an artifact --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PIPELINE_H
#define TENON_COMPILER_PIPELINE_H

#include "compiler/Import/ImportReport.h"
#include "compiler/Options.h"
#include "compiler/Transforms/PrecisionProbes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include <map>

namespace tenon {

/// A model in the middle of its compilation. The context comes first, since
/// the module lives in it.
struct Compilation {
  Compilation();

  mlir::MLIRContext context;
  WeightStore weights;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ImportReport report;
  /// What went wrong, a sentence each; empty when all went well.
  std::vector<std::string> errors;
  CompileSummary summary;
  /// What multiplies in which precision in the end, for the first target, and
  /// what CompileOptions::probes and ::observe ask for.
  PrecisionPlan precisions;
  PrecisionProbes probes;
  /// With `explain`: remarks by the name of their node, "" for those on
  /// kernels.
  std::multimap<std::string, std::string> remarks;
};

/// graph -> graph: what depends on weights only, dead and double work, and the
/// formulas that exporters write out.
void buildGraphPipeline(mlir::OpPassManager &pm, WeightStore &weights,
                        const CompileOptions &options);

/// graph -> graph of what a target computes in which precision -> kernel.func
/// -> exec, up to `options.stage`. What precision ops have got goes to
/// `precisions`, and what options.probes and ::observe ask for to `probes`.
void buildKernelPipeline(mlir::OpPassManager &pm, WeightStore &weights,
                         const CompileOptions &options, Target target,
                         PrecisionPlan &precisions, PrecisionProbes &probes);

/// Imports a model and runs the passes up to `options.stage`, those of kernels
/// for the first target. False when `compilation.errors` is not empty.
bool lowerModel(Compilation &compilation, llvm::StringRef path,
                const CompileOptions &options);

/// The same, then generates code and writes the artifact to `output`. For an
/// earlier stage writes nothing and puts the stage's text, or object code, in
/// `text`.
bool compileModel(Compilation &compilation, llvm::StringRef path,
                  const CompileOptions &options, llvm::StringRef output,
                  std::string &text);

} // namespace tenon

#endif // TENON_COMPILER_PIPELINE_H
