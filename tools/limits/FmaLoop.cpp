//===- FmaLoop.cpp - What the multiply-add units can do -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/limits/FmaLoop.h"
#include "tools/limits/Team.h"
#include <algorithm>
#include <chrono>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenon::limits {
namespace {

constexpr long iterations = 100000;

// Enough chains to cover the latency on two units; nothing else fits in. The
// asm keeps the compiler from seeing that the factors never change.

__attribute__((target("avx512f"))) double multiplyAdd512() {
  constexpr int chains = 24;
  __m512 sums[chains] = {};
  __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_fmadd_ps(sums[c], x, y);
  }
  for (__m512 &sum : sums)
    asm volatile("" : : "v"(sum));
  return 2.0 * 16 * chains * iterations;
}

__attribute__((target("avx2,fma"))) double multiplyAdd256() {
  constexpr int chains = 12;
  __m256 sums[chains] = {};
  __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+x"(x), "+x"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm256_fmadd_ps(sums[c], x, y);
  }
  for (__m256 &sum : sums)
    asm volatile("" : : "x"(sum));
  return 2.0 * 8 * chains * iterations;
}

__attribute__((target("avx512f,avx512bf16"))) double dotBf16() {
  constexpr int chains = 24;
  __m512 sums[chains] = {};
  __m512i x = _mm512_set1_epi32(0x3f003f00), y = x; // Halves.
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_dpbf16_ps(sums[c], __m512bh(x), __m512bh(y));
  }
  for (__m512 &sum : sums)
    asm volatile("" : : "v"(sum));
  return 4.0 * 16 * chains * iterations;
}

__attribute__((target("avx512f,avx512fp16"))) double multiplyAddF16() {
  constexpr int chains = 24;
  __m512h sums[chains] = {};
  __m512h x = _mm512_set1_ph(_Float16(0.5f)), y = x;
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_fmadd_ph(sums[c], x, y);
  }
  for (__m512h &sum : sums)
    asm volatile("" : : "v"(sum));
  return 2.0 * 32 * chains * iterations;
}

__attribute__((target("avx512f,avx512vnni"))) double dotInt8() {
  constexpr int chains = 24;
  __m512i sums[chains] = {};
  __m512i x = _mm512_set1_epi32(0x01010101), y = x;
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_dpbusd_epi32(sums[c], x, y);
  }
  for (__m512i &sum : sums)
    asm volatile("" : : "v"(sum));
  return 8.0 * 16 * chains * iterations;
}

__attribute__((target("avx2,avxvnni"))) double dotInt8In256() {
  constexpr int chains = 12;
  __m256i sums[chains] = {};
  __m256i x = _mm256_set1_epi32(0x01010101), y = x;
  for (long i = 0; i < iterations; ++i) {
    asm volatile("" : "+x"(x), "+x"(y));
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm256_dpbusd_avx_epi32(sums[c], x, y);
  }
  for (__m256i &sum : sums)
    asm volatile("" : : "x"(sum));
  return 8.0 * 8 * chains * iterations;
}

/// Six chains, as many as strips have (see AmxStrip.cpp); INT8 has twice the
/// operations in the same time.
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) double
dotMatrices(bool isInt8) {
  alignas(64) unsigned char shapes[64] = {1}; // The palette.
  for (int tile = 0; tile < 8; ++tile) {
    shapes[16 + 2 * tile] = 64; // Bytes of a row.
    shapes[48 + tile] = 16;     // Rows.
  }
  _tile_loadconfig(shapes);
  _tile_zero(6);
  _tile_zero(7);
  for (long i = 0; i < iterations; ++i) {
    if (isInt8) {
      _tile_dpbusd(0, 6, 7);
      _tile_dpbusd(1, 6, 7);
      _tile_dpbusd(2, 6, 7);
      _tile_dpbusd(3, 6, 7);
      _tile_dpbusd(4, 6, 7);
      _tile_dpbusd(5, 6, 7);
      continue;
    }
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return (isInt8 ? 8.0 : 4.0) * 16 * 16 * 16 * 6 * iterations;
}

double dotMatricesBf16() { return dotMatrices(/*isInt8=*/false); }
double dotMatricesInt8() { return dotMatrices(/*isInt8=*/true); }

/// Whether there is AMX, and the system gives us its registers.
bool hasAmx() {
  // As Linux's asm/prctl.h has them, which older systems lack.
  constexpr int ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;
  return __builtin_cpu_supports("amx-bf16") &&
         __builtin_cpu_supports("amx-int8") &&
         syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/// The sum over threads of the best of each.
double speedOf(double (*work)(), int threads) {
  std::vector<double> best(threads);
  runTogether(threads, [&](int thread) {
    for (int round = 0; round < 4; ++round) {
      auto start = std::chrono::steady_clock::now();
      double operations = work();
      std::chrono::duration<double> seconds =
          std::chrono::steady_clock::now() - start;
      best[thread] = std::max(best[thread], operations / seconds.count());
    }
  });
  double sum = 0;
  for (double speed : best)
    sum += speed;
  return sum;
}

} // namespace

double fmaLoopSpeed(int threads) {
  return speedOf(__builtin_cpu_supports("avx512f") ? multiplyAdd512
                                                   : multiplyAdd256,
                 threads);
}

double bf16LoopSpeed(int threads) {
  if (hasAmx())
    return speedOf(dotMatricesBf16, threads);
  return __builtin_cpu_supports("avx512bf16") ? speedOf(dotBf16, threads) : 0;
}

double f16LoopSpeed(int threads) {
  return __builtin_cpu_supports("avx512fp16") ? speedOf(multiplyAddF16, threads)
                                              : 0;
}

double int8LoopSpeed(int threads) {
  if (hasAmx())
    return speedOf(dotMatricesInt8, threads);
  if (__builtin_cpu_supports("avx512vnni"))
    return speedOf(dotInt8, threads);
  return __builtin_cpu_supports("avxvnni") ? speedOf(dotInt8In256, threads) : 0;
}

} // namespace tenon::limits
