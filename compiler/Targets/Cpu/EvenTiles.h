//===- EvenTiles.h - Tiles that differ by one at most ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_EVENTILES_H
#define TENON_COMPILER_TARGETS_CPU_EVENTILES_H

#include "compiler/Targets/Cpu/Emitter.h"
#include <algorithm>

namespace tenon::cpu {

/// So many pixels in so many tiles, the first of which have one more.
struct EvenTiles {
  EvenTiles(int64_t pixels, int64_t tiles)
      : count(tiles), fewest(pixels / tiles), larger(pixels % tiles) {}

  int64_t count, fewest, larger;

  int64_t before(int64_t tile) const {
    return tile * fewest + std::min(tile, larger);
  }
  Value before(Emitter &e, Value tile) const {
    return e.add(e.mul(tile, e.number(fewest)), e.min(tile, e.number(larger)));
  }

  /// Runs `body` for tiles [from, to), by their number and how many pixels they
  /// have.
  void
  forEach(Emitter &e, Value from, Value to,
          llvm::function_ref<void(Value tile, int64_t pixels)> body) const {
    auto some = [&](Value from, Value to, int64_t pixels) {
      if (pixels > 0)
        e.loop(from, to, [&](Value tile) { body(tile, pixels); });
    };
    Value border = e.number(larger);
    if (larger > 0)
      some(from, e.min(to, border), fewest + 1);
    some(e.max(from, border), to, fewest);
  }
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_EVENTILES_H
