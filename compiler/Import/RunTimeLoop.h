//===- RunTimeLoop.h - Steps that only a run counts -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Loop or Scan whose number of steps is not known while importing becomes one
// graph.loop. Its body is imported once, for a step whose number is a symbol;
// sizes of the state that a step changes are symbols, too.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_RUNTIMELOOP_H
#define TENON_COMPILER_IMPORT_RUNTIMELOOP_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// What the steps do to one of the state.
enum class StateKind {
  Carried,  // Each gives a tensor to the next.
  Kept,     // Each hands it on as it is.
  Appended, // A sequence, which each puts tensors behind and does not read.
};

struct RunTimeLoop {
  /// Steps at most; null where only the condition ends it.
  graph::Expr count;
  /// Whether the first step runs; null where it does.
  mlir::Value condition;
  llvm::SmallVector<NamedValue> state;
  llvm::SmallVector<StateKind> kinds; // Of each of the state.
  /// Emits a step, by its number and the state (of sequences that it puts
  /// something behind, an empty one): gives the condition of the next one
  /// (nothing where there is none), the next state, then rows.
  llvm::function_ref<llvm::SmallVector<NamedValue>(
      graph::Expr step, llvm::ArrayRef<NamedValue> state)>
      body;
};

struct RunTimeLoopResult {
  llvm::SmallVector<NamedValue> state;
  /// Of each row all steps, along a new first axis.
  llvm::SmallVector<mlir::Value> stacks;
};

/// Emits the loop; empty after a problem.
RunTimeLoopResult emitLoop(NodeConverter &node, const RunTimeLoop &loop);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_RUNTIMELOOP_H
