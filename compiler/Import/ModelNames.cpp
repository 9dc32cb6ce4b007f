//===- ModelNames.cpp - Numbers for the names of values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ModelNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tenon {
namespace {

void define(Body &body, ArrayRef<NameId> names) {
  for (NameId name : names)
    if (name != kNoName)
      body.own.insert(name);
}

/// What follows from the nodes of a body.
void defineNodes(Body &body) {
  body.size = body.nodes.size();
  for (const NamedNode &node : body.nodes) {
    define(body, node.outputs);
    for (const Body *inner : node.bodies)
      body.size += inner->size;
  }
}

} // namespace

NameId ModelNames::id(StringRef name) {
  if (name.empty())
    return kNoName;
  return numbers.try_emplace(name, numbers.size() + 1).first->second;
}

template <typename List, typename GetName>
ArrayRef<NameId> ModelNames::ids(const List &list, GetName getName) {
  MutableArrayRef<NameId> result(memory.Allocate<NameId>(list.size()),
                                 list.size());
  for (auto [to, each] : zip_equal(result, list))
    to = id(getName(each));
  return result;
}

ArrayRef<NameId>
ModelNames::ids(const google::protobuf::RepeatedPtrField<std::string> &list) {
  return ids(list, [](const std::string &name) { return StringRef(name); });
}

ArrayRef<const Body *> ModelNames::bodiesOf(const onnx::NodeProto &node) {
  SmallVector<const Body *, 2> found;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      found.push_back(&body(attribute.g()));
    for (const onnx::GraphProto &graph : attribute.graphs())
      found.push_back(&body(graph));
  }
  return ArrayRef(found).copy(memory);
}

ArrayRef<NamedNode> ModelNames::nodes(const NodeList &list) {
  MutableArrayRef<NamedNode> result(memory.Allocate<NamedNode>(list.size()),
                                    list.size());
  for (auto [to, node] : zip_equal(result, list))
    new (&to)
        NamedNode{&node, ids(node.input()), ids(node.output()), bodiesOf(node)};
  return result;
}

const Body &ModelNames::body(const onnx::GraphProto &graph) {
  auto known = bodies.find(&graph);
  if (known != bodies.end())
    return *known->second;
  // Most nodes define one name.
  numbers.reserve(numbers.size() + graph.node_size());
  auto body = std::make_unique<Body>();
  auto nameOf = [](const auto &each) { return StringRef(each.name()); };
  body->inputs = ids(graph.input(), nameOf);
  body->initializers = ids(graph.initializer(), nameOf);
  body->nodes = nodes(graph.node());
  body->outputs = ids(graph.output(), nameOf);
  define(*body, body->inputs);
  define(*body, body->initializers);
  define(*body, ids(graph.sparse_initializer(), [](const auto &each) {
    return StringRef(each.values().name());
  }));
  defineNodes(*body);
  return *(bodies[&graph] = std::move(body));
}

const Body &ModelNames::body(const onnx::FunctionProto &function) {
  auto known = bodies.find(&function);
  if (known != bodies.end())
    return *known->second;
  auto body = std::make_unique<Body>();
  body->inputs = ids(function.input());
  body->nodes = nodes(function.node());
  body->outputs = ids(function.output());
  define(*body, body->inputs);
  defineNodes(*body);
  return *(bodies[&function] = std::move(body));
}

} // namespace tenon
