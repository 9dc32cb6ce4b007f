//===- PipelineModel.cpp - From a model file to an artifact ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Import.h"
#include "compiler/Import/ModelFile.h"
#include "compiler/Lowering/PlanDrawing.h"
#include "compiler/Package/Package.h"
#include "compiler/PassLog.h"
#include "compiler/Pipeline.h"
#include "compiler/PipelineDims.h"
#include "compiler/PipelineTargets.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/UnfusedPatterns.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/MatmulView.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <numeric>

using namespace mlir;

namespace tenon {

Compilation::Compilation() : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  cpu::registerCpuDialects(registry);
  context.appendDialectRegistry(registry);
  // Each would number all ops of the function again.
  context.printOpOnDiagnostic(false);
  context.loadAllAvailableDialects();
  context.loadDialect<exec::ExecDialect, func::FuncDialect, graph::GraphDialect,
                      kernel::KernelDialect>();
}

namespace {

/// Collects what MLIR reports while it lives: errors with the node's name in
/// front, remarks under it.
class ErrorCollector {
public:
  explicit ErrorCollector(Compilation &compilation)
      : handler(&compilation.context, [&](Diagnostic &diagnostic) {
          std::string node;
          if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
            node = name.getName().str();
          if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
            compilation.remarks.emplace(node, diagnostic.str());
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            compilation.errors.push_back(
                (node.empty() ? "" : "node '" + node + "': ") +
                diagnostic.str());
        }) {}

private:
  ScopedDiagnosticHandler handler;
};

bool importInto(Compilation &compilation, StringRef path,
                const CompileOptions &options) {
  auto file = ModelFile::open(path);
  if (!file) {
    compilation.report.invalid = llvm::toString(file.takeError());
    compilation.errors.push_back(compilation.report.invalid);
    return false;
  }
  compilation.summary.nodes = (*file)->model().graph().node_size();
  std::vector<DimRange> dims = modelDims(**file, options.dims);
  if (!checkDims(**file, dims, compilation.errors))
    return false;
  ImportOptions importOptions;
  for (const DimRange &range : dims)
    if (!range.same.empty())
      importOptions.same[range.name] = range.same;
    else if (range.lo == range.hi)
      importOptions.dims[range.name] = range.lo;
  importOptions.seed = options.seed;
  compilation.module =
      importModel(&compilation.context, *file, compilation.weights,
                  importOptions, compilation.report);
  if (compilation.module) {
    setDimRanges(*compilation.module, **file, dims);
    return true;
  }
  compilation.errors.push_back(compilation.report.str());
  return false;
}

bool runPasses(Compilation &compilation, const CompileOptions &options,
               llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(&compilation.context, ModuleOp::getOperationName());
  if (options.log)
    pm.addInstrumentation(std::make_unique<PassLog>());
  // Once for all passes: on very large models it takes longer than most of
  // them. tenon-opt verifies after each.
  pm.enableVerifier(false);
  build(pm);
  if (succeeded(pm.run(*compilation.module)) &&
      succeeded(verify(*compilation.module)))
    return true;
  if (compilation.errors.empty())
    compilation.errors.push_back("internal error: a pass failed without a "
                                 "reason; please report this model");
  return false;
}

void countOps(Compilation &compilation) {
  compilation.module->walk([&](Operation *op) {
    if (isa<graph::GraphDialect>(op->getDialect()))
      ++compilation.summary.ops;
  });
}

/// What the symbol is that says how much of a batch runs at a time.
std::string pieceOf(exec::ProgramOp program) {
  std::string text;
  program.walk([&](exec::PiecesOp pieces) {
    text = ", " + pieces.getHere().str() + " of " + pieces.getSizes()[0].str() +
           " at a time";
  });
  return text;
}

/// The bytes of all segments: their formula, or where that is beyond reading,
/// what it gives for the sizes that plans are drawn for.
std::string arenaOf(exec::ProgramOp program) {
  constexpr size_t longest = 100, mostNames = 8;
  graph::Expr total = graph::Expr::constant(program.getContext(), 0);
  llvm::SetVector<StringRef> symbols;
  for (graph::Expr bytes : program.getSegments().exprs()) {
    total = total + bytes;
    bytes.forEachSymbol(
        [&](graph::Expr symbol) { symbols.insert(symbol.name()); });
  }
  std::string formula = total.str();
  if (total && formula.size() <= longest)
    return formula + " bytes" + pieceOf(program);
  ArrayRef<StringRef> named = symbols.getArrayRef();
  size_t left = symbols.size() - std::min(symbols.size(), mostNames);
  std::string names = "grows with " + llvm::join(named.drop_back(left), ", ");
  if (left > 0)
    names += " and " + std::to_string(left) + " more sizes";
  auto plan = planOf(program);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return names;
  }
  int64_t bytes =
      std::accumulate(plan->segments.begin(), plan->segments.end(), int64_t(0));
  return names + ": " + std::to_string(bytes) + " bytes where each is " +
         std::to_string(usualSize) + " or as near as it may be" +
         pieceOf(program);
}

void countKernels(Compilation &compilation) {
  CompileSummary &summary = compilation.summary;
  compilation.module->walk([&](Operation *op) {
    summary.kernels += isa<kernel::FuncOp>(op);
    summary.launches += isa<exec::LaunchOp>(op);
    summary.isInPieces |= isa<exec::PiecesOp>(op);
    if (auto program = dyn_cast<exec::ProgramOp>(op))
      summary.arena = arenaOf(program);
  });
}

/// The passes of kernels for a target, on the graph in `compilation.module`.
bool lowerKernels(Compilation &compilation, CompileOptions options,
                  Target target) {
  options.hasPairDots = multipliesPairs(options);
  options.hasF16Fma = addsInF16(options);
  compilation.module->walk(
      [&](graph::RoundFloatOp) { options.hasFewBitFloats = true; });
  compilation.module->walk([&](graph::MatmulOp op) {
    options.hasRoundedLhs |= kernel::roundsLhsToBf16(op);
  });
  PrecisionPlan precisions;
  PrecisionProbes probes;
  if (!runPasses(compilation, options, [&](OpPassManager &pm) {
        buildKernelPipeline(pm, compilation.weights, options, target,
                            precisions, probes);
      }))
    return false;
  if (target != options.targets.front())
    return true;
  markTaken(probes, precisions);
  compilation.precisions = std::move(precisions);
  compilation.probes = std::move(probes);
  return true;
}

/// graph -> kernel.func -> code, for every target.
bool generateAll(Compilation &compilation, const CompileOptions &options,
                 std::vector<TargetCode> &codes) {
  OwningOpRef<ModuleOp> graph = std::move(compilation.module);
  // Where something is shown it is of the first target.
  ArrayRef<Target> targets = options.targets;
  if (options.stage != EmitStage::Artifact)
    targets = targets.take_front();
  for (const Target &target : targets) {
    bool isLast = &target == &targets.back();
    compilation.module =
        isLast ? std::move(graph) : OwningOpRef<ModuleOp>(graph->clone());
    if (!lowerKernels(compilation, options, target))
      return false;
    if (&target == &targets.front())
      countKernels(compilation);
    codes.emplace_back(target, std::move(compilation.module));
    if (!codes.back().generate(options, compilation.errors))
      return false;
  }
  return true;
}

/// Code of all targets -> artifact.
bool package(Compilation &compilation, std::vector<TargetCode> &codes,
             StringRef path, StringRef output) {
  std::vector<TargetProgram> programs;
  for (TargetCode &code : codes)
    programs.push_back(code.program());
  llvm::Expected<ArtifactSizes> sizes =
      writeArtifact(programs, compilation.weights, output,
                    {llvm::sys::path::stem(path).str(), "tenon"});
  if (!sizes) {
    compilation.errors.push_back(llvm::toString(sizes.takeError()));
    return false;
  }
  compilation.summary.weightBytes = sizes->weights;
  compilation.summary.imageBytes = sizes->image;
  compilation.summary.fileBytes = sizes->file;
  return true;
}

/// Import and the passes of graphs.
bool lowerToGraph(Compilation &compilation, StringRef path,
                  const CompileOptions &options) {
  if (!importInto(compilation, path, options))
    return false;
  CompileOptions graphOptions = options;
  graphOptions.explain |= !options.requireFused.empty();
  if (!runPasses(compilation, options, [&](OpPassManager &pm) {
        buildGraphPipeline(pm, compilation.weights, graphOptions);
      }))
    return false;
  compilation.errors = findUnfused(*compilation.module, options.requireFused,
                                   compilation.remarks);
  if (!compilation.errors.empty())
    return false;
  countOps(compilation);
  return true;
}

} // namespace

bool lowerModel(Compilation &compilation, StringRef path,
                const CompileOptions &options) {
  checkTargets(options, compilation.errors);
  if (!compilation.errors.empty())
    return false;
  ErrorCollector collector(compilation);
  if (!lowerToGraph(compilation, path, options))
    return false;
  if (!lowerKernels(compilation, options, options.targets.front()))
    return false;
  countKernels(compilation);
  return true;
}

static bool generateModel(Compilation &compilation, StringRef path,
                          const CompileOptions &options, StringRef output,
                          std::string &text) {
  ErrorCollector collector(compilation);
  if (!lowerToGraph(compilation, path, options))
    return false;
  if (options.stage == EmitStage::Llvm) {
    if (!lowerKernels(compilation, options, options.targets.front()))
      return false;
    text = llvmIrOf(*compilation.module, options);
    return !text.empty();
  }
  std::vector<TargetCode> codes;
  if (!generateAll(compilation, options, codes))
    return false;
  bool done = true;
  if (options.stage == EmitStage::Artifact)
    done = package(compilation, codes, path, output);
  else
    text = codes.front().text();
  compilation.module = codes.front().release();
  return done;
}

bool compileModel(Compilation &compilation, StringRef path,
                  const CompileOptions &options, StringRef output,
                  std::string &text) {
  checkTargets(options, compilation.errors);
  if (!compilation.errors.empty())
    return false;
  if (options.stage <= EmitStage::Exec) {
    if (!lowerModel(compilation, path, options))
      return false;
    llvm::raw_string_ostream os(text);
    compilation.module->print(os, OpPrintingFlags().enableDebugInfo(false));
    return true;
  }
  bool done = generateModel(compilation, path, options, output, text);
  if (!done && compilation.errors.empty())
    compilation.errors.push_back("internal error: no code was generated and no "
                                 "reason given; please report this model");
  return done;
}

} // namespace tenon
