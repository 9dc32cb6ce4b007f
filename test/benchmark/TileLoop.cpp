//===- TileLoop.cpp - What tiles of multiply-adds can do ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C[rows][columns] = A * B with A as [rows / 8][depth][8] and B as
// [columns / 48][depth][48]: tiles of 8 by 48 sums over a block of k, panel by
// panel, while the next panel is fetched a part per tile. Rows and columns that
// fill no tile are left out, of the count too.
//
//===----------------------------------------------------------------------===//

#include "test/benchmark/TileLoop.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <immintrin.h>
#include <thread>
#include <vector>

namespace tenon::bench {
namespace {

constexpr int64_t height = 8, vectors = 3, lanes = 16;
constexpr int64_t width = vectors * lanes, unroll = 4;
constexpr int64_t groupRows = 128; // That share a slice of A in the cache.

__attribute__((target("avx512f"))) void
runTile(const float *a, const float *b, int64_t depth, float *c, int64_t stride,
        bool accumulate, const char *next, int64_t nextStep) {
  for (int64_t i = 0; i < height; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      _mm_prefetch(c + i * stride + v * lanes, _MM_HINT_T0);
  __m512 sums[height][vectors] = {};
  for (int64_t k = 0; k < depth; k += unroll) {
    _mm_prefetch(next, _MM_HINT_T0);
    next += nextStep;
#pragma clang loop unroll(full)
    for (int64_t u = 0; u < unroll; ++u) {
      __m512 columns[vectors];
#pragma clang loop unroll(full)
      for (int64_t v = 0; v < vectors; ++v)
        columns[v] = _mm512_loadu_ps(b + (k + u) * width + v * lanes);
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < height; ++i) {
        __m512 factor = _mm512_set1_ps(a[(k + u) * height + i]);
#pragma clang loop unroll(full)
        for (int64_t v = 0; v < vectors; ++v)
          sums[i][v] = _mm512_fmadd_ps(factor, columns[v], sums[i][v]);
      }
    }
  }
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < height; ++i)
#pragma clang loop unroll(full)
    for (int64_t v = 0; v < vectors; ++v) {
      float *to = c + i * stride + v * lanes;
      if (accumulate)
        sums[i][v] = _mm512_add_ps(sums[i][v], _mm512_loadu_ps(to));
      _mm512_storeu_ps(to, sums[i][v]);
    }
}

/// From the start of a line of the cache on.
class Floats {
public:
  void assign(int64_t count, float value) {
    lines.assign(count / lanes + 1, {});
    std::fill_n(data(), count, value);
  }
  float *data() { return lines.front().numbers; }

private:
  struct alignas(64) Line {
    float numbers[lanes];
  };
  std::vector<Line> lines;
};

} // namespace

struct TileLoop::Work {
  int64_t rows, columns, depth, panels, block;
  int threads;
  Floats a, b, c;

  /// Panels [from, to), of all rows.
  void run(int64_t from, int64_t to) {
    for (int64_t row = 0; row < rows; row += groupRows)
      for (int64_t k = 0; k < depth; k += block)
        runBlock(row, std::min(row + groupRows, rows), k, from, to);
  }

  void runBlock(int64_t row, int64_t rowEnd, int64_t k, int64_t from,
                int64_t to) {
    int64_t steps = std::min(block, depth - k);
    int64_t tiles = (rowEnd - row) / height;
    int64_t nextStep = std::min<int64_t>(unroll * width * 4 / tiles, 128);
    for (int64_t panel = from; panel < to; ++panel) {
      const float *own = b.data() + (panel * depth + k) * width;
      const float *after = panel + 1 < to
                               ? own + depth * width
                               : b.data() + (from * depth + k) * width;
      const char *next = reinterpret_cast<const char *>(after);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        int64_t first = row + tile * height;
        runTile(a.data() + first * depth + k * height, own, steps,
                c.data() + first * columns + panel * width, columns, k > 0,
                next, nextStep);
        next += steps / unroll * nextStep;
      }
    }
  }
};

TileLoop::TileLoop(int64_t rows, int64_t columns, int64_t depth, int threads)
    : work(new Work{rows / height * height,
                    columns,
                    depth,
                    columns / width,
                    depth <= 768 ? depth : 512,
                    threads,
                    {},
                    {},
                    {}}) {
  work->a.assign(work->rows * depth, 0.5f);
  work->b.assign(work->panels * depth * width, 0.25f);
  work->c.assign(work->rows * columns, 0);
}

TileLoop::~TileLoop() = default;

bool TileLoop::canRun() { return __builtin_cpu_supports("avx512f"); }

double TileLoop::speed() {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    std::atomic<int> waiting{work->threads};
    std::vector<Clock::time_point> starts(work->threads), ends(starts);
    auto share = [&](int thread) {
      --waiting;
      while (waiting > 0) {
      }
      starts[thread] = Clock::now();
      int64_t panels = work->panels, threads = work->threads;
      work->run(panels * thread / threads, panels * (thread + 1) / threads);
      ends[thread] = Clock::now();
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < work->threads; ++thread)
      others.emplace_back(share, thread);
    share(0);
    for (std::thread &other : others)
      other.join();
    std::chrono::duration<double> seconds =
        *std::max_element(ends.begin(), ends.end()) -
        *std::min_element(starts.begin(), starts.end());
    best = std::max(
        best, 2.0 * double(work->rows * work->panels * width * work->depth) /
                  seconds.count());
  }
  return best;
}

} // namespace tenon::bench
