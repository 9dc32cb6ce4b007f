//===- Recurrence.h - RNN, GRU and LSTM -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence, or some of a direction, one step after another; the state stays
// in f32 (f64 for f64) and is rounded only where it is stored as a result. Who
// computes which unit of a step, and how they wait for each other, is for
// targets to say.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENCE_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENCE_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

class Recurrence {
public:
  /// Memory of compute type for a sequence: two sums of each gate's unit, of
  /// which only a GRU needs the second, and a number for each hidden unit. What
  /// a step makes of h is `next`, which may be h.
  struct State {
    Value sums, h, c, gated, next;
  };

  /// `bases` are where the results lie; null: nobody wants that one. Units are
  /// computed in `type`, one or some side by side; null: one at a time. So many
  /// `entries` of the batch are a group.
  Recurrence(Emitter &e, graph::RecurrentOp op, llvm::ArrayRef<Value> bases,
             State state, mlir::Type type = {}, int64_t entries = 1);
  virtual ~Recurrence() = default;

  /// Group `number` of those of all directions, direction by direction.
  void group(Value number);
  /// The group that begins with an entry of the batch, in direction `d`.
  void group(int64_t d, Value entry);

  const int64_t gates, directions;
  const int64_t entries;
  const Value batch;

protected:
  using Body = llvm::function_ref<void(Value)>;
  using Term = llvm::function_ref<Value(Value)>;

  /// Runs `body` for 0 to count, for each sequence of a group: always the same
  /// thread has the same number.
  virtual void overUnits(Value count, Body body);
  /// The same where `body` asks for sums and keeps one with `keep`, alone.
  virtual void overSums(Value count, Body body);
  virtual Value sum(Value count, Term term);
  virtual void keep(Value value, Value base, Value i);
  /// All that was stored can be read from here on.
  virtual void meet() {}
  /// The longest sequence of the group, whose lengths are looked at.
  virtual Value longest() { return length = lengthOf(first, /*isNew=*/true); }
  /// Makes an entry the current one, at the current turn.
  void enter(Value which);

  /// The units from the last index on: of an operand, of the state, and as a
  /// result.
  virtual Value at(Value tensor, llvm::ArrayRef<Value> index);
  virtual Value load(Value base, Value i);
  virtual void put(Value value, Value base, Value i);
  virtual void putResult(Value value, Value base, Value i);

  /// Takes all sequences of the group from the current turn to the next.
  virtual void step();
  /// What a step makes of the gates of some units, that is of their sums: the
  /// next state, which is also a result.
  using GateOf = llvm::function_ref<Value(int64_t gate)>;
  void finishRnn(Value i, Value sum);
  void finishLstm(Value i, GateOf sumOf);
  /// Of a GRU's, `past` is what is added for the state before.
  void finishGru(Value i, Value update, Value input, Value past);
  Value activate(size_t which, Value x);

  bool isGru() { return op.getCell() == graph::CellKind::Gru; }
  Value plus(Value x, Value y);
  Value times(Value x, Value y);
  Value real(double value);
  /// Row `which` of the gates.
  Value unit(int64_t which, Value i);
  Value project(Value u);
  /// Where the input has that of the current step, if it is multiplied already.
  Indices projected(Value u);
  /// Of an entry's sequence; a new one may be a fault.
  Value lengthOf(Value which, bool isNew);
  Value withBias(Value sum, Value u);

  Emitter &e;
  graph::RecurrentOp op;
  const mlir::Type element, type;
  const Value steps, width, hidden, units;
  Value direction;
  Value first; // Entry of the group.
  /// Which of its steps all sequences are at; null before and after these.
  Value turn;
  bool isOver = false; // It was the last one.
  /// Of the current entry; a place is that of the current turn.
  Value entry, length, place;
  State state;

private:
  /// An activation function with its parameters.
  struct Activation {
    std::string name; // In lower case.
    double alpha, beta, clip;
  };

  Value minus(Value x, Value y);
  void readActivations(int64_t d);
  Value optional(Value tensor, llvm::ArrayRef<Value> index);
  Value recur(Value u, Value state);
  Value peep(int64_t which, Value i, Value state);
  void setState(Value next, Value i);
  void sumGates();
  void stepGru();
  Value positionOf(Value at);
  void storeState(Value State::*from, Value base);

  ImplicitLocOpBuilder &b;
  const llvm::SmallVector<Value> bases;
  llvm::SmallVector<Activation> activations;
  bool isReverse = false;
  Value position; // Of the current step's state among all states.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENCE_H
