//===- NodeOrder.cpp - Which nodes to visit, and in which order -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/NodeOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;

namespace tenon {

void forEachCapture(const Body &body, function_ref<void(NameId)> use) {
  auto fromOutside = [&](NameId name) {
    if (name != kNoName && !body.own.contains(name))
      use(name);
  };
  for (const NamedNode &node : body.nodes)
    forEachUse(node, fromOutside);
  for (NameId output : body.outputs)
    fromOutside(output);
}

void forEachUse(const NamedNode &node, function_ref<void(NameId)> use) {
  for (NameId input : node.inputs)
    if (input != kNoName)
      use(input);
  for (const Body *body : node.bodies)
    forEachCapture(*body, use);
}

NodeOrder orderNodes(const Body &body) {
  ArrayRef<NamedNode> nodes = body.nodes;
  DenseMap<NameId, int> producers;
  for (auto [index, node] : enumerate(nodes))
    for (NameId output : node.outputs)
      if (output != kNoName)
        producers[output] = index;

  SmallVector<int> waitsFor(nodes.size(), 0);
  SmallVector<SmallVector<int, 2>> users(nodes.size());
  for (auto [index, node] : enumerate(nodes))
    forEachUse(node, [&, user = int(index)](NameId name) {
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
  if (order.nodes.size() == nodes.size())
    return order;
  // Any node that still waits depends on a cycle; following producers that
  // wait as well ends on one.
  int at =
      find_if(waitsFor, [](int count) { return count > 0; }) - waitsFor.begin();
  SmallVector<bool> seen(nodes.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    int next = at;
    forEachUse(nodes[at], [&](NameId name) {
      auto producer = producers.find(name);
      if (producer != producers.end() && waitsFor[producer->second] > 0)
        next = producer->second;
    });
    at = next;
  }
  order.onCycle = at;
  return order;
}

SmallVector<int> liveNodes(const Body &body, ArrayRef<int> order,
                           ArrayRef<NameId> wanted) {
  DenseSet<NameId> needed(wanted.begin(), wanted.end());
  SmallVector<int> live;
  for (int index : reverse(order)) {
    const NamedNode &node = body.nodes[index];
    if (none_of(node.outputs, [&](NameId output) {
          return output != kNoName && needed.contains(output);
        }))
      continue;
    live.push_back(index);
    forEachUse(node, [&](NameId name) { needed.insert(name); });
  }
  std::reverse(live.begin(), live.end());
  return live;
}

} // namespace tenon
