//===- RecurrentBytes.h - A cell's recurrence of bytes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where R is of bytes, a state is read as integers of 16 bits, in units of
// its largest magnitude / 32767: finer by far than R, whose numbers they
// multiply exactly. Instructions multiply bytes, four steps at once, so that
// the two bytes of an integer have sums of their own; or words, two at once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTBYTES_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTBYTES_H

#include "compiler/Targets/Cpu/RecurrentSums.h"

namespace tenon::cpu {

/// Of an op whose recurrence is made of kernel::cellBytesOf.
std::unique_ptr<RecurrentSums> makeByteSums(Emitter &e, graph::RecurrentOp op,
                                            const kernel::RecurrentView &view);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTBYTES_H
