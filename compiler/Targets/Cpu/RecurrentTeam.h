//===- RecurrentTeam.h - Threads that share the steps of a sequence -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever of a launch's threads comes takes part, when it comes. Work is rounds
// of tiles; a thread takes tiles of a round that nobody has taken, from one on
// that is its own, and goes on when all are done. So one thread alone gets
// through, one that comes late finds rounds that are over, and one that waits
// does so for another that computes. Where that takes long, because the system
// has put the other one aside, it leaves instead: those with tiles remain.
//
// What a tile computes does not depend on who computes it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTTEAM_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTTEAM_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/RecurrentView.h"

namespace tenon::cpu {

class RecurrentTeam {
public:
  /// `isShared`: whether the launch's threads have the sequences together; each
  /// has its own otherwise.
  RecurrentTeam(Emitter &e, const kernel::RecurrentView &view, Value isShared);

  /// Takes part from the first round on, as number `part` of those that may.
  void join(Value part);

  /// Runs `prepare` in each thread that may find work, and `body` for the first
  /// unit of each vector; all are done behind it. In rounds that sum, `isBack`
  /// lets a thread go through its tiles from the last one that it had to the
  /// first. A thread that comes late may prepare while others change what it
  /// reads, but it finds no tile then.
  void round(Value isBack, llvm::function_ref<void()> prepare,
             llvm::function_ref<void(Value unit)> body);

private:
  /// Numbers of this thread.
  enum Fact { Round, Home, Reach, HasLeft };

  Value fact(Fact which);
  void setFact(Fact which, Value value);
  Value claim(Value tile, Value round, Value mayBe);
  void takeTiles(Value round, Value goal, Value isBack,
                 llvm::function_ref<void(Value unit)> body);
  void await(Value goal, int64_t looks);
  Value doneNow();

  Emitter &e;
  const kernel::RecurrentView view;
  const Value isShared;
  Value facts, claims, done;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTTEAM_H
