//===- LoopSteps.h - What the steps of a loop give ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Loop or Scan whose number of steps is known while importing becomes its
// steps: each imports the body anew (NodeConverter::importStep), on the values
// that the step before gave.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_LOOPSTEPS_H
#define TENON_COMPILER_IMPORT_LOOPSTEPS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// The body of a loop; null, and a problem, where it has none.
const onnx::GraphProto *bodyOf(NodeConverter &node);

/// What a body gives beside the state: of each output, step by step.
using Collected = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;

/// Room for what the body gives behind `before` outputs and the state; a
/// problem where that is less than what the node has outputs for.
Collected collectorOf(NodeConverter &node, const onnx::GraphProto &body,
                      size_t before, size_t state);

/// Takes what a step gave: the state, then the others.
void take(NodeConverter &node, llvm::ArrayRef<NamedValue> given,
          llvm::MutableArrayRef<NamedValue> state, Collected &collected);

/// What every step gave, one behind the other along an axis.
mlir::Value stacked(NodeConverter &node, llvm::ArrayRef<mlir::Value> steps,
                    int64_t axis);

/// What some steps gave, along a new first axis, and in a stack behind them
/// what as many gave as a run decides.
mlir::Value joined(NodeConverter &node, llvm::ArrayRef<mlir::Value> steps,
                   mlir::Value stack);

/// A stack, whose first axis counts steps, with that axis elsewhere.
mlir::Value stackedAlong(NodeConverter &node, mlir::Value stack, int64_t axis);

/// What every step gave where there was none, of what a step would give: sizes
/// that are not numbers are 0.
mlir::Value emptyStack(NodeConverter &node, mlir::RankedTensorType type,
                       int64_t axis);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_LOOPSTEPS_H
