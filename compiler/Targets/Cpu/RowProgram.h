//===- RowProgram.h - The RowProgram schedule -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ROWPROGRAM_H
#define TENON_COMPILER_TARGETS_CPU_ROWPROGRAM_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/RowView.h"

namespace tenon::cpu {

/// What the loop nests of a row program share: its view and its indices.
class RowProgram {
public:
  RowProgram(Emitter &e, const kernel::RowView &view)
      : e(e), view(view), root(view.root), result(root->getResult(0)),
        length(e.valueOf(view.length)) {
    for (Expr dim : view.leadDims)
      leadDims.push_back(e.valueOf(dim));
    for (Expr dim : view.stepDims)
      stepDims.push_back(e.valueOf(dim));
  }

  /// An index of the operand: counts of `view.lead`, of `view.steps`, and the
  /// position in the run.
  Indices indexOf(llvm::ArrayRef<Value> lead, llvm::ArrayRef<Value> steps,
                  Value position) const;
  /// The operand's elements there, in lanes.
  Value input(llvm::ArrayRef<Value> index, int64_t width) const;
  /// Whether those are loads of f32 that may as well be done again.
  bool isPlain() const;
  /// Gives the root's elements at an index, and stores what is yielded.
  void store(llvm::ArrayRef<Value> index, Value value) const;
  /// Runs `body` for all of `view.steps`, carrying values.
  using StepBody = llvm::function_ref<llvm::SmallVector<Value>(
      llvm::ArrayRef<Value>, mlir::ValueRange)>;
  llvm::SmallVector<Value> overSteps(mlir::ValueRange initial, StepBody body);
  /// Elements that are worked along.
  Value workedCount() const;

  Emitter &e;
  const kernel::RowView &view;
  mlir::Operation *root;
  Value result, length;
  llvm::SmallVector<Value> leadDims, stepDims;
};

/// Units of a row each: norms and softmax, then reductions and running sums;
/// and of some columns of a row each.
void emitRowsOfRun(RowProgram &program);
void emitRowsToSums(RowProgram &program);
void emitRowsOfColumns(RowProgram &program);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ROWPROGRAM_H
