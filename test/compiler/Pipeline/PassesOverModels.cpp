//===- PassesOverModels.cpp - Every pass, over real models ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   passes_over_models MODEL...
//
// Runs all passes of the compiler over models, for each target in each of its
// precisions, and verifies the IR after each pass. It has no code of targets
// in it, so that a sanitizer's build of it is small.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Import.h"
#include "compiler/Pipeline.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

namespace {

struct Way {
  const char *name;
  Target target;
  Precision precision;
};
constexpr Way ways[] = {
    {"cpu in fp32", Target::Cpu, Precision::Fp32},
    {"cpu in bf16", Target::Cpu, Precision::Bf16},
    {"cpu in fp16", Target::Cpu, Precision::Fp16},
    {"cuda in fp32", Target::Cuda, Precision::Fp32},
    {"cuda in bf16", Target::Cuda, Precision::Bf16},
    {"cuda in fp16", Target::Cuda, Precision::Fp16},
};

/// What went wrong, or nothing.
std::string runPasses(StringRef path, const Way &way) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<exec::ExecDialect, func::FuncDialect, graph::GraphDialect,
                      kernel::KernelDialect>();
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      problem += diagnostic.str() + "\n";
  });
  WeightStore weights;
  ImportReport report;
  OwningOpRef<ModuleOp> module =
      importModel(&context, path, weights, ImportOptions(), report);
  if (!module)
    return report.str();
  CompileOptions options;
  options.targets = {way.target};
  options.precision = way.precision;
  options.explain = true; // Remarks are code, too.
  PassManager pm(&context, ModuleOp::getOperationName());
  buildGraphPipeline(pm, weights, options);
  PrecisionPlan precisions;
  PrecisionProbes probes;
  buildKernelPipeline(pm, weights, options, way.target, precisions, probes);
  if (succeeded(pm.run(*module)))
    return "";
  return problem.empty() ? "a pass fails without a reason" : problem;
}

} // namespace

int main(int argc, char **argv) {
  int failures = 0;
  for (int i = 1; i < argc; ++i)
    for (const Way &way : ways)
      if (std::string problem = runPasses(argv[i], way); !problem.empty()) {
        llvm::errs() << argv[i] << " for " << way.name << ": " << problem
                     << "\n";
        ++failures;
      }
  llvm::outs() << argc - 1 << " models, " << failures << " failures\n";
  return failures != 0 || argc == 1;
}
