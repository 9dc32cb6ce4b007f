//===- Functions.cpp - What an operator means: a row or a function --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Functions.h"
#include "compiler/Import/CheckModel.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/NodeConverter.h"
#include "compiler/Import/Refusals.h"
#include "compiler/Weights/Printable.h"

#include "onnx_functions.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace tenon {
namespace {

StringRef shownDomain(StringRef domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

} // namespace

FunctionLibrary::FunctionLibrary(const onnx::ModelProto &model,
                                 ModelNames &names)
    : model(model), names(names) {
  for (const onnx::FunctionProto &function : model.functions())
    byName[function.name()].push_back(&function);
}

Callee FunctionLibrary::resolve(const onnx::NodeProto &node, Function inside) {
  Callee callee;
  StringRef domain = canonicalDomain(node.domain());
  if (inside)
    callee.opset = opsetOf(inside->opset_import(), domain);
  if (!callee.opset)
    callee.opset = opsetOf(model.opset_import(), domain);
  for (Function function : byName.lookup(node.op_type()))
    if (canonicalDomain(function->domain()) == domain &&
        function->overload() == node.overload()) {
      callee.function = function;
      return callee;
    }
  callee.row = findRow(domain, node.op_type(), callee.opset);
  if (!callee.row)
    callee.function = standardBody(domain, node.op_type(), callee.opset);
  return callee;
}

FunctionLibrary::Function
FunctionLibrary::standardBody(StringRef domain, StringRef op, int64_t opset) {
  // Sorted by version, then by the opset the body is written for.
  const OnnxFunctionBody *best = nullptr;
  for (size_t i = 0; i < kOnnxFunctionBodyCount; ++i) {
    const OnnxFunctionBody &body = kOnnxFunctionBodies[i];
    if (domain != body.domain || op != body.op || body.sinceVersion > opset)
      continue;
    bool isNewer = !best || body.sinceVersion > best->sinceVersion;
    if (isNewer || body.opsetVersion <= opset)
      best = &body;
  }
  if (!best)
    return nullptr;
  std::unique_ptr<onnx::FunctionProto> &parsed = bodies[best];
  if (!parsed) {
    parsed = std::make_unique<onnx::FunctionProto>();
    if (!parsed->ParseFromArray(best->bytes, best->size))
      return nullptr;
  }
  return parsed.get();
}

Problem FunctionLibrary::explain(const onnx::NodeProto &node, int64_t opset) {
  StringRef domain = canonicalDomain(node.domain());
  if (!opset)
    return {NodeIssue::Kind::Invalid,
            "the model imports no opset of the domain '" +
                printable(shownDomain(domain)) + "'",
            "add it to the opset_import of the model"};
  Refusal refusal = findRefusal(domain, node.op_type());
  if (!refusal.reason.empty())
    return {NodeIssue::Kind::Unsupported, refusal.reason.str(),
            refusal.fix.str()};
  if (findRow(domain, node.op_type(), kMaxOpset))
    return {NodeIssue::Kind::Unsupported,
            "this version of the operator is not supported",
            "convert the model to a newer opset with onnx.version_converter"};
  if (!domain.empty() && domain != "com.microsoft")
    return {NodeIssue::Kind::Unsupported,
            "the domain '" + printable(domain) +
                "' is not known and the model has no function of that name",
            "export the operator from standard ones, or with its function"};
  return {NodeIssue::Kind::Unsupported,
          "there is no such operator, or it is not supported yet", ""};
}

uint64_t FunctionLibrary::countFunction(Function function,
                                        ImportReport &report) {
  auto found = counts.find(function);
  if (found != counts.end())
    return found->second;
  uint64_t nodes = count(names.body(*function), function, report);
  counts[function] = nodes;
  return nodes;
}

uint64_t FunctionLibrary::countNode(const NamedNode &named, Function inside,
                                    ImportReport &report) {
  const onnx::NodeProto &node = *named.proto;
  Callee callee = resolve(node, inside);
  if (callee.function)
    return SaturatingAdd<uint64_t>(1, countFunction(callee.function, report));
  if (!callee.row) {
    Problem problem = explain(node, callee.opset);
    report.issues.push_back(
        {problem.kind, nodeName(node), printable(node.op_type()),
         printable(shownDomain(canonicalDomain(node.domain()))), callee.opset,
         problem.reason, problem.fix});
    return 1;
  }
  uint64_t total = 1;
  for (const Body *body : named.bodies)
    total = SaturatingAdd(total, count(*body, inside, report));
  return total;
}

uint64_t FunctionLibrary::count(const Body &body, Function inside,
                                ImportReport &report) {
  uint64_t total = 0;
  for (int index : liveNodes(body, orderNodes(body).nodes, body.outputs))
    total = SaturatingAdd(total, countNode(body.nodes[index], inside, report));
  return total;
}

uint64_t FunctionLibrary::countNodes(const onnx::GraphProto &graph,
                                     ImportReport &report) {
  return count(names.body(graph), nullptr, report);
}

} // namespace tenon
