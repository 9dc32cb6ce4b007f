//===- Access.h - Addresses and the traffic they cause --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_ACCESS_H
#define TENON_TEST_GPU_SIM_ACCESS_H

#include "test/gpu/sim/Warp.h"

#include <cstdint>

namespace tenon::sim {

/// The space that a generic address lies in.
inline Space spaceOf(uint64_t address) {
  static constexpr Space kSpaces[] = {Space::Global, Space::Shared,
                                      Space::Local, Space::Constant,
                                      Space::Parameter};
  uint64_t window = address >> window::kShift;
  return window < 5 ? kSpaces[window] : Space::Global;
}

/// 32-byte sectors that the lanes of `mask` touch together.
uint64_t countSectors(uint32_t mask, const uint64_t *addresses, uint32_t bytes);

/// Passes over shared memory beyond the fewest that the width allows.
uint64_t countConflicts(uint32_t mask, const uint64_t *addresses,
                        uint32_t bytes);

/// Counts one access of the active lanes.
void countTraffic(Warp &warp, Space space, const uint64_t *addresses,
                  uint32_t bytes, bool store);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_ACCESS_H
