//===- HideAvx512.cpp - This machine as one with AVX2 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For LD_PRELOAD: whatever the program loads sees a CPU without AVX-512 and
// AMX, so that Tenon and its peers can be compared as on such a machine:
//
//     LD_PRELOAD=build/lib/hide_avx512.so python3 compare.py ...
//
// AVX-VNNI is hidden too, unless KEEP_AVX_VNNI is set. What asks before the
// program's first line, as the C library does for its copies, sees all.
//
// A process that gives faults back to the system, as those do that `tenon
// verify` tries a folder in, ends at its first question; --cpu names a level.
//
// Linux makes CPUID fault on request where the CPU can (`cpuid_fault` in
// /proc/cpuinfo); the handler answers in its place. New threads inherit that,
// and new programs ask again.
//
//===----------------------------------------------------------------------===//

#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr unsigned char cpuidCode[] = {0x0f, 0xa2};
bool keepsAvxVnni;
struct sigaction before;

bool letCpuid(bool mayRun) {
  constexpr int ARCH_SET_CPUID = 0x1012; // As Linux's asm/prctl.h has it.
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, long(mayRun)) == 0;
}

template <typename... Bits> constexpr uint32_t without(Bits... bits) {
  return ~((1u << bits) | ...);
}

struct Registers {
  uint32_t eax, ebx, ecx, edx;
};

Registers answer(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  letCpuid(true);
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  letCpuid(false);
  if (leaf != 7)
    return r;
  if (subleaf == 0) {
    r.ebx &= without(16, 17, 21, 26, 27, 28, 30, 31); // AVX-512 F, DQ, ...
    r.ecx &= without(1, 6, 11, 12, 14);               // VBMI, VNNI, ...
    r.edx &= without(2, 3, 8, 22, 23, 24, 25);        // FP16, AMX, ...
  } else if (subleaf == 1) {
    r.eax &= without(5, 21); // AVX-512 BF16, AMX-FP16
    if (!keepsAvxVnni)
      r.eax &= without(4);
  }
  return r;
}

void onFault(int, siginfo_t *, void *context) {
  auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  auto *code = reinterpret_cast<const void *>(registers[REG_RIP]);
  if (memcmp(code, cpuidCode, sizeof cpuidCode) != 0) {
    sigaction(SIGSEGV, &before, nullptr); // Faults again, as without us.
    return;
  }
  Registers r =
      answer(uint32_t(registers[REG_RAX]), uint32_t(registers[REG_RCX]));
  registers[REG_RAX] = r.eax;
  registers[REG_RBX] = r.ebx;
  registers[REG_RCX] = r.ecx;
  registers[REG_RDX] = r.edx;
  registers[REG_RIP] += sizeof cpuidCode;
}

__attribute__((constructor)) void start() {
  keepsAvxVnni = getenv("KEEP_AVX_VNNI");
  struct sigaction handler = {};
  handler.sa_sigaction = onFault;
  handler.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &handler, &before);
  if (!letCpuid(false)) {
    fputs("hide_avx512: this CPU or system does not let CPUID fault\n", stderr);
    _exit(77);
  }
}

} // namespace
