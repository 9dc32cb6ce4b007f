//===- VerifyCompiled.cpp - A model as compiled code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"
#include "tools/tenon/CalibrationRequest.h"
#include "tools/tenon/CompileRequest.h"
#include "tools/tenon/CompiledModel.h"
#include "tools/tenon/KernelCheck.h"
#include "tools/tenon/Verify.h"

using namespace tenon;

namespace {

std::string compareKernels(CompiledModel &model,
                           const std::vector<Tensor> &inputs,
                           KernelsToCheck which, double tolerance) {
  std::vector<Tensor> stored = inputs;
  storeCaches(*model.session, stored);
  KernelCheck check(*model.compilation.module, which, tolerance,
                    model.session->device());
  tenon_session_set_observer(model.session->handle(), KernelCheck::observe,
                             &check);
  auto outputs = model.session->run(stored);
  tenon_session_set_observer(model.session->handle(), nullptr, nullptr);
  if (!outputs)
    llvm::consumeError(outputs.takeError());
  return check.difference();
}

/// Sets what --calibrate says; why it cannot, or nothing.
std::string calibrateFor(const std::string &path, const VerifyCommand &command,
                         CompileOptions &options) {
  if (!command.precision.isCalibrated())
    return "";
  if (std::string why = refusalOfCalibration(options); !why.empty())
    return why;
  PrecisionRequest request = command.precision;
  request.threads = command.threads;
  std::string report;
  return llvm::toString(calibrate(path, options, request, report));
}

} // namespace

std::optional<Verdict> tenon::compiledExecution(const std::string &path,
                                                const VerifyCommand &command,
                                                Execution &execution) {
  // Levels are the CPU's.
  auto options = makeCompileOptions(command.device.isCpu() ? command.cpu : "",
                                    command.dims);
  if (!options)
    return Verdict::fail(llvm::toString(options.takeError()));
  // Other sizes are what inputs have.
  llvm::erase_if(options->dims,
                 [](const DimRange &range) { return range.same.empty(); });
  if (!command.device.isCpu())
    options->targets = {Target::Cuda};
  options->generic = command.generic;
  if (llvm::Error error = setPrecision(*options, command.precision))
    return Verdict::fail(llvm::toString(std::move(error)));
  if (llvm::Error error = setCodeCache(*options, command.codeCache))
    return Verdict::fail(llvm::toString(std::move(error)));
  if (std::string why = calibrateFor(path, command, *options); !why.empty())
    return Verdict::fail(why);
  options->winograd = winogradOutputs(command.winograd);
  options->itemsAtOnce = itemsAtOnce(command.batchAtOnce);
  options->tf32 = parseTf32(command.tf32);
  auto made =
      CompiledModel::make(path, *options, command.threads, command.device);
  if (!made)
    return Verdict::fail(llvm::toString(made.takeError()));
  std::shared_ptr<CompiledModel> compiled = std::move(*made);
  execution.run = [compiled](const std::vector<Tensor> &inputs)
      -> llvm::Expected<std::vector<Tensor>> {
    std::vector<Tensor> stored = inputs;
    storeCaches(*compiled->session, stored);
    auto outputs = compiled->session->run(stored);
    if (outputs)
      readCaches(*compiled->session, *outputs);
    return outputs;
  };
  execution.compareKernels = [compiled](const std::vector<Tensor> &inputs,
                                        bool integersOnly, double tolerance) {
    return compareKernels(*compiled, inputs,
                          integersOnly ? KernelsToCheck::Integers
                                       : KernelsToCheck::All,
                          tolerance);
  };
  return std::nullopt;
}
