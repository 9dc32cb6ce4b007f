//===- StateColumns.h - Attention by a state, column by column ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_STATECOLUMNS_H
#define TENON_COMPILER_TARGETS_CPU_STATECOLUMNS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Columns of an entry's state, and where they are kept meanwhile: row i is
/// `stride` elements of f32 behind row i - 1.
struct StatePlace {
  Value entry, state, column, area, stride;
  bool isResult = false; // That is where they are yielded.
};

/// Runs all steps of graph.linear_attention for some columns.
class StateColumns {
public:
  /// `results`: where each result lies. `type`: f32, or a vector of as many
  /// columns side by side, whose operands are arguments of the kernel.
  StateColumns(Emitter &e, graph::LinearAttentionOp op,
               llvm::ArrayRef<Value> results, mlir::Type type);

  void run(const StatePlace &place);

private:
  using Term = llvm::function_ref<void(Value i, llvm::MutableArrayRef<Value>)>;

  Value step(Value t, Value seen);
  void fetchStep(Value t);
  void fetch(Value tensor, llvm::ArrayRef<Value> index, int64_t size);
  Value addedAt(Value t, Value seen);
  Value coefficient(Value t, Value i);
  bool decaysAsOne();
  llvm::SmallVector<Value> overRows(int64_t sums, Term term);
  void addHeads(Value t, Value i, Value row, llvm::MutableArrayRef<Value> sums,
                Value first);
  void putHeads(Value t, llvm::ArrayRef<Value> sums, Value first);
  Value headAt(Value first, int64_t number);

  Value columnsOf(Value tensor, llvm::ArrayRef<Value> index);
  void putResult(unsigned result, llvm::ArrayRef<Value> index, Value columns);
  Value rowAt(Value i);
  Value loadRow(Value i);
  void storeRow(Value row, Value i);
  Value decayed(Value t, Value i);
  Value all(Value number);
  Value zero();

  Emitter &e;
  graph::LinearAttentionOp op;
  llvm::SmallVector<Value> results;
  mlir::Type f32, type;
  int64_t group; // Heads that read a state.
  Value steps, depth;
  StatePlace here;
  Value factor; // By which a whole state decays in the current step.
};

/// The loop nest of the schedule LinearAttention.
mlir::LogicalResult emitStateTiles(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_STATECOLUMNS_H
