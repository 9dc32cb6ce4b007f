//===- NodeOrder.cpp - Which nodes to visit, and in which order -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/NodeOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;

namespace tenon {

void forEachCapture(const onnx::GraphProto &graph,
                    function_ref<void(StringRef)> use) {
  DenseSet<StringRef> own;
  for (const onnx::ValueInfoProto &input : graph.input())
    own.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    own.insert(tensor.name());
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    own.insert(tensor.values().name());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      own.insert(output);
  auto fromOutside = [&](StringRef name) {
    if (!own.contains(name))
      use(name);
  };
  for (const onnx::NodeProto &node : graph.node())
    forEachUse(node, fromOutside);
  for (const onnx::ValueInfoProto &output : graph.output())
    fromOutside(output.name());
}

void forEachUse(const onnx::NodeProto &node,
                function_ref<void(StringRef)> use) {
  for (const std::string &input : node.input())
    if (!input.empty())
      use(input);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      forEachCapture(attribute.g(), use);
    for (const onnx::GraphProto &graph : attribute.graphs())
      forEachCapture(graph, use);
  }
}

NodeOrder orderNodes(const NodeList &nodes) {
  DenseMap<StringRef, int> producers;
  for (auto [index, node] : enumerate(nodes))
    for (const std::string &output : node.output())
      if (!output.empty())
        producers[output] = index;

  SmallVector<int> waitsFor(nodes.size(), 0);
  SmallVector<SmallVector<int, 2>> users(nodes.size());
  for (auto [index, node] : enumerate(nodes))
    forEachUse(node, [&, user = int(index)](StringRef name) {
      auto producer = producers.find(name);
      if (producer == producers.end())
        return;
      users[producer->second].push_back(user);
      ++waitsFor[user];
    });

  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (auto [index, count] : enumerate(waitsFor))
    if (count == 0)
      ready.push(index);
  NodeOrder order;
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.nodes.push_back(next);
    for (int user : users[next])
      if (--waitsFor[user] == 0)
        ready.push(user);
  }
  if (order.nodes.size() == size_t(nodes.size()))
    return order;
  // Any node that still waits depends on a cycle; following producers that
  // wait as well ends on one.
  int at =
      find_if(waitsFor, [](int count) { return count > 0; }) - waitsFor.begin();
  SmallVector<bool> seen(nodes.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    int next = at;
    forEachUse(nodes[at], [&](StringRef name) {
      auto producer = producers.find(name);
      if (producer != producers.end() && waitsFor[producer->second] > 0)
        next = producer->second;
    });
    at = next;
  }
  order.onCycle = at;
  return order;
}

SmallVector<int> liveNodes(const NodeList &nodes, ArrayRef<int> order,
                           ArrayRef<StringRef> wanted) {
  DenseSet<StringRef> needed(wanted.begin(), wanted.end());
  SmallVector<int> live;
  for (int index : reverse(order)) {
    const onnx::NodeProto &node = nodes[index];
    if (none_of(node.output(), [&](const std::string &output) {
          return !output.empty() && needed.contains(output);
        }))
      continue;
    live.push_back(index);
    forEachUse(node, [&](StringRef name) { needed.insert(name); });
  }
  std::reverse(live.begin(), live.end());
  return live;
}

} // namespace tenon
