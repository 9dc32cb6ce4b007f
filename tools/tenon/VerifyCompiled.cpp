//===- VerifyCompiled.cpp - A model as compiled code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CompileRequest.h"
#include "tools/tenon/KernelCheck.h"
#include "tools/tenon/Session.h"
#include "tools/tenon/Verify.h"

#include "compiler/Pipeline.h"
#include "llvm/Support/FileSystem.h"

using namespace tenon;

namespace {

/// A path that is removed at the end.
class TemporaryFile {
public:
  TemporaryFile() {
    llvm::SmallString<128> name;
    int descriptor;
    if (!llvm::sys::fs::createTemporaryFile("tenon-verify", "tenon", descriptor,
                                            name)) {
      llvm::sys::fs::closeFile(descriptor);
      path = name.str().str();
    }
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  std::string path;
};

/// The kernels' specifications and their machine code.
struct CompiledModel {
  Compilation compilation;
  std::unique_ptr<Session> session;
};

std::string firstError(const Compilation &compilation) {
  return compilation.errors.empty() ? "no reason given"
                                    : compilation.errors.front();
}

std::string compareKernels(CompiledModel &model,
                           const std::vector<Tensor> &inputs,
                           KernelsToCheck which, double tolerance) {
  KernelCheck check(*model.compilation.module, which, tolerance,
                    model.session->device());
  tenon_session_set_observer(model.session->handle(), KernelCheck::observe,
                             &check);
  auto outputs = model.session->run(inputs);
  tenon_session_set_observer(model.session->handle(), nullptr, nullptr);
  if (!outputs)
    llvm::consumeError(outputs.takeError());
  return check.difference();
}

} // namespace

std::optional<Verdict> tenon::compiledExecution(const std::string &path,
                                                const VerifyCommand &command,
                                                Execution &execution) {
  // Levels are the CPU's.
  auto options =
      makeCompileOptions(command.device.isCpu() ? command.cpu : "", {});
  if (!options)
    return Verdict::fail(llvm::toString(options.takeError()));
  if (!command.device.isCpu())
    options->targets = {Target::Cuda};
  options->generic = command.generic;
  if (llvm::Error error = setPrecision(*options, command.precision))
    return Verdict::fail(llvm::toString(std::move(error)));
  options->winograd = winogradOutputs(command.winograd);
  options->tf32 = parseTf32(command.tf32);
  TemporaryFile artifact;
  if (artifact.path.empty())
    return Verdict::fail("there is no place for a temporary file");
  auto compiled = std::make_shared<CompiledModel>();
  std::string text;
  if (!compileModel(compiled->compilation, path, *options, artifact.path, text))
    return Verdict::fail("compile: " + firstError(compiled->compilation));
  auto session =
      Session::open(artifact.path, "", command.threads, command.device);
  if (!session)
    return Verdict::fail("load: " + llvm::toString(session.takeError()));
  compiled->session = std::move(*session);
  execution.run = [compiled](const std::vector<Tensor> &inputs) {
    return compiled->session->run(inputs);
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
