//===- CpuLevel.h - The CPU levels that code is made for ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_CPULEVEL_H
#define TENON_COMPILER_TARGETS_CPU_CPULEVEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace tenon::cpu {

/// How products of pairs of bf16 are added to sums of f32: not at all, the
/// operands are widened first; by the instruction; or, so that what surrounds
/// the instruction can run on machines without, by multiply-adds in its place.
enum class PairDots { None, Native, Expanded };

/// Whether matrices in registers are multiplied: not at all; by AMX; or, to run
/// what surrounds its instructions elsewhere, by loops in their place.
enum class Amx { None, Native, Expanded };

/// Whether multiply-adds of f16 take as many in a register as it has room for:
/// not at all; by the instruction; or, so that what surrounds it can run on
/// machines without, by those of f32, rounded, in its place.
enum class F16Fma { None, Native, Expanded };

/// What code may use. `name` is the suffix of its symbols. A device whose
/// threads compute one element at a time has no bits in a vector.
struct CpuLevel {
  llvm::StringRef name;
  llvm::StringRef targetCpu; // As LLVM calls it.
  uint64_t features;         // TENON_CPU_* that must be present.
  unsigned vectorBits;
  PairDots pairDots = PairDots::None;
  /// Whether an instruction adds four products of ui8 by i8 to a sum of i32.
  bool quadDots = false;
  Amx amx = Amx::None;
  /// Whether an instruction looks bytes up in two registers.
  bool byteTables = false;
  /// Lines of the first level of the cache that addresses a multiple of 4 KiB
  /// apart share: at least so many; those of this machine for "native".
  int cacheWays = 8;
  F16Fma f16Fma = F16Fma::None;

  bool hasVectors() const { return vectorBits > 0; }

  /// Elements of this many bytes in a vector register, or 1.
  unsigned lanes(unsigned bytes) const {
    return hasVectors() ? vectorBits / 8 / bytes : 1;
  }
};

/// All levels, lowest requirement first.
llvm::ArrayRef<CpuLevel> cpuLevels();

/// The level of this name, or the one that the runtime would choose on this
/// machine for "native"; nullopt when there is none.
std::optional<CpuLevel> findCpuLevel(llvm::StringRef name);

/// The TENON_CPU_* bits of this machine.
uint64_t hostFeatures();

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_CPULEVEL_H
