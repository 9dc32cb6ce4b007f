//===- Simulator.h - Runs PTX kernels without a GPU -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A functional simulator of the PTX that the compiler emits: values, memory
// spaces, barriers and asynchronous copies, and none of the timing. It stops at
// the first thing that a GPU would not forgive, or would forgive by luck.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_SIMULATOR_H
#define TENON_TEST_GPU_SIM_SIMULATOR_H

#include "test/gpu/sim/Memory.h"
#include "test/gpu/sim/Module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::sim {

/// When asynchronous work happens: as it is issued, when a wait demands it, or
/// at any time between. A right kernel gives the same result in each.
enum class Order { Eager, Lazy, Random };

/// What is looked for beside bounds, alignment, barriers and hangs.
struct Checks {
  bool uninitialized = true; // Reads of never-written memory or registers.
  bool sharedRaces = true;
  bool globalRaces = true; // Between any two threads of one launch.
};

struct Launch {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<char> parameters; // Laid out as Kernel::parameters says.
  /// It may begin while launches before it run, so that it waits itself.
  bool overlaps = false;
  Order order = Order::Lazy;
  uint32_t seed = 1;
  /// Most instructions of one thread; a kernel that needs more is hung.
  uint64_t instructionLimit = uint64_t(1) << 30;
  Checks checks;
};

struct Counts {
  uint64_t threadInstructions = 0;
  uint64_t warpInstructions = 0;
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  uint64_t globalSectors = 0; // 32-byte sectors that warps touched.
  uint64_t sharedLoadBytes = 0, sharedStoreBytes = 0;
  uint64_t bankConflicts = 0;  // Extra passes over shared memory.
  uint64_t matrixProducts = 0; // mma and wgmma, by warp.
};

/// Runs a launch to its end. Empty, or one sentence that names the kernel, the
/// line of PTX, the block and the thread.
std::string run(const Kernel &kernel, Memory &memory, const Launch &launch,
                Counts *counts = nullptr);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_SIMULATOR_H
