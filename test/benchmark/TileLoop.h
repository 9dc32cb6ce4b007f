//===- TileLoop.h - What tiles of multiply-adds can do --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_BENCHMARK_TILELOOP_H
#define TENON_TEST_BENCHMARK_TILELOOP_H

#include <cstdint>
#include <memory>

namespace tenon::bench {

/// A matrix product written by hand with intrinsics, whose operands both lie as
/// its loops want them before the clock starts: what the caches let through.
/// Needs AVX-512.
class TileLoop {
public:
  TileLoop(int64_t rows, int64_t columns, int64_t depth, int threads);
  ~TileLoop();

  static bool canRun();

  /// Floating point operations per second, the best of a few runs.
  double speed();

private:
  struct Work;
  std::unique_ptr<Work> work;
};

} // namespace tenon::bench

#endif // TENON_TEST_BENCHMARK_TILELOOP_H
