//===- CompiledModel.cpp - A model, compiled and loaded in one step -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CompiledModel.h"

#include "llvm/Support/FileSystem.h"

using namespace tenon;

namespace {

/// A path that is removed at the end.
class TemporaryFile {
public:
  TemporaryFile() {
    llvm::SmallString<128> name;
    int descriptor;
    if (!llvm::sys::fs::createTemporaryFile("tenon", "tenon", descriptor,
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

std::string firstError(const Compilation &compilation) {
  return compilation.errors.empty() ? "no reason given"
                                    : compilation.errors.front();
}

} // namespace

llvm::Expected<std::shared_ptr<CompiledModel>>
CompiledModel::make(const std::string &path, const CompileOptions &options,
                    int threads, const DeviceRequest &device) {
  TemporaryFile artifact;
  if (artifact.path.empty())
    return sentence("there is no place for a temporary file");
  auto model = std::make_shared<CompiledModel>();
  std::string text;
  if (!compileModel(model->compilation, path, options, artifact.path, text))
    return sentence("compile: " + firstError(model->compilation));
  auto session = Session::open(artifact.path, "", threads, device);
  if (!session)
    return sentence("load: " + llvm::toString(session.takeError()));
  model->session = std::move(*session);
  return model;
}

llvm::Expected<std::shared_ptr<CompiledModel>>
CompiledModel::toMeasure(const std::string &path, CompileOptions options,
                         int threads) {
  options.stage = EmitStage::Artifact;
  options.graphTarget = options.targets.front();
  options.targets = {Target::Cpu};
  options.sms.clear();
  options.isForThisMachine = true;
  options.kvCache = CacheType::AsGiven;
  options.seed = options.seed.value_or(0);
  return make(path, options, threads);
}
