//===- Limits.cpp - This machine's own limits -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bench_limits [THREADS]: what `tenon bench --profile` measures kernels by, of
// all threads together.
//
//===----------------------------------------------------------------------===//

#include "tools/limits/FmaLoop.h"
#include "tools/limits/ReadLoop.h"
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace tenon::limits;

int main(int argc, char **argv) {
  int threads =
      argc > 1 ? atoi(argv[1]) : int(std::thread::hardware_concurrency());
  if (threads < 1 || threads > 1024)
    return fprintf(stderr, "bench_limits: 1 to 1024 threads\n"), 2;
  printf("%-28s %8.1f Gflop/s\n", "f32 multiply-adds",
         fmaLoopSpeed(threads) / 1e9);
  if (double speed = bf16LoopSpeed(threads))
    printf("%-28s %8.1f Gflop/s\n", "bf16 dot products", speed / 1e9);
  if (double speed = f16LoopSpeed(threads))
    printf("%-28s %8.1f Gflop/s\n", "f16 multiply-adds", speed / 1e9);
  if (double speed = int8LoopSpeed(threads))
    printf("%-28s %8.1f Gop/s\n", "int8 dot products", speed / 1e9);
  for (size_t kilobytes = 64; kilobytes <= size_t(1) << 20; kilobytes *= 4)
    printf("reading %8zu KiB           %8.1f GB/s\n", kilobytes,
           readLoopSpeed(kilobytes << 10, threads) / 1e9);
  return 0;
}
