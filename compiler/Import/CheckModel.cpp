//===- CheckModel.cpp - Is this a well-formed ONNX model? -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/CheckModel.h"
#include "compiler/Import/NodeOrder.h"
#include "compiler/Import/TensorData.h"
#include "compiler/Weights/Printable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using onnx::AttributeProto;

namespace tenon {
namespace {

Error refuse(const Twine &sentence) {
  return createStringError(inconvertibleErrorCode(), sentence);
}

std::string quoted(StringRef name) { return "'" + printable(name) + "'"; }

/// Which of its fields an attribute fills.
SmallVector<AttributeProto::AttributeType, 2>
filledFields(const AttributeProto &attribute) {
  SmallVector<AttributeProto::AttributeType, 2> types;
  auto add = [&](bool filled, AttributeProto::AttributeType type) {
    if (filled)
      types.push_back(type);
  };
  add(attribute.has_f(), AttributeProto::FLOAT);
  add(attribute.has_i(), AttributeProto::INT);
  add(attribute.has_s(), AttributeProto::STRING);
  add(attribute.has_t(), AttributeProto::TENSOR);
  add(attribute.has_g(), AttributeProto::GRAPH);
  add(attribute.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  add(attribute.has_tp(), AttributeProto::TYPE_PROTO);
  add(attribute.floats_size(), AttributeProto::FLOATS);
  add(attribute.ints_size(), AttributeProto::INTS);
  add(attribute.strings_size(), AttributeProto::STRINGS);
  add(attribute.tensors_size(), AttributeProto::TENSORS);
  add(attribute.graphs_size(), AttributeProto::GRAPHS);
  add(attribute.sparse_tensors_size(), AttributeProto::SPARSE_TENSORS);
  add(attribute.type_protos_size(), AttributeProto::TYPE_PROTOS);
  return types;
}

/// The names that a body may read from around it.
struct Names {
  const Names *outer = nullptr;
  DenseSet<NameId> own;

  bool contains(NameId name) const {
    for (const Names *at = this; at; at = at->outer)
      if (at->own.contains(name))
        return true;
    return false;
  }
};

class ModelCheck {
public:
  ModelCheck(const ModelFile &file, ModelNames &ids)
      : file(file), model(file.model()), ids(ids) {}

  Error run();

private:
  using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

  Error versions();
  Error imports(const Imports &imports, const Twine &where);
  Error functions();
  Expected<int> callDepth(const onnx::FunctionProto &function, int depth,
                          const onnx::NodeProto *call = nullptr);
  Expected<int> callDepth(const Body &body, int depth);
  Error function(const onnx::FunctionProto &function);
  Error graph(const onnx::GraphProto &graph, const Names *outer, int depth);
  Error nodes(const Body &body, Names &names, int depth);
  Error node(const NamedNode &node, const Names &names, int depth);
  Error attribute(const onnx::NodeProto &node, const AttributeProto &attribute,
                  const Names &names, int depth);
  Error sparse(const onnx::SparseTensorProto &tensor);

  const ModelFile &file;
  const onnx::ModelProto &model;
  ModelNames &ids;
  bool inFunction = false;
  DenseMap<StringRef, SmallVector<const onnx::FunctionProto *, 1>> byName;
  /// How deep the calls of a function go; `open` while that is found out.
  static constexpr int open = -1;
  DenseMap<const onnx::FunctionProto *, int> callDepths;
  SmallVector<const onnx::FunctionProto *> openCalls;
};

Error ModelCheck::imports(const Imports &imports, const Twine &where) {
  DenseMap<StringRef, int64_t> seen;
  for (const onnx::OperatorSetIdProto &import : imports) {
    StringRef domain = canonicalDomain(import.domain());
    auto [at, isNew] = seen.try_emplace(domain, import.version());
    if (!isNew && at->second != import.version())
      return refuse(where + " imports the domain " +
                    (domain.empty() ? "'ai.onnx'" : quoted(domain)) +
                    " twice, as version " + Twine(at->second) + " and as " +
                    Twine(import.version()));
    if (!domain.empty())
      continue;
    if (import.version() < kMinOpset)
      return refuse(where + " uses opset " + Twine(import.version()) +
                    " of ai.onnx; the oldest supported is " + Twine(kMinOpset) +
                    "; convert it with onnx.version_converter or export it "
                    "again");
    if (import.version() > kMaxOpset)
      return refuse(where + " uses opset " + Twine(import.version()) +
                    " of ai.onnx; the newest supported is " + Twine(kMaxOpset) +
                    "; export it with an older opset");
  }
  return Error::success();
}

Error ModelCheck::versions() {
  if (!model.has_ir_version())
    return refuse("the model states no IR version; it is no ONNX model or it "
                  "was cut off");
  if (!model.has_graph())
    return refuse("the model has no graph");
  if (model.ir_version() < kMinIrVersion)
    return refuse("the model has IR version " + Twine(model.ir_version()) +
                  "; the oldest supported is " + Twine(kMinIrVersion));
  if (model.ir_version() > kMaxIrVersion)
    return refuse("the model has IR version " + Twine(model.ir_version()) +
                  "; the newest supported is " + Twine(kMaxIrVersion));
  if (model.opset_import().empty())
    return refuse("the model imports no opset, so its operators have no "
                  "meaning");
  return imports(model.opset_import(), "the model");
}

Error ModelCheck::attribute(const onnx::NodeProto &node,
                            const AttributeProto &attribute, const Names &names,
                            int depth) {
  auto fail = [&](const Twine &reason) {
    return refuse(describe(node) + ": attribute " + quoted(attribute.name()) +
                  " " + reason);
  };
  if (!attribute.ref_attr_name().empty()) {
    if (!inFunction)
      return fail("refers to an attribute of a function, but is in none");
    return Error::success();
  }
  AttributeProto::AttributeType type = attributeType(attribute);
  if (type == AttributeProto::UNDEFINED)
    return fail("has no type and no value");
  for (AttributeProto::AttributeType filled : filledFields(attribute))
    if (filled != type)
      return fail("holds a value that is not of its stated type");
  if (type == AttributeProto::TENSOR && !attribute.has_t())
    return fail("has no tensor");
  if (type == AttributeProto::GRAPH && !attribute.has_g())
    return fail("has no graph");
  auto inAttribute = [&](Error error) {
    return refuse(describe(node) + ": " + toString(std::move(error)));
  };
  if (attribute.has_t())
    if (Error error = checkTensor(attribute.t(), file))
      return inAttribute(std::move(error));
  for (const onnx::TensorProto &tensor : attribute.tensors())
    if (Error error = checkTensor(tensor, file))
      return inAttribute(std::move(error));
  if (attribute.has_sparse_tensor())
    if (Error error = sparse(attribute.sparse_tensor()))
      return inAttribute(std::move(error));
  if (attribute.has_g())
    if (Error error = graph(attribute.g(), &names, depth + 1))
      return error;
  for (const onnx::GraphProto &body : attribute.graphs())
    if (Error error = graph(body, &names, depth + 1))
      return error;
  return Error::success();
}

Error ModelCheck::sparse(const onnx::SparseTensorProto &tensor) {
  auto fail = [&](const Twine &reason) {
    return refuse("sparse tensor " + quoted(tensor.values().name()) + " " +
                  reason);
  };
  if (Error error = checkTensor(tensor.values(), file))
    return error;
  if (Error error = checkTensor(tensor.indices(), file))
    return error;
  if (tensor.indices().data_type() != onnx::TensorProto::INT64)
    return fail("has indices that are not int64");
  return fail("is stored sparsely, which is not supported; store it densely");
}

Error ModelCheck::node(const NamedNode &named, const Names &names, int depth) {
  const onnx::NodeProto &node = *named.proto;
  if (node.op_type().empty())
    return refuse(describe(node) + ": has no operator");
  for (auto [i, input] : enumerate(named.inputs))
    if (input != kNoName && !names.contains(input))
      return refuse(describe(node) + ": its input " + quoted(node.input(i)) +
                    " is produced by nothing");
  DenseSet<StringRef> seen;
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.name().empty())
      return refuse(describe(node) + ": has an attribute without a name");
    if (!seen.insert(attribute.name()).second)
      return refuse(describe(node) + ": has two attributes " +
                    quoted(attribute.name()));
    if (Error error = this->attribute(node, attribute, names, depth))
      return error;
  }
  return Error::success();
}

Error ModelCheck::nodes(const Body &body, Names &names, int depth) {
  for (const NamedNode &node : body.nodes)
    for (auto [i, output] : enumerate(node.outputs))
      if (output != kNoName && !names.own.insert(output).second)
        return refuse(describe(*node.proto) + ": its output " +
                      quoted(node.proto->output(i)) +
                      " already has a producer");
  for (const NamedNode &node : body.nodes)
    if (Error error = this->node(node, names, depth))
      return error;
  NodeOrder order = orderNodes(body);
  if (order.onCycle >= 0)
    return refuse(describe(*body.nodes[order.onCycle].proto) +
                  ": needs its own output; the graph has a cycle");
  return Error::success();
}

Error ModelCheck::graph(const onnx::GraphProto &graph, const Names *outer,
                        int depth) {
  if (depth > kMaxGraphDepth)
    return refuse("graphs are nested more than " + Twine(kMaxGraphDepth) +
                  " deep");
  Names names;
  names.outer = outer;
  const Body &body = ids.body(graph);
  for (auto [id, input] : zip_equal(body.inputs, graph.input())) {
    if (id == kNoName)
      return refuse("a graph input has no name");
    if (!names.own.insert(id).second)
      return refuse("the graph has two inputs named " + quoted(input.name()));
  }
  DenseSet<NameId> initializers;
  for (auto [id, tensor] : zip_equal(body.initializers, graph.initializer())) {
    if (id == kNoName)
      return refuse("an initializer has no name");
    if (!initializers.insert(id).second)
      return refuse("the graph has two initializers named " +
                    quoted(tensor.name()));
    if (Error error = checkTensor(tensor, file))
      return error;
    names.own.insert(id);
  }
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    if (Error error = sparse(tensor))
      return error;
  if (Error error = nodes(body, names, depth))
    return error;
  for (auto [id, output] : zip_equal(body.outputs, graph.output()))
    if (!names.contains(id))
      return refuse("the graph output " + quoted(output.name()) +
                    " is produced by nothing");
  return Error::success();
}

Error ModelCheck::function(const onnx::FunctionProto &function) {
  auto where = [&](Error error) {
    return refuse("function " + quoted(function.name()) + ": " +
                  toString(std::move(error)));
  };
  if (function.name().empty())
    return refuse("a function has no name");
  if (Error error = imports(function.opset_import(),
                            "function " + quoted(function.name())))
    return error;
  Names names;
  const Body &body = ids.body(function);
  for (auto [id, input] : zip_equal(body.inputs, function.input()))
    if (id == kNoName || !names.own.insert(id).second)
      return where(refuse("has two inputs named " + quoted(input)));
  inFunction = true;
  Error error = nodes(body, names, 0);
  inFunction = false;
  if (error)
    return where(std::move(error));
  for (auto [id, output] : zip_equal(body.outputs, function.output()))
    if (!names.contains(id))
      return where(
          refuse("its output " + quoted(output) + " is produced by nothing"));
  return Error::success();
}

Expected<int> ModelCheck::callDepth(const Body &body, int depth) {
  int deepest = 0;
  auto include = [&](Expected<int> found) -> Error {
    if (!found)
      return found.takeError();
    deepest = std::max(deepest, *found);
    return Error::success();
  };
  for (const NamedNode &named : body.nodes) {
    const onnx::NodeProto &node = *named.proto;
    for (const onnx::FunctionProto *callee : byName.lookup(node.op_type()))
      if (callee->domain() == node.domain() &&
          callee->overload() == node.overload())
        if (Error error = include(callDepth(*callee, depth + 1, &node)))
          return error;
    for (const Body *inner : named.bodies)
      if (Error error = include(callDepth(*inner, depth)))
        return error;
  }
  return deepest;
}

Expected<int> ModelCheck::callDepth(const onnx::FunctionProto &function,
                                    int depth, const onnx::NodeProto *call) {
  auto [known, isNew] = callDepths.try_emplace(&function, open);
  if (!isNew && known->second == open)
    return refuse("function " + quoted(function.name()) + " calls itself; " +
                  describe(*call) + " in " + quoted(openCalls.back()->name()) +
                  " closes the circle");
  if (!isNew)
    return known->second;
  openCalls.push_back(&function);
  auto tooDeep = [] {
    return refuse("functions call each other more than " +
                  Twine(kMaxCallDepth) + " deep");
  };
  if (depth > kMaxCallDepth)
    return tooDeep();
  Expected<int> inner = callDepth(ids.body(function), depth);
  if (!inner)
    return inner;
  if (*inner >= kMaxCallDepth)
    return tooDeep();
  openCalls.pop_back();
  return callDepths[&function] = *inner + 1;
}

Error ModelCheck::functions() {
  DenseSet<std::pair<StringRef, std::pair<StringRef, StringRef>>> seen;
  for (const onnx::FunctionProto &each : model.functions()) {
    if (!seen.insert({each.domain(), {each.name(), each.overload()}}).second)
      return refuse("the model has two functions " + quoted(each.name()) +
                    " in the domain " + quoted(each.domain()));
    byName[each.name()].push_back(&each);
    if (Error error = function(each))
      return error;
  }
  for (const onnx::FunctionProto &each : model.functions())
    if (Expected<int> depth = callDepth(each, 0); !depth)
      return depth.takeError();
  return Error::success();
}

Error ModelCheck::run() {
  if (Error error = versions())
    return error;
  if (Error error = functions())
    return error;
  return graph(model.graph(), nullptr, 0);
}

} // namespace

std::string describe(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return "node " + quoted(node.name()) + " (" + printable(node.op_type()) +
           ")";
  std::string text = "the " + printable(node.op_type()) + " node";
  if (node.output_size() && !node.output(0).empty())
    text += " that makes " + quoted(node.output(0));
  return text;
}

AttributeProto::AttributeType attributeType(const AttributeProto &attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type();
  auto filled = filledFields(attribute);
  return filled.size() == 1 ? filled.front() : AttributeProto::UNDEFINED;
}

Error checkModel(const ModelFile &file, ModelNames &names) {
  return ModelCheck(file, names).run();
}

} // namespace tenon
