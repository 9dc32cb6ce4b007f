//===- GraphImporter.cpp - Walks the graphs of one model ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/CheckModel.h"
#include "compiler/Weights/Printable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon {

std::string nodeName(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return printable(node.name());
  std::string name = printable(node.op_type());
  if (node.output_size())
    name += ":" + printable(node.output(0));
  return name;
}

GraphImporter::GraphImporter(MLIRContext *context, WeightStore &weights,
                             std::shared_ptr<const ModelFile> file,
                             ModelNames &names, const ImportOptions &options,
                             ImportReport &report)
    : state(context, weights, file), builder(context), file(*file),
      options(options), report(report), names(names),
      library(file->model(), names) {}

OwningOpRef<ModuleOp> GraphImporter::run() {
  uint64_t nodes = library.countNodes(file.model().graph(), report);
  if (nodes > kMaxNodes) {
    report.invalid = "the model has more than " + std::to_string(kMaxNodes) +
                     " nodes once its functions are expanded";
    return {};
  }
  if (!report.ok())
    return {};

  // What inference and verifiers say becomes the reason of a node's problem.
  ScopedDiagnosticHandler handler(state.context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    if (state.lastError.empty())
      state.lastError = diagnostic.str();
    return success();
  });
  Location loc = NameLoc::get(
      builder.getStringAttr(printable(file.model().graph().name())));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  importMain(*module);
  if (!report.ok())
    return {};
  state.lastError.clear();
  if (failed(verify(*module))) {
    report.invalid = "internal error: the imported module is not valid (" +
                     state.lastError + "); please report this";
    return {};
  }
  return module;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

NamedValue GraphImporter::lookup(NameId name) const {
  for (const Scope *at = scope; at; at = at->outer) {
    auto found = at->values.find(name);
    if (found != at->values.end())
      return found->second;
  }
  return {};
}

void GraphImporter::define(NameId name, const NamedValue &value) {
  if (name != kNoName)
    scope->values[name] = value;
}

void GraphImporter::poison(const NamedNode &node) {
  for (NameId output : node.outputs)
    define(output, Value());
}

bool GraphImporter::usesPoison(const NamedNode &node) const {
  bool poisoned = false;
  forEachUse(node, [&](NameId name) {
    poisoned |= lookup(name).state == NamedValue::State::Poisoned;
  });
  return poisoned;
}

const onnx::AttributeProto *
GraphImporter::attribute(const onnx::NodeProto &node, StringRef name) const {
  // A reference leads to the attribute of the call, or to the default of the
  // function; that of the call may be a reference in turn.
  const onnx::NodeProto *at = &node;
  const Frame *inside = frame;
  std::string wanted = name.str();
  while (true) {
    const onnx::AttributeProto *found = nullptr;
    for (const onnx::AttributeProto &attribute : at->attribute())
      if (attribute.name() == wanted)
        found = &attribute;
    if (!found && at != &node) {
      // `at` is a call, one frame further in than `inside`.
      return nullptr;
    }
    if (!found || found->ref_attr_name().empty())
      return found;
    if (!inside)
      return nullptr;
    wanted = found->ref_attr_name();
    at = inside->call;
    bool given = llvm::any_of(at->attribute(), [&](const auto &attribute) {
      return attribute.name() == wanted;
    });
    if (!given) {
      for (const onnx::AttributeProto &missing :
           inside->function->attribute_proto())
        if (missing.name() == wanted)
          return &missing;
      return nullptr;
    }
    inside = inside->caller;
  }
}

Location GraphImporter::locate(const onnx::NodeProto &node) const {
  std::string name = (frame ? frame->prefix : "") + nodeName(node);
  return NameLoc::get(StringAttr::get(state.context, name));
}

void GraphImporter::addIssue(const onnx::NodeProto &node, int64_t opset,
                             const Problem &problem) {
  // A problem without a reason stands for one that was reported inside.
  if (problem.reason.empty())
    return;
  StringRef domain = canonicalDomain(node.domain());
  report.issues.push_back({problem.kind,
                           (frame ? frame->prefix : "") + nodeName(node),
                           printable(node.op_type()),
                           domain.empty() ? "ai.onnx" : printable(domain),
                           opset, problem.reason, problem.fix});
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void GraphImporter::importInitializers(const onnx::GraphProto &graph,
                                       ArrayRef<int> live) {
  const Body &body = names.body(graph);
  llvm::DenseSet<NameId> used(body.outputs.begin(), body.outputs.end());
  for (int index : live)
    forEachUse(body.nodes[index], [&](NameId name) { used.insert(name); });
  for (auto [id, tensor] :
       llvm::zip_equal(body.initializers, graph.initializer())) {
    // What the operator gives to an input of its body comes before a default.
    if (!used.contains(id) || scope->values.contains(id))
      continue;
    std::string name = printable(tensor.name());
    Emitter emitter(state, builder, NameLoc::get(builder.getStringAttr(name)),
                    "initializer '" + name + "'");
    define(id, emitter.tensor(tensor, tensor.name()));
    if (const auto &problem = emitter.getProblem())
      report.issues.push_back({problem->kind, name, "initializer", "ai.onnx", 0,
                               problem->reason, problem->fix});
  }
}

void GraphImporter::importNodes(const Body &body, ArrayRef<int> live) {
  for (int index : live)
    importNode(body.nodes[index]);
}

void GraphImporter::importNode(const NamedNode &named) {
  if (usesPoison(named))
    return poison(named);
  const onnx::NodeProto &node = *named.proto;
  Callee callee = library.resolve(node, currentFunction());
  if (callee.function)
    return importCall(named, *callee.function);
  if (callee.row)
    return convert(named, *callee.row, callee.opset);
  addIssue(node, callee.opset, FunctionLibrary::explain(node, callee.opset));
  poison(named);
}

void GraphImporter::convert(const NamedNode &named, const OpRow &row,
                            int64_t opset) {
  const onnx::NodeProto &node = *named.proto;
  NodeConverter converter(*this, named, opset, locate(node));
  LogicalResult done = converter.expectFewBits();
  if (succeeded(done))
    done = row.convert(converter);
  converter.giveFewBits();
  for (auto [i, name] : llvm::enumerate(node.output()))
    if (!converter.failed() && !name.empty() && !converter.outputs[i])
      (void)converter.unsupported("its output " + Twine(i) + " ('" +
                                  printable(name) + "') is not supported");
  if (failed(done) && !converter.failed())
    (void)converter.unsupported("cannot be converted");
  if (converter.failed()) {
    addIssue(node, opset, *converter.getProblem());
    return poison(named);
  }
  for (auto [name, value] : llvm::zip(named.outputs, converter.outputs))
    if (value)
      define(name, *value);
}

void GraphImporter::importCall(const NamedNode &named,
                               const onnx::FunctionProto &function) {
  const onnx::NodeProto &node = *named.proto;
  Callee callee = library.resolve(node, currentFunction());
  if (node.input_size() > function.input_size() ||
      node.output_size() > function.output_size()) {
    addIssue(node, callee.opset,
             {NodeIssue::Kind::Invalid,
              "has more inputs or outputs than its function", ""});
    return poison(named);
  }
  const Body &body = names.body(function);
  if (state.loops && !mayRepeat(body.size + 1)) {
    addIssue(node, callee.opset, repeatsTooMuch());
    return poison(named);
  }
  Scope inner;
  for (auto [i, formal] : llvm::enumerate(body.inputs))
    inner.values[formal] = i < named.inputs.size() && named.inputs[i] != kNoName
                               ? lookup(named.inputs[i])
                               : NamedValue();
  SmallVector<NameId> wanted;
  for (auto [i, name] : llvm::enumerate(named.outputs))
    if (name != kNoName)
      wanted.push_back(body.outputs[i]);

  Frame called{frame, &node, &function,
               (frame ? frame->prefix : "") + nodeName(node) + "/"};
  Scope *outer = std::exchange(scope, &inner);
  const Frame *caller = std::exchange(frame, &called);
  importNodes(body, liveNodes(body, orderNodes(body).nodes, wanted));
  SmallVector<NamedValue> values;
  for (NameId name : wanted)
    values.push_back(lookup(name));
  scope = outer;
  frame = caller;

  auto next = values.begin();
  for (NameId name : named.outputs)
    if (name != kNoName)
      define(name, *next++);
}

bool GraphImporter::mayRepeat(uint64_t nodes) {
  state.repeatedNodes = llvm::SaturatingAdd(state.repeatedNodes, nodes);
  return state.repeatedNodes <= kMaxRepeatedNodes;
}

Problem GraphImporter::repeatsTooMuch() {
  return {NodeIssue::Kind::Unsupported,
          "the model's loops and sequences come to more than " +
              std::to_string(kMaxRepeatedNodes) + " nodes",
          "export one step as a model, and repeat it outside"};
}

std::optional<SmallVector<NamedValue>>
GraphImporter::importBody(const onnx::GraphProto &graph,
                          ArrayRef<NamedValue> inputs) {
  const Body &body = names.body(graph);
  Scope inner;
  inner.outer = scope;
  for (auto [name, value] : llvm::zip_equal(body.inputs, inputs))
    inner.values[name] = value;
  Scope *outer = std::exchange(scope, &inner);
  auto live = liveNodes(body, orderNodes(body).nodes, body.outputs);
  importInitializers(graph, live);
  importNodes(body, live);
  SmallVector<NamedValue> values;
  for (NameId name : body.outputs)
    values.push_back(lookup(name));
  scope = outer;
  if (llvm::any_of(values, [](const NamedValue &value) {
        return value.state == NamedValue::State::Poisoned;
      }))
    return std::nullopt;
  return values;
}

} // namespace tenon
