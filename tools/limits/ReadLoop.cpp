//===- ReadLoop.cpp - What memory can deliver -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/limits/ReadLoop.h"
#include "tools/limits/Team.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <memory>

namespace tenon::limits {
namespace {

constexpr size_t line = 64, page = 4096;
constexpr size_t step = 4 * line;
constexpr size_t ahead = 1024;             // Bytes that are asked for early.
constexpr size_t least = size_t(16) << 20; // Read per try.
constexpr int tries = 4;

// The loads must happen, but nothing has to be computed of them.
__attribute__((target("avx512f"))) void read512(const char *from,
                                                size_t count) {
  __m512i a = {}, b = {}, c = {}, d = {};
  for (const char *p = from, *end = from + count; p != end; p += step) {
    for (size_t i = 0; i < step; i += line)
      _mm_prefetch(p + ahead + i, _MM_HINT_T0);
    a = _mm512_xor_si512(a, _mm512_load_si512(p));
    b = _mm512_xor_si512(b, _mm512_load_si512(p + line));
    c = _mm512_xor_si512(c, _mm512_load_si512(p + 2 * line));
    d = _mm512_xor_si512(d, _mm512_load_si512(p + 3 * line));
  }
  asm volatile("" : : "v"(a), "v"(b), "v"(c), "v"(d));
}

__attribute__((target("avx2"))) void read256(const char *from, size_t count) {
  constexpr size_t sums = step / sizeof(__m256i);
  __m256i all[sums] = {};
  for (const char *p = from, *end = from + count; p != end; p += step) {
    for (size_t i = 0; i < step; i += line)
      _mm_prefetch(p + ahead + i, _MM_HINT_T0);
#pragma clang loop unroll(full)
    for (size_t i = 0; i < sums; ++i)
      all[i] = _mm256_xor_si256(
          all[i], _mm256_load_si256(reinterpret_cast<const __m256i *>(p) + i));
  }
  for (__m256i &sum : all)
    asm volatile("" : : "x"(sum));
}

struct Free {
  void operator()(char *memory) const { free(memory); }
};

} // namespace

double readLoopSpeed(size_t bytes, int threads) {
  auto read = __builtin_cpu_supports("avx512f") ? read512 : read256;
  size_t share = std::max(bytes / threads / page, size_t(1)) * page;
  size_t all = share * threads + page; // What is asked for early is there.
  std::unique_ptr<char, Free> memory(
      static_cast<char *>(aligned_alloc(page, all)));
  if (!memory)
    return 0;
  size_t repeats = std::max(least / share, size_t(1));
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> starts(threads), ends(threads);
  // Touched by whom reads it: so its node has the pages.
  runTogether(threads, [&](int thread) {
    memset(memory.get() + share * thread, 1, share);
  });
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    runTogether(threads, [&](int thread) {
      starts[thread] = Clock::now();
      for (size_t j = 0; j < repeats; ++j)
        read(memory.get() + share * thread, share);
      ends[thread] = Clock::now();
    });
    std::chrono::duration<double> seconds =
        *std::max_element(ends.begin(), ends.end()) -
        *std::min_element(starts.begin(), starts.end());
    best = std::max(best, double(share) * threads * repeats / seconds.count());
  }
  return best;
}

} // namespace tenon::limits
