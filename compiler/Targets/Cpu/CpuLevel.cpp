//===- CpuLevel.cpp - The CPU levels that code is made for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "runtime/model_format.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <unistd.h>

namespace tenon::cpu {
namespace {

constexpr CpuLevel levels[] = {
    {"x86-64-v3", "x86-64-v3", TENON_CPU_AVX2, 256},
    {"x86-64-v3-vnni", "x86-64-v3", TENON_CPU_AVX2 | TENON_CPU_AVX_VNNI, 256,
     PairDots::None, /*quadDots=*/true},
    {"x86-64-v4", "x86-64-v4", TENON_CPU_AVX2 | TENON_CPU_AVX512, 512},
    {"x86-64-v4-vnni", "x86-64-v4",
     TENON_CPU_AVX2 | TENON_CPU_AVX512 | TENON_CPU_AVX512_VNNI, 512,
     PairDots::None, /*quadDots=*/true},
    // Without pairs of bf16, at which Intel's CPUs with this are slow unless
    // they have AMX. What is fast at both takes the next one.
    {"x86-64-v4-fp16", "x86-64-v4",
     TENON_CPU_AVX2 | TENON_CPU_AVX512 | TENON_CPU_AVX512_VNNI |
         TENON_CPU_AVX512_FP16,
     512, PairDots::None, /*quadDots=*/true, Amx::None, /*byteTables=*/true,
     /*cacheWays=*/8, F16Fma::Native},
    {"x86-64-v4-bf16", "x86-64-v4",
     TENON_CPU_AVX2 | TENON_CPU_AVX512 | TENON_CPU_AVX512_VNNI |
         TENON_CPU_AVX512_BF16,
     512, PairDots::Native, /*quadDots=*/true, Amx::None, /*byteTables=*/true},
    {"x86-64-v4-amx", "x86-64-v4",
     TENON_CPU_AVX2 | TENON_CPU_AVX512 | TENON_CPU_AVX512_VNNI |
         TENON_CPU_AVX512_BF16 | TENON_CPU_AVX512_FP16 | TENON_CPU_AMX,
     512, PairDots::Native, /*quadDots=*/true, Amx::Native,
     /*byteTables=*/true, /*cacheWays=*/8, F16Fma::Native},
};

/// See hasSlowPairDots of runtime/Level.h.
bool hasSlowPairDots() {
  namespace x86 = llvm::sys::detail::x86;
  return x86::getVendorSignature() == x86::VendorSignatures::GENUINE_INTEL &&
         (hostFeatures() & TENON_CPU_AVX512_FP16);
}

} // namespace

uint64_t hostFeatures() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto have = [&](std::initializer_list<const char *> names) {
    return llvm::all_of(names,
                        [&](const char *name) { return host.lookup(name); });
  };
  uint64_t features = 0;
  if (have({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}))
    features |= TENON_CPU_AVX2;
  if (have({"avxvnni"}))
    features |= TENON_CPU_AVX_VNNI;
  if (have({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    features |= TENON_CPU_AVX512;
  if (have({"avx512vnni"}))
    features |= TENON_CPU_AVX512_VNNI;
  // All but the first CPUs with the one have the other.
  if (have({"avx512bf16", "avx512vbmi"}))
    features |= TENON_CPU_AVX512_BF16;
  if (have({"avx512fp16", "avx512vbmi"}))
    features |= TENON_CPU_AVX512_FP16;
  if (have({"amx-tile", "amx-bf16", "amx-int8"}))
    features |= TENON_CPU_AMX;
  return features;
}

llvm::ArrayRef<CpuLevel> cpuLevels() { return levels; }

std::optional<CpuLevel> findCpuLevel(llvm::StringRef name) {
  std::optional<CpuLevel> found;
  bool isNative = name == "native";
  uint64_t host = isNative ? hostFeatures() : 0;
  bool avoidsPairDots = isNative && hasSlowPairDots();
  for (const CpuLevel &level : levels) {
    bool isSlow = avoidsPairDots && level.pairDots == PairDots::Native &&
                  level.amx == Amx::None;
    if (level.name == name ||
        (isNative && (level.features & ~host) == 0 && !isSlow))
      found = level;
  }
#ifdef _SC_LEVEL1_DCACHE_ASSOC
  if (found && isNative)
    found->cacheWays =
        std::max<int>(found->cacheWays, int(sysconf(_SC_LEVEL1_DCACHE_ASSOC)));
#endif
  return found;
}

} // namespace tenon::cpu
