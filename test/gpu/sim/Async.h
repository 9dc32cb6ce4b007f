//===- Async.h - Copies that are under way --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_ASYNC_H
#define TENON_TEST_GPU_SIM_ASYNC_H

#include <cstdint>
#include <vector>

namespace tenon::sim {

/// One cp.async of one thread, from global to shared memory.
struct AsyncCopy {
  uint64_t source = 0;
  uint32_t target = 0;
  uint8_t bytes = 0, sourceBytes = 0; // Zeros behind the source's.
  bool copied = false;                // Happened, though nobody may know.
  uint32_t group = 0, number = 0;
  uint32_t instruction = 0; // In Program::code.
};

/// A thread's copies in the order of issue.
struct CopyQueue {
  std::vector<AsyncCopy> copies;
  uint32_t committed = 0; // Groups so far; copies of the open one bear it.
  uint32_t issued = 0;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_ASYNC_H
