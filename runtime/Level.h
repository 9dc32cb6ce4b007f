//===- Level.h - What this CPU can run ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_LEVEL_H
#define TENON_RUNTIME_LEVEL_H

#include <stdint.h>

namespace tenon::runtime {

/// The TENON_CPU_* bits of this machine: those that the CPU has and whose
/// registers the operating system saves.
uint64_t machineFeatures();

/// Whether products of pairs of bf16 are added at half the speed of f32's
/// multiply-adds: on Intel's CPUs since Sapphire Rapids, which have AMX for
/// them. Where a virtual machine hides that, levels that do without are faster.
/// `features` are those of this machine.
bool hasSlowPairDots(uint64_t features);

/// Asks the operating system for AMX's registers, which it gives a process only
/// on request; false when it refuses, as it does where a thread's alternate
/// signal stack has no room for them.
bool requestAmx();

/// Lines of the first level of the data cache that addresses a multiple of
/// 4 KiB apart share; where the CPU does not say, as few as any has.
int64_t cacheWays();

/// "AVX-512 VNNI": the first bit of `features` by name; never null.
const char *featureName(uint64_t features);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_LEVEL_H
