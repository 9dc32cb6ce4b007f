//===- Compile.cpp - tenon compile ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/AutoPrecision.h"
#include "tools/tenon/CalibrationRequest.h"
#include "tools/tenon/Commands.h"
#include "tools/tenon/CompileRequest.h"
#include "tools/tenon/Progress.h"

#include "compiler/Lowering/PlanDrawing.h"
#include "compiler/Pipeline.h"
#include "compiler/UnfusedPatterns.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace tenon;

namespace {

int refuse(const std::vector<std::string> &errors, int code) {
  for (const std::string &error : errors)
    llvm::errs() << "tenon compile: " << llvm::StringRef(error).rtrim() << '\n';
  return code;
}

std::string megabytes(uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f MB", double(bytes) / 1e6);
  return text;
}

void printSummary(const Compilation &compilation, const CompileOptions &options,
                  const std::string &output, double seconds) {
  const CompileSummary &summary = compilation.summary;
  llvm::outs() << output << ": " << megabytes(summary.fileBytes) << '\n'
               << "  nodes    " << summary.nodes << '\n'
               << "  ops      " << summary.ops << '\n'
               << "  kernels  " << summary.kernels << " in " << summary.launches
               << " launches, code " << megabytes(summary.imageBytes) << '\n'
               << "  weights  " << megabytes(summary.weightBytes) << '\n'
               << "  arena    " << summary.arena << '\n';
  if (options.itemsAtOnce > 0 && !summary.isInPieces)
    llvm::outs() << "  batch    all at once, as no items are known to be "
                    "independent; `tenon explain` says why\n";
  if (compilation.report.drawsNumbers && options.seed)
    llvm::outs() << "  random   every run draws the same numbers, by seed "
                 << *options.seed << "; --seed=input makes the seed an input\n";
  llvm::outs() << "  compiled in " << llvm::format("%.2f", seconds) << " s\n";
}

int writeText(const std::string &text, const std::string &path) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << text;
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    return refuse({"cannot write " + path + ": " + error.message()}, kFailure);
  return kSuccess;
}

/// Text and object code go to -o, or text to stdout.
int writeStage(const std::string &text, const CompileCommand &command) {
  if (command.output.empty()) {
    llvm::outs() << text;
    return kSuccess;
  }
  return writeText(text, command.output);
}

int writePlan(Compilation &compilation, const std::string &path) {
  for (auto program : compilation.module->getOps<exec::ProgramOp>()) {
    llvm::Expected<DrawnPlan> plan = planOf(program);
    if (!plan)
      return refuse({llvm::toString(plan.takeError())}, kFailure);
    return writeText(drawPlan(*plan), path);
  }
  return refuse({"there is no memory plan at this stage"}, kInvalid);
}

/// Sets what --calibrate says but for auto.
int calibrateFor(const CompileCommand &command, CompileOptions &options) {
  if (std::string why = refusalOfCalibration(options); !why.empty())
    return refuse({why}, kInvalid);
  std::string report;
  if (llvm::Error error =
          calibrate(command.model, options, command.precision, report))
    return refuse({llvm::toString(std::move(error))}, kFailure);
  llvm::outs() << report;
  return kSuccess;
}

/// Sets the plan of --precision=auto.
int choosePlan(const CompileCommand &command, CompileOptions &options) {
  if (options.targets.size() > 1)
    return refuse({"--precision=auto chooses for one target, as what is "
                   "rounded differs: name one, with --precision-plan, and "
                   "compile for both with that plan"},
                  kInvalid);
  ProgressTimer progress("measuring " + command.model);
  auto plan = planPrecisions(command.model, options, command.precision);
  if (!plan)
    return refuse({llvm::toString(plan.takeError())}, kFailure);
  options.precisionPlan = std::move(*plan);
  return kSuccess;
}

/// What was assigned, as it was lowered in the end; of auto with errors.
PrecisionPlan finalPlan(const CompileOptions &options,
                        const Compilation &compilation) {
  return options.precisionPlan ? *options.precisionPlan
                               : compilation.precisions;
}

} // namespace

int tenon::runCompile(const CompileCommand &command) {
  auto options = makeCompileOptions(command.cpu, command.dims, command.emit);
  if (!options)
    return refuse({llvm::toString(options.takeError())}, kInvalid);
  options->targets = parseTargets(command.targets);
  options->sms = command.sms;
  options->log = command.log;
  options->generic = command.generic;
  if (llvm::Error error = setPrecision(*options, command.precision))
    return refuse({llvm::toString(std::move(error))}, kInvalid);
  if (llvm::Error error = setSeed(*options, command.seed))
    return refuse({llvm::toString(std::move(error))}, kInvalid);
  if (llvm::Error error = setCodeCache(*options, command.codeCache))
    return refuse({llvm::toString(std::move(error))}, kInvalid);
  options->winograd = winogradOutputs(command.winograd);
  options->itemsAtOnce = itemsAtOnce(command.batchAtOnce);
  options->tf32 = parseTf32(command.tf32);
  for (const std::string &kind : command.requireFused)
    if (!isPatternKind(kind))
      return refuse({"--require-fused: '" + kind +
                     "' is none of activation, attention, norm and rotary"},
                    kInvalid);
  options->requireFused = command.requireFused;
  if (command.output.empty() && (options->stage == EmitStage::Object ||
                                 options->stage == EmitStage::Artifact))
    return refuse({"say where the result goes: -o FILE"}, kInvalid);
  auto start = std::chrono::steady_clock::now();
  if (command.precision.isAuto())
    if (int code = choosePlan(command, *options))
      return code;
  if (command.precision.isCalibrated())
    if (int code = calibrateFor(command, *options))
      return code;
  Compilation compilation;
  std::string text;
  bool done;
  {
    ProgressTimer progress("compiling " + command.model);
    done = compileModel(compilation, command.model, *options, command.output,
                        text);
  }
  if (!done)
    return refuse(compilation.errors,
                  compilation.report.isInvalidModel() ? kInvalid : kFailure);
  if (options->squares)
    llvm::outs() << "weights of " << compilation.precisions.countCompensated()
                 << " products rounded by what they meet\n";
  if (!command.plan.empty())
    if (int code = writePlan(compilation, command.plan))
      return code;
  if (command.precision.writesPlan())
    if (llvm::Error error = writePrecisionPlan(finalPlan(*options, compilation),
                                               command.precision.plan))
      return refuse({llvm::toString(std::move(error))}, kFailure);
  if (options->stage != EmitStage::Artifact)
    return writeStage(text, command);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  printSummary(compilation, *options, command.output, elapsed.count());
  return kSuccess;
}
