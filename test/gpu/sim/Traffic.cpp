//===- Traffic.cpp - Sectors and bank conflicts ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"

#include <algorithm>
#include <cstring>

namespace tenon::sim {

uint64_t countSectors(uint32_t mask, const uint64_t *addresses,
                      uint32_t bytes) {
  uint64_t sectors[2 * kLanes], last = ~uint64_t(0);
  int count = 0;
  bool sorted = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t first = addresses[lane] / 32;
    uint64_t end = (addresses[lane] + bytes - 1) / 32;
    for (uint64_t sector = first; sector <= end && count < 2 * kLanes;
         ++sector) {
      if (sector == last)
        continue;
      sorted &= count == 0 || sector > last;
      sectors[count++] = last = sector;
    }
  }
  if (!sorted) {
    std::sort(sectors, sectors + count);
    count = std::unique(sectors, sectors + count) - sectors;
  }
  return count;
}

uint64_t countConflicts(uint32_t mask, const uint64_t *addresses,
                        uint32_t bytes) {
  // Lanes that are served together: all, halves or quarters of a warp.
  int together = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  uint64_t extra = 0;
  for (int first = 0; first < kLanes; first += together) {
    uint64_t words[kLanes];
    int count = 0;
    for (int lane = first; lane < first + together; ++lane)
      if (mask >> lane & 1)
        for (uint32_t at = 0; at < std::max(bytes, 4u) && count < kLanes;
             at += 4)
          words[count++] = (addresses[lane] + at) / 4;
    std::sort(words, words + count);
    count = std::unique(words, words + count) - words;
    uint8_t banks[32] = {};
    int most = 1;
    for (int i = 0; i < count; ++i)
      most = std::max<int>(most, ++banks[words[i] % 32]);
    extra += most - 1;
  }
  return extra;
}

} // namespace tenon::sim
