//===- FloatMode.h - The floating-point mode of a run ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_FLOATMODE_H
#define TENON_RUNTIME_FLOATMODE_H

#include <stdint.h>
#include <xmmintrin.h>

namespace tenon::runtime {

/// Sets round-to-nearest, denormals kept and no traps, and gives the thread's
/// own mode and flags back at the end of the scope.
class FloatMode {
public:
  FloatMode() : saved(_mm_getcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(savedX87));
    set();
  }
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;
  ~FloatMode() {
    _mm_setcsr(saved);
    __asm__ volatile("fldcw %0" : : "m"(savedX87));
  }

private:
  static void set() {
    constexpr unsigned defaultMode = 0x1f80;
    uint16_t defaultX87 = 0x037f;
    _mm_setcsr(defaultMode);
    __asm__ volatile("fldcw %0" : : "m"(defaultX87));
  }

  unsigned saved;
  uint16_t savedX87;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_FLOATMODE_H
