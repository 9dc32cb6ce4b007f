//===- VerifyCompiled.cpp - A model as compiled code ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CompileRequest.h"
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

} // namespace

std::optional<Verdict> tenon::compiledExecution(const std::string &path,
                                                const VerifyCommand &command,
                                                Execution &execution) {
  auto options = makeCompileOptions(command.cpu, {});
  if (!options)
    return Verdict::fail(llvm::toString(options.takeError()));
  options->generic = command.generic;
  TemporaryFile artifact;
  if (artifact.path.empty())
    return Verdict::fail("there is no place for a temporary file");
  Compilation compilation;
  std::string text;
  if (!compileModel(compilation, path, *options, artifact.path, text))
    return Verdict::fail("compile: " + (compilation.errors.empty()
                                            ? std::string("no reason given")
                                            : compilation.errors.front()));
  auto session = Session::open(artifact.path, "", command.threads);
  if (!session)
    return Verdict::fail("load: " + llvm::toString(session.takeError()));
  std::shared_ptr<Session> shared = std::move(*session);
  execution = [shared](const std::vector<Tensor> &inputs) {
    return shared->run(inputs);
  };
  return std::nullopt;
}
