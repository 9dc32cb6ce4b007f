//===- Explain.cpp - tenon explain ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"
#include "tools/tenon/CompileRequest.h"

#include "compiler/Import/ModelFile.h"
#include "compiler/Pipeline.h"
#include "compiler/Weights/Printable.h"
#include "dialects/Kernel/Kernel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

namespace {

/// The kernels of each node, by the name that locations carry.
class Kernels {
public:
  explicit Kernels(ModuleOp module) {
    module.walk([&](kernel::CallOp call) {
      auto function = SymbolTable::lookupNearestSymbolFrom<kernel::FuncOp>(
          call, call.getCalleeAttr());
      auto nodes = call->getAttrOfType<ArrayAttr>("nodes");
      if (!function || !nodes)
        return;
      llvm::SmallSetVector<StringRef, 8> names;
      for (auto name : nodes.getAsRange<StringAttr>())
        if (!name.empty()) // Of an op that no single node made.
          names.insert(name);
      std::string text = describe(function, names.size());
      for (StringRef name : names)
        if (!llvm::is_contained(byNode[name], text))
          byNode[name].push_back(text);
    });
  }

  ArrayRef<std::string> of(StringRef node) const {
    auto found = byNode.find(node);
    return found == byNode.end() ? ArrayRef<std::string>() : found->second;
  }

private:
  static std::string describe(kernel::FuncOp function, size_t nodes) {
    std::string text =
        (function.getSymName() + " (" + function.getSchedule() + ")").str();
    if (nodes > 1)
      return text + ", with " + std::to_string(nodes - 1) +
             (nodes == 2 ? " other node" : " other nodes");
    return text + ", alone";
  }

  llvm::StringMap<SmallVector<std::string, 1>> byNode;
};

/// The name that the importer gives to a node without one.
std::string nameOf(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return printable(node.name());
  std::string output = node.output_size() ? node.output(0) : "";
  return printable(node.op_type() + ":" + output);
}

/// Why kernels end at a node, each reason once.
void printRemarks(const Compilation &compilation, const std::string &node,
                  const std::string &indent) {
  llvm::SmallSetVector<StringRef, 2> reasons;
  auto [first, last] = compilation.remarks.equal_range(node);
  for (auto remark = first; remark != last; ++remark)
    reasons.insert(remark->second);
  for (StringRef reason : reasons)
    llvm::outs() << indent << reason << '\n';
}

void print(const onnx::GraphProto &graph, const Compilation &compilation,
           const Kernels &kernels, const std::string &indent) {
  for (const onnx::NodeProto &node : graph.node()) {
    llvm::outs() << indent << nameOf(node) << " (" << printable(node.op_type())
                 << ") -> ";
    ArrayRef<std::string> found = kernels.of(nameOf(node));
    if (found.empty())
      llvm::outs() << "no kernel of its own: known at build time, a view, part "
                      "of what another node stands for, or unused\n";
    for (size_t i = 0; i < found.size(); ++i)
      llvm::outs() << (i ? indent + "    and " : "") << found[i] << '\n';
    printRemarks(compilation, nameOf(node), indent + "    ");
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        print(attribute.g(), compilation, kernels, indent + "  ");
  }
}

} // namespace

int tenon::runExplain(const ExplainCommand &command) {
  if (command.target == "cuda")
    return explainForCuda(command);
  auto options = makeCompileOptions("", command.dims, "kernels");
  if (!options) {
    llvm::errs() << "tenon explain: " << llvm::toString(options.takeError())
                 << '\n';
    return kInvalid;
  }
  options->explain = true;
  if (llvm::Error error = setPrecision(*options, command.precision)) {
    llvm::errs() << "tenon explain: " << llvm::toString(std::move(error))
                 << '\n';
    return kInvalid;
  }
  if (options->precisionPlan) // What numbers become is not shown.
    for (OpPrecision &row : options->precisionPlan->ops)
      row.compensated = false;
  options->tf32 = parseTf32(command.tf32);
  Compilation compilation;
  if (!lowerModel(compilation, command.model, *options)) {
    for (const std::string &error : compilation.errors)
      llvm::errs() << "tenon explain: " << error << '\n';
    return compilation.report.isInvalidModel() ? kInvalid : kFailure;
  }
  auto file = ModelFile::open(command.model);
  if (!file) {
    llvm::errs() << "tenon explain: " << llvm::toString(file.takeError())
                 << '\n';
    return kInvalid;
  }
  print((*file)->model().graph(), compilation, Kernels(*compilation.module),
        "");
  printRemarks(compilation, "", "");
  return kSuccess;
}
