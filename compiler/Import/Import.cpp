//===- Import.cpp - From an ONNX file to a module of graph ops ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Import.h"
#include "compiler/Import/CheckModel.h"
#include "compiler/Import/GraphImporter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {

std::string symbolNameOf(StringRef dim) {
  std::string name;
  for (char c : dim.take_front(64))
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name.insert(name.begin(), 'd');
  return name;
}

std::optional<StringRef> meantDim(const llvm::StringMap<std::string> &same,
                                  StringRef name) {
  for (size_t step = 0; step <= same.size(); ++step) {
    auto other = same.find(name);
    if (other == same.end())
      return name;
    name = other->second;
  }
  return std::nullopt;
}

OwningOpRef<ModuleOp> importModel(MLIRContext *context, StringRef path,
                                  WeightStore &weights,
                                  const ImportOptions &options,
                                  ImportReport &report) {
  auto file = ModelFile::open(path);
  if (!file) {
    report.invalid = llvm::toString(file.takeError());
    return {};
  }
  return importModel(context, *file, weights, options, report);
}

OwningOpRef<ModuleOp> importModel(MLIRContext *context,
                                  std::shared_ptr<const ModelFile> file,
                                  WeightStore &weights,
                                  const ImportOptions &options,
                                  ImportReport &report) {
  ModelNames names;
  if (llvm::Error error = checkModel(*file, names)) {
    report.invalid = llvm::toString(std::move(error));
    return {};
  }
  context->loadDialect<func::FuncDialect, graph::GraphDialect>();
  return GraphImporter(context, weights, std::move(file), names, options,
                       report)
      .run();
}

} // namespace tenon
