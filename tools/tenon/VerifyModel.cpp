//===- VerifyModel.cpp - One model against what it should compute ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"
#include "tools/tenon/Compare.h"
#include "tools/tenon/CompileRequest.h"
#include "tools/tenon/DataSet.h"
#include "tools/tenon/Tolerance.h"
#include "tools/tenon/Verify.h"

#include "compiler/Import/Import.h"
#include "compiler/Import/ModelFile.h"
#include "compiler/Package/ElementTypes.h"
#include "compiler/PrecisionPlan.h"
#include "compiler/Reference/Evaluate.h"
#include "compiler/Targets/Cpu/CpuLevel.h"
#include "compiler/Weights/Printable.h"
#include "dialects/Graph/Graph.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;

ImportedModel::ImportedModel(bool threads)
    : context(threads ? MLIRContext::Threading::ENABLED
                      : MLIRContext::Threading::DISABLED) {
  context.printOpOnDiagnostic(false);
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
}

static std::vector<std::string>
namesOf(size_t count, llvm::function_ref<Attribute(unsigned)> attribute) {
  std::vector<std::string> names(count);
  for (size_t i = 0; i < count; ++i)
    if (auto name = dyn_cast_or_null<StringAttr>(attribute(i)))
      names[i] = name.str();
  return names;
}

/// One line of the report.
static std::string firstLine(llvm::StringRef text) {
  return text.take_until([](char c) { return c == '\n'; }).str();
}

std::optional<Verdict> tenon::import(const std::string &path,
                                     ImportedModel &model) {
  auto file = ModelFile::open(path);
  if (!file)
    return Verdict::fail(llvm::toString(file.takeError()));
  model.file = *file;
  ImportReport report;
  model.module = importModel(&model.context, *file, model.weights, {}, report);
  // What is refused is not wrong, whoever is to blame.
  if (!report.ok() || !model.module)
    return Verdict{Verdict::Unsupported, 0, firstLine(report.str())};
  model.main = model.module->lookupSymbol<func::FuncOp>("main");
  if (!model.main)
    return Verdict::fail("internal error: the import made no @main");
  model.inputs = namesOf(model.main.getNumArguments(), [&](unsigned i) {
    return model.main.getArgAttr(i, "graph.name");
  });
  model.outputs = namesOf(model.main.getNumResults(), [&](unsigned i) {
    return model.main.getResultAttr(i, "graph.name");
  });
  return std::nullopt;
}

llvm::Expected<reference::Tensor> tenon::toReference(MLIRContext *context,
                                                     const Tensor &tensor) {
  return reference::Tensor::fromBytes(elementOf(context, tensor.type),
                                      tensor.dims, tensor.bytes);
}

Tensor tenon::fromReference(const reference::Tensor &tensor) {
  std::vector<char> bytes = tensor.toBytes();
  return {dtypeOf(tensor.element),
          {tensor.shape.begin(), tensor.shape.end()},
          {bytes.begin(), bytes.end()}};
}

static llvm::Expected<std::vector<Tensor>>
evaluate(ImportedModel &model, const std::vector<Tensor> &inputs) {
  llvm::SmallVector<reference::Tensor> arguments;
  for (const Tensor &input : inputs) {
    auto argument = toReference(&model.context, input);
    if (!argument)
      return argument.takeError();
    arguments.push_back(std::move(*argument));
  }
  reference::EvaluateOptions options;
  options.weight =
      [&model](StringRef name) -> llvm::Expected<reference::Tensor> {
    const Weight *weight = model.weights.lookup(name);
    if (!weight)
      return sentence("internal error: there is no weight " + name);
    return reference::Tensor::fromBytes(weight->elementType, weight->shape,
                                        weight->bytes());
  };
  auto results = reference::evaluateFunction(model.main, arguments, options);
  if (!results)
    return results.takeError();
  std::vector<Tensor> outputs;
  for (const reference::Tensor &result : *results)
    outputs.push_back(fromReference(result));
  return outputs;
}

Execution tenon::evaluation(ImportedModel &model) {
  return {[&model](const std::vector<Tensor> &inputs) {
            return evaluate(model, inputs);
          },
          nullptr};
}

/// How one model is judged.
struct Standard {
  double tolerance;
  bool quantized;
  bool convertsCaches; // By --kv-cache.
};

/// Takes in the agreement of one set's outputs; false when it fails.
static bool judge(std::vector<Tensor> actual, std::vector<Tensor> expected,
                  const std::vector<std::string> &names,
                  const Standard &standard, const std::string &where,
                  Verdict &verdict) {
  for (size_t i = 0; i < expected.size(); ++i) {
    bool isKept =
        standard.convertsCaches && widenToCompare(actual[i], expected[i]);
    Agreement agreement = compare(actual[i], expected[i]);
    verdict.error = std::max(verdict.error, agreement.error);
    if (agreement.within(standard.tolerance))
      continue;
    verdict.status = Verdict::Fail;
    verdict.reason = where + "output '" + printable(names[i]) + "': ";
    char number[40];
    std::snprintf(number, sizeof number, "%.3g", agreement.error);
    verdict.reason += agreement.mismatch.empty()
                          ? "relative error " + std::string(number) +
                                " at element " + std::to_string(agreement.worst)
                          : agreement.mismatch;
    if (isKept)
      verdict.reason += ", of what --kv-cache rounds";
    return false;
  }
  return true;
}

/// Runs the model and judges it; false when it fails.
static bool runAndJudge(const std::vector<Tensor> &inputs,
                        const std::vector<Tensor> &expected,
                        const ImportedModel &model, const Execution &execution,
                        const Standard &standard, const std::string &where,
                        Verdict &verdict) {
  auto actual = execution.run(inputs);
  if (!actual) {
    verdict = Verdict::fail(where + llvm::toString(actual.takeError()));
    return false;
  }
  bool agrees = judge(std::move(*actual), expected, model.outputs, standard,
                      where, verdict);
  if (!execution.compareKernels || (agrees && !standard.quantized))
    return agrees;
  // A kernel alone errs less than a whole model may.
  std::string difference =
      execution.compareKernels(inputs, agrees, standard.tolerance / 10);
  if (difference.empty())
    return agrees;
  if (agrees)
    verdict = Verdict::fail(where + difference);
  else
    verdict.reason += "; " + difference;
  return false;
}

static llvm::Expected<std::vector<Tensor>>
readInputSet(const std::string &set, const ImportedModel &model) {
  auto tensors = readDataSet(set, "input");
  if (!tensors)
    return tensors.takeError();
  return arrange(std::move(*tensors), model.inputs, "input");
}

/// What a set says, or the evaluator where it says nothing.
static llvm::Expected<std::vector<Tensor>>
expectedOutputs(const std::string &set, ImportedModel &model,
                const std::vector<Tensor> &inputs) {
  auto tensors = readDataSet(set, "output");
  if (!tensors)
    return tensors.takeError();
  if (tensors->empty() && !model.outputs.empty())
    return evaluate(model, inputs);
  return arrange(std::move(*tensors), model.outputs, "output");
}

/// Whether results depend on numbers that another generator drew as they were
/// recorded.
static bool drawsNumbers(func::FuncOp main) {
  return main.walk([](graph::RandomBitsOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static Verdict verifySets(const std::vector<std::string> &sets,
                          ImportedModel &model, const Execution &execution,
                          const Standard &standard) {
  Verdict verdict;
  for (const std::string &set : sets) {
    std::string where = llvm::sys::path::filename(set).str() + ", ";
    auto inputs = readInputSet(set, model);
    if (!inputs)
      return Verdict::fail(where + llvm::toString(inputs.takeError()));
    auto expected = expectedOutputs(set, model, *inputs);
    if (!expected)
      return Verdict::fail(where + llvm::toString(expected.takeError()));
    if (runAndJudge(*inputs, *expected, model, execution, standard, where,
                    verdict))
      continue;
    if (drawsNumbers(model.main))
      verdict.reason +=
          "; it draws random numbers, and what is recorded may be "
          "of others: give the ONNX file alone, to compare with "
          "the evaluator";
    return verdict;
  }
  return verdict;
}

static Verdict verifySeeded(ImportedModel &model, const Execution &execution,
                            const VerifyCommand &command,
                            const Standard &standard) {
  auto dims = parseDimRanges(command.dims);
  if (!dims)
    return Verdict::fail(llvm::toString(dims.takeError()));
  std::string reason;
  for (unsigned attempt = 0; attempt < kSeedAttempts; ++attempt) {
    auto inputs = seededInputs(model, *dims, attempt);
    if (!inputs)
      return Verdict::fail(llvm::toString(inputs.takeError()));
    auto expected = evaluate(model, *inputs);
    if (!expected) {
      std::string why = llvm::toString(expected.takeError());
      if (attempt == 0)
        reason = why;
      continue;
    }
    Verdict verdict;
    if (!command.reference)
      runAndJudge(*inputs, *expected, model, execution, standard, "", verdict);
    return verdict;
  }
  return Verdict::fail("the evaluator refuses inputs of small sizes: " +
                       reason + "; give sizes that fit with --dim NAME=N");
}

/// Whether products by f16 are added up in it here.
static bool addsInF16(const DeviceRequest &device) {
  std::optional<cpu::CpuLevel> level = cpu::findCpuLevel("native");
  return device.isCpu() && level && level->f16Fma != cpu::F16Fma::None;
}

/// What rounding products may do to outputs.
static double toleranceOf(Precision precision, const DeviceRequest &device) {
  switch (precision) {
  case Precision::Fp32:
    return 0;
  case Precision::Fp16:
    return addsInF16(device) ? 5e-3 : 2e-3;
  case Precision::Bf16:
    return 1e-2;
  case Precision::Int8Weights:
    return 3e-2;
  case Precision::Int8:
    return 1e-1;
  case Precision::Int4Weights:
    return 2e-1;
  }
  return 0;
}

/// What rounding caches may do to outputs.
static double toleranceOf(CacheType type) {
  switch (type) {
  case CacheType::AsGiven:
  case CacheType::F32:
    return 0;
  case CacheType::F16:
    return 2e-3;
  case CacheType::Bf16:
    return 1e-2;
  case CacheType::Int8:
    return 3e-2;
  }
  return 0;
}

/// That of the coarsest precision asked for.
static double toleranceOf(const PrecisionRequest &request,
                          const DeviceRequest &device) {
  if (!request.readsPlan())
    return toleranceOf(findPrecision(request.all).value_or(Precision::Fp32),
                       device);
  auto plan = readPrecisionPlan(request.plan);
  if (!plan) {
    llvm::consumeError(plan.takeError()); // Compiling says why.
    return 0;
  }
  double tolerance = 0;
  for (const OpPrecision &row : plan->ops)
    tolerance = std::max(tolerance, toleranceOf(row.precision, device));
  return tolerance;
}

Verdict tenon::verifyModel(const std::string &path,
                           const VerifyCommand &command) {
  std::string file = modelFileOf(path);
  ImportedModel model(command.jobs < 0);
  // An importer's diagnostics are in its report.
  ScopedDiagnosticHandler silence(&model.context,
                                  [](Diagnostic &) { return success(); });
  if (std::optional<Verdict> verdict = import(file, model))
    return *verdict;
  Standard standard = {defaultTolerance(model.file->model()),
                       isQuantized(model.file->model()),
                       !command.precision.kvCache.empty()};
  CacheType caches =
      findCacheType(command.precision.kvCache).value_or(CacheType::AsGiven);
  standard.tolerance = std::max({standard.tolerance,
                                 toleranceOf(command.precision, command.device),
                                 toleranceOf(caches)});
  if (command.maxError >= 0)
    standard.tolerance = command.maxError;
  Execution execution;
  if (command.reference)
    execution = evaluation(model);
  else if (auto verdict = compiledExecution(file, command, execution))
    return *verdict;
  if (file == path)
    return verifySeeded(model, execution, command, standard);
  std::vector<std::string> sets = dataSetsOf(path);
  if (sets.empty())
    return Verdict::fail("has no test_data_set_* beside the model");
  return verifySets(sets, model, execution, standard);
}
