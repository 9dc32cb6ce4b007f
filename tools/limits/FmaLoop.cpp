//===- FmaLoop.cpp - What the multiply-add units can do -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/limits/FmaLoop.h"
#include "tools/limits/Team.h"
#include <algorithm>
#include <chrono>
#include <immintrin.h>

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
  return __builtin_cpu_supports("avx512bf16") ? speedOf(dotBf16, threads) : 0;
}

double int8LoopSpeed(int threads) {
  return __builtin_cpu_supports("avx512vnni") ? speedOf(dotInt8, threads) : 0;
}

} // namespace tenon::limits
