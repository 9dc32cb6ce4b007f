//===- CompiledModel.h - A model, compiled and loaded in one step ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_COMPILEDMODEL_H
#define TENON_TOOLS_TENON_COMPILEDMODEL_H

#include "compiler/Pipeline.h"
#include "tools/tenon/Session.h"

namespace tenon {

/// The kernels' specifications and their machine code. The artifact is a
/// temporary file, which is gone with the session.
struct CompiledModel {
  Compilation compilation;
  std::unique_ptr<Session> session;

  /// Errors begin with "compile: " or "load: ".
  static llvm::Expected<std::shared_ptr<CompiledModel>>
  make(const std::string &path, const CompileOptions &options, int threads,
       const DeviceRequest &device = {});

  /// A program that measures the model, here and at once: it has code for this
  /// machine's CPU alone, which computes what the graph for the target rounds,
  /// and caches as they come, which products are chosen without.
  static llvm::Expected<std::shared_ptr<CompiledModel>>
  toMeasure(const std::string &path, CompileOptions options, int threads);
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_COMPILEDMODEL_H
