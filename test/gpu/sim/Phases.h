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
  static constexpr uint32_t kMostArrivals = (1 << 20) - 1;

  uint32_t count = 0, pending = 0;
  int64_t bytes = 0; // Announced and not there.
  uint64_t phase = 0;
  Clock arrived, completed; // What arrivals have seen: now, last phase.
  uint32_t engine = 0;      // The slot in clocks of the copies it counts.
  Access initialized;
  uint32_t copied = 0; // The epoch of `engine` of the last copy.
  bool fenced = false; // Since then: the async proxy and other blocks see it.

  /// The epoch of `engine` that those who wait for this phase have seen.
  uint32_t epochAfter() const { return arrived.start + uint32_t(phase) + 1; }

  void advance() {
    if (pending || bytes)
      return;
    arrived.see(engine, epochAfter());
    ++phase;
    pending = count;
    completed = arrived;
  }
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_PHASES_H
