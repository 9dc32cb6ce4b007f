//===- FmaLoop.cpp - What the multiply-add units can do -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/benchmark/FmaLoop.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <immintrin.h>
#include <thread>
#include <vector>

namespace tenon::bench {
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

} // namespace

double fmaLoopSpeed(int threads) {
  auto work =
      __builtin_cpu_supports("avx512f") ? multiplyAdd512 : multiplyAdd256;
  std::vector<double> best(threads);
  std::atomic<int> waiting{threads};
  auto run = [&](int thread) {
    --waiting;
    while (waiting > 0) {
    }
    for (int round = 0; round < 4; ++round) {
      auto start = std::chrono::steady_clock::now();
      double operations = work();
      std::chrono::duration<double> seconds =
          std::chrono::steady_clock::now() - start;
      best[thread] = std::max(best[thread], operations / seconds.count());
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(run, thread);
  run(0);
  double sum = best[0];
  for (int thread = 1; thread < threads; ++thread) {
    others[thread - 1].join();
    sum += best[thread];
  }
  return sum;
}

} // namespace tenon::bench
