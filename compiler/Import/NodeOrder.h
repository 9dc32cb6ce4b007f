//===- NodeOrder.h - Which nodes to visit, and in which order -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_NODEORDER_H
#define TENON_COMPILER_IMPORT_NODEORDER_H

#include "compiler/Import/ModelNames.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon {

/// Calls `use` for each name that a node reads: its inputs that are present,
/// and what the bodies among its attributes take from outside.
void forEachUse(const NamedNode &node, llvm::function_ref<void(NameId)> use);

/// The same for all that a graph takes from the graphs around it.
void forEachCapture(const Body &body, llvm::function_ref<void(NameId)> use);

struct NodeOrder {
  /// Every node after the producers of what it reads; among those that are
  /// free to go, the first in the file goes first.
  llvm::SmallVector<int> nodes;
  /// A node on a cycle; -1 when `nodes` is complete.
  int onCycle = -1;
};

/// Orders the nodes of one body. No name may have two producers.
NodeOrder orderNodes(const Body &body);

/// Keeps of `order` the nodes that `wanted` names depend on.
llvm::SmallVector<int> liveNodes(const Body &body, llvm::ArrayRef<int> order,
                                 llvm::ArrayRef<NameId> wanted);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_NODEORDER_H
