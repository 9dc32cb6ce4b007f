//===- Phases.h - mbarrier objects ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_PHASES_H
#define TENON_TEST_GPU_SIM_PHASES_H

#include "test/gpu/sim/Races.h"

#include <cstdint>

namespace tenon::sim {

/// An mbarrier: a phase ends when everybody has arrived and every byte that
/// was announced has come.
struct PhaseBarrier {
  uint32_t count = 0, pending = 0;
  int64_t bytes = 0; // Announced and not there.
  uint64_t phase = 0;
  Clock arrived, completed; // What arrivals have seen: now, last phase.

  void advance() {
    if (pending || bytes)
      return;
    ++phase;
    pending = count;
    completed = arrived;
  }
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_PHASES_H
