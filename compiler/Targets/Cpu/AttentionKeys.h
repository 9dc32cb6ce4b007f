//===- AttentionKeys.h - Which keys a query sees --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONKEYS_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONKEYS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Further than any two positions lie apart: offsets beyond it are cut to it.
constexpr int64_t farAway = int64_t(1) << 40;

/// What is added to a query's position to get the last key that it sees, where
/// the attention is causal.
Value positionOffset(Emitter &e, graph::AttentionOp op, Value batch);

/// The range of keys that any query sees whose last keys lie in [first, last],
/// by causality and window alone; it may be reversed where there is none.
std::pair<Value, Value> keyRange(Emitter &e, graph::AttentionOp op, Value first,
                                 Value last);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONKEYS_H
