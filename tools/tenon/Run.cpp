//===- Run.cpp - tenon run ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"
#include "tools/tenon/Session.h"

#include "compiler/Weights/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace tenon;

namespace {

/// "name f32[1x4] in [-0.5, 2]".
void print(const std::string &name, const Tensor &tensor) {
  llvm::outs() << printable(name) << ' ' << describe(tensor.type, tensor.dims);
  double lo = INFINITY, hi = -INFINITY;
  int64_t count = tensor.count(), special = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = elementAsDouble(tensor, i);
    if (!std::isfinite(value)) {
      ++special;
      continue;
    }
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  if (lo <= hi)
    llvm::outs() << llvm::format(" in [%.6g, %.6g]", lo, hi);
  if (special)
    llvm::outs() << ", " << special << " not finite";
  llvm::outs() << '\n';
}

llvm::Error writeOutputs(const std::string &folder,
                         const std::vector<Tensor> &outputs) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return sentence(folder + ": cannot make the folder: " + error.message());
  for (size_t i = 0; i < outputs.size(); ++i) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, "output_" + llvm::Twine(i) + ".npy");
    if (llvm::Error error = writeNpy(file, outputs[i]))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error run(const RunCommand &command) {
  auto session = Session::open(command.artifact, command.level, command.threads,
                               command.device);
  if (!session)
    return session.takeError();
  auto inputs = readInputs(**session, command.request);
  if (!inputs)
    return inputs.takeError();
  auto outputs = (*session)->run(*inputs);
  if (!outputs)
    return outputs.takeError();
  std::vector<std::string> names = (*session)->outputNames();
  for (size_t i = 0; i < outputs->size(); ++i)
    print(names[i], (*outputs)[i]);
  if (!command.outputs.empty())
    return writeOutputs(command.outputs, *outputs);
  return llvm::Error::success();
}

} // namespace

int tenon::runRun(const RunCommand &command) {
  if (llvm::Error error = run(command)) {
    llvm::errs() << "tenon run: " << llvm::toString(std::move(error)) << '\n';
    return kFailure;
  }
  return kSuccess;
}
