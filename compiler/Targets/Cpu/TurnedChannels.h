//===- TurnedChannels.h - Planes that become pixels -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_TURNEDCHANNELS_H
#define TENON_COMPILER_TARGETS_CPU_TURNEDCHANNELS_H

#include "compiler/Targets/Cpu/PointwiseTiles.h"

namespace tenon::cpu {

/// Emits a kernel that yields through kernel::TurnedChannels. False, with
/// nothing emitted, when the kernel is of another kind.
bool emitTurnedChannels(Emitter &e, const PointwiseSpace &space);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_TURNEDCHANNELS_H
