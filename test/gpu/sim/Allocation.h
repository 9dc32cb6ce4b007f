//===- Allocation.h - One piece of simulated device memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_ALLOCATION_H
#define TENON_TEST_GPU_SIM_ALLOCATION_H

#include "test/gpu/sim/Memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace tenon::sim {

struct FreeDeleter {
  void operator()(void *pointer) const { ::free(pointer); }
};

class GlobalShadow;

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  bool isOfKernels = false; // One has written there.
  std::unique_ptr<char, FreeDeleter> data;
  std::unique_ptr<uint64_t[], FreeDeleter> written; // A bit per byte.

  void markWritten(uint64_t offset, uint64_t bytes);
  bool isWritten(uint64_t offset, uint64_t bytes) const;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_ALLOCATION_H
