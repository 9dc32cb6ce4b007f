//===- PipelineDims.cpp - What --dim says of a model's sizes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PipelineDims.h"
#include "compiler/Import/Import.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
namespace {

/// The names of symbolic dims that the model's inputs have.
llvm::StringSet<> dimNames(const ModelFile &file) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &input : file.model().graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty())
        names.insert(dim.dim_param());
  return names;
}

/// Refuses dims that are said to be each other.
void checkCircles(ArrayRef<DimRange> dims, std::vector<std::string> &errors) {
  llvm::StringMap<std::string> same;
  for (const DimRange &range : dims)
    if (!range.same.empty())
      same[range.name] = range.same;
  for (const DimRange &range : dims) {
    if (meantDim(same, range.name))
      continue;
    errors.push_back(
        "the dim '" + range.name +
        "' is said to be others in a circle: leave one of them out");
    return;
  }
}

/// The symbol that the importer made of each dim name; none for a name that is
/// a formula of others or has become a number.
llvm::StringMap<std::string> symbolsOfDims(func::FuncOp main,
                                           const ModelFile &file) {
  llvm::StringMap<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : file.model().graph().input())
    inputs[input.name()] = &input;
  llvm::StringMap<std::string> symbols;
  for (BlockArgument argument : main.getArguments()) {
    auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  "graph.name");
    const onnx::ValueInfoProto *input = name ? inputs.lookup(name) : nullptr;
    if (!input)
      continue;
    const auto &shape = input->type().tensor_type().shape();
    for (auto [dim, expr] : llvm::zip(shape.dim(), graph::getDims(argument)))
      if (!dim.dim_param().empty() && expr.isSymbol())
        symbols[dim.dim_param()] = expr.name().str();
  }
  return symbols;
}

} // namespace

std::vector<DimRange> modelDims(const ModelFile &file,
                                ArrayRef<DimRange> options) {
  llvm::StringSet<> known = dimNames(file);
  llvm::StringMap<std::string> meant; // Empty where several names are alike.
  for (StringRef name : known.keys())
    if (auto [it, isNew] = meant.try_emplace(symbolNameOf(name), name); !isNew)
      it->second.clear();
  auto inModel = [&](std::string name) {
    auto it = known.contains(name) ? meant.end() : meant.find(name);
    return it == meant.end() || it->second.empty() ? name : it->second;
  };
  std::vector<DimRange> dims = options.vec();
  for (DimRange &range : dims) {
    range.name = inModel(range.name);
    range.same = inModel(range.same);
  }
  return dims;
}

bool checkDims(const ModelFile &file, ArrayRef<DimRange> dims,
               std::vector<std::string> &errors) {
  llvm::StringSet<> known = dimNames(file);
  for (const DimRange &range : dims) {
    std::string missing = known.contains(range.name) ? range.same : range.name;
    if (missing.empty() || known.contains(missing))
      continue;
    std::vector<std::string> names;
    for (const auto &name : known)
      names.push_back(name.getKey().str());
    llvm::sort(names);
    errors.push_back(
        "no input has a dim '" + missing + "'; there are " +
        (names.empty() ? "no symbolic dims" : llvm::join(names, ", ")));
  }
  if (errors.empty())
    checkCircles(dims, errors);
  return errors.empty();
}

void setDimRanges(ModuleOp module, const ModelFile &file,
                  ArrayRef<DimRange> dims) {
  Builder builder(module.getContext());
  for (auto main : module.getOps<func::FuncOp>()) {
    llvm::StringMap<std::string> symbols = symbolsOfDims(main, file);
    SmallVector<NamedAttribute> ranges;
    for (const DimRange &range : dims)
      if (auto found = symbols.find(range.name);
          found != symbols.end() && range.same.empty())
        ranges.push_back(builder.getNamedAttr(
            found->second, builder.getDenseI64ArrayAttr({range.lo, range.hi})));
    main->setAttr("graph.ranges", builder.getDictionaryAttr(ranges));
  }
}

} // namespace tenon
