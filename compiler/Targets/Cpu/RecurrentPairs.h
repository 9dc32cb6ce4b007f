//===- RecurrentPairs.h - A cell's recurrence of bf16 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where R is bf16, so are the states that it is multiplied by, on levels that
// multiply pairs: by matrices in registers, whose rows are states, or by dot
// products. Others widen R and leave the states as they are.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTPAIRS_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTPAIRS_H

#include "compiler/Targets/Cpu/RecurrentSums.h"

namespace tenon::cpu {

/// Of an op whose recurrence is made of kernel::cellPairsOf.
std::unique_ptr<RecurrentSums> makePairSums(Emitter &e, graph::RecurrentOp op,
                                            const kernel::RecurrentView &view);

/// Whether a level's sums are made by matrices, of all states of a group.
bool sumsByMatrices(const CpuLevel &level, const kernel::RecurrentView &view);

/// Emits `body`, in which such sums may be made.
void withCellMatrices(Emitter &e, const kernel::RecurrentView &view,
                      llvm::function_ref<void()> body);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTPAIRS_H
