//===- RowsTogether.h - Rows that are worked on side by side --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ROWSTOGETHER_H
#define TENON_COMPILER_TARGETS_CPU_ROWSTOGETHER_H

#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cpu/RowVectors.h"

namespace tenon::cpu {

/// Some rows side by side, their values held from pass to pass: what one of
/// them waits for, the others hide.
class RowsTogether {
public:
  using Values = RowVectors::Values;
  using Step = RowVectors::Step;
  /// What belongs to a vector of one of the rows.
  using Element = llvm::function_ref<Value(const Step &, size_t row)>;

  /// Of rows of a known number of vectors up to `mostResident`, values stay in
  /// registers.
  RowsTogether(RowProgram &program, llvm::ArrayRef<Indices> leads,
               int64_t mostResident);

  size_t size() const { return leads.size(); }
  Value zero() const { return constantLike(e.b, type, 0); }
  Value splat(Value number) const { return e.spread(number, width); }
  /// Of lanes that are not there, `neutral`.
  Value alive(const Step &step, Value value, Value neutral) const;

  /// The operand, for the first time; it is held where that saves something.
  Value first(const Step &step, size_t row);
  /// The operand again.
  Value again(const Step &step, size_t row);
  void hold(const Step &step, size_t row, Value value);
  Value held(const Step &step, size_t row);

  /// Asks for the elements of the next rows, which memory has the time for
  /// while these ones are in the nearest cache.
  void prefetchNext(const Step &step);

  /// Carries one vector for each row, in some chains that `join` makes one,
  /// and then its lanes: a number for each row. As many chains whatever the
  /// number of rows, for sums must not depend on how rows are cut.
  Values pass(Value start,
              llvm::function_ref<Value(const Step &, size_t row, Value)> body,
              llvm::function_ref<Value(Value, Value)> join, int64_t chains = 2);
  /// Stores what is yielded, the root's elements being `body(step, row)`.
  void finish(Element body);
  /// Stores rows as bytes, the elements that become bytes being
  /// `body(step, row)`.
  void finishBytes(Element body);

  RowProgram &program;
  Emitter &e;
  llvm::ArrayRef<Indices> leads;
  int64_t width;
  mlir::VectorType type;
  RowVectors vectors;

private:
  Indices indexAt(const Step &step, size_t row) const;
  Value place(const Step &step, size_t row);

  llvm::SmallVector<Values> registers;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ROWSTOGETHER_H
