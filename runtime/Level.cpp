//===- Level.cpp - What this CPU can run ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Level.h"
#include "runtime/model_format.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tenon::runtime;

namespace {
struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// All zero where the CPU has no such leaf.
Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool has(unsigned value, unsigned mask) { return (value & mask) == mask; }

/// The register state that the operating system saves.
uint64_t savedState() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | uint64_t(high) << 32;
}
} // namespace

uint64_t tenon::runtime::machineFeatures() {
  Registers basic = cpuid(1, 0), seven = cpuid(7, 0), sevenOne;
  if (seven.eax >= 1) // The highest subleaf there is.
    sevenOne = cpuid(7, 1);
  Registers extended = cpuid(0x80000001, 0);
  if (!has(basic.ecx, bit_OSXSAVE | bit_AVX))
    return 0;
  uint64_t state = savedState();
  constexpr uint64_t avxState = 0x6, avx512State = 0xe6;
  if ((state & avxState) != avxState)
    return 0;

  bool v3 = has(basic.ecx, bit_FMA | bit_F16C | bit_MOVBE | bit_POPCNT) &&
            has(seven.ebx, bit_AVX2 | bit_BMI | bit_BMI2) &&
            has(extended.ecx, bit_LZCNT);
  if (!v3)
    return 0;
  uint64_t features = TENON_CPU_AVX2;
  // AVX-VNNI, as leaf 7.1 has it, which compilers call differently.
  constexpr unsigned avxVnniBit = 1u << 4;
  if (has(sevenOne.eax, avxVnniBit))
    features |= TENON_CPU_AVX_VNNI;
  bool v4 = (state & avx512State) == avx512State &&
            has(seven.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512CD |
                               bit_AVX512DQ | bit_AVX512VL);
  if (!v4)
    return features;
  features |= TENON_CPU_AVX512;
  if (has(seven.ecx, bit_AVX512VNNI))
    features |= TENON_CPU_AVX512_VNNI;
  // FP16, as leaf 7 has it, which compilers call differently.
  constexpr unsigned fp16Bit = 1u << 23;
  if (has(seven.edx, fp16Bit) && has(seven.ecx, bit_AVX512VBMI))
    features |= TENON_CPU_AVX512_FP16;
  // What looks up bytes is part of the level: all but its first CPUs have it.
  if (has(sevenOne.eax, bit_AVX512BF16) && has(seven.ecx, bit_AVX512VBMI))
    features |= TENON_CPU_AVX512_BF16;
  constexpr uint64_t amxState = 0x60000;
  // BF16, TILE and INT8, which compilers call differently.
  constexpr unsigned amxBits = 1u << 22 | 1u << 24 | 1u << 25;
  if ((state & amxState) == amxState && has(seven.edx, amxBits))
    features |= TENON_CPU_AMX;
  return features;
}

bool tenon::runtime::hasSlowPairDots(uint64_t features) {
  Registers vendor = cpuid(0, 0);
  bool isIntel = vendor.ebx == signature_INTEL_ebx &&
                 vendor.edx == signature_INTEL_edx &&
                 vendor.ecx == signature_INTEL_ecx;
  // FP16 came with them.
  return isIntel && (features & TENON_CPU_AVX512_FP16);
}

bool tenon::runtime::requestAmx() {
  // As Linux's asm/prctl.h has them, which older systems lack.
  constexpr int ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

int64_t tenon::runtime::cacheWays() {
  // Intel's and AMD's leaves tell the same of each level, the first by 0.
  constexpr unsigned leaves[] = {0x4, 0x8000001d}, typeMask = 0x1f, data = 1;
  for (unsigned leaf : leaves) {
    Registers level = cpuid(leaf, 0);
    unsigned line = (level.ebx & 0xfff) + 1, ways = (level.ebx >> 22) + 1;
    unsigned sets = level.ecx + 1;
    if ((level.eax & typeMask) == data && line * sets == 4096)
      return ways;
  }
  return 8;
}

const char *tenon::runtime::featureName(uint64_t features) {
  if (features & TENON_CPU_AVX2)
    return "AVX2 and FMA";
  if (features & TENON_CPU_AVX512)
    return "AVX-512";
  if (features & TENON_CPU_AVX512_VNNI)
    return "AVX-512 VNNI";
  if (features & TENON_CPU_AVX512_BF16)
    return "AVX-512 BF16";
  if (features & TENON_CPU_AMX)
    return "AMX";
  if (features & TENON_CPU_AVX512_FP16)
    return "AVX-512 FP16";
  if (features & TENON_CPU_AVX_VNNI)
    return "AVX-VNNI";
  return "a feature that this runtime does not know";
}
