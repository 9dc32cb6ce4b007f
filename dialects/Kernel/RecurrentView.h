//===- RecurrentView.h - Recurrent cells by vectors of units --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrent cell as the RecurrentTiles schedule runs it: a row of the launch
// is a part of one sequence of one direction. A tile sums all gates of
// `cellUnits` hidden units at once, so that what it reads of the recurrence R
// [D, G*H, H] for a step of the sum lies together:
//
//   [D][H / cellUnits][H][G][cellUnits]
//
// which is the layout named "cells16". Where threads compute few sequences
// together, each sequence has as many rows as threads may take part.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
#define TENON_DIALECTS_KERNEL_RECURRENTVIEW_H

#include "dialects/Graph/Graph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tenon::kernel {

inline constexpr int64_t cellUnits = 16;
inline constexpr llvm::StringLiteral cellsLayout = "cells16";

struct RecurrentView {
  int64_t directions, gates, hidden;

  int64_t units() const { return gates * hidden; }
  /// Where an element of R lies in its layout: of a direction, a unit of all
  /// gates, and the hidden unit that it multiplies.
  int64_t placeOf(int64_t direction, int64_t unit, int64_t step) const {
    int64_t gate = unit / hidden, of = unit % hidden;
    int64_t tile = direction * (hidden / cellUnits) + of / cellUnits;
    return ((tile * hidden + step) * gates + gate) * cellUnits + of % cellUnits;
  }
  /// Floats of what a sequence carries, in turn: two sums of each unit, and
  /// three numbers of each hidden one (h, c, and h behind a reset gate).
  int64_t sumsCount() const { return 2 * units(); }
  int64_t stateBytes() const { return 4 * (sumsCount() + 3 * hidden); }

  int64_t recurrenceBytes() const { return 4 * units() * hidden; }
  /// Threads that may compute a sequence together. To meet twice in each step
  /// pays only where each has many weights to read.
  int64_t parts() const {
    return std::clamp<int64_t>(recurrenceBytes() / partBytes, 1, maxParts);
  }
  /// The most sequences that they compute so, one after another; of more, each
  /// is one thread's. Sequences of their own need no meeting, but of a large R
  /// a core's cache has only room for a part.
  int64_t mostTogether() const {
    return recurrenceBytes() > cacheBytes ? 8 : 1;
  }
  /// Vectors of units that are taken together, and how often that is.
  int64_t tileVectors() const {
    return llvm::divideCeil(hidden / cellUnits, maxTiles);
  }
  int64_t tiles() const {
    return llvm::divideCeil(hidden, tileVectors() * cellUnits);
  }

  /// A thread's scratch memory: a sequence's state, and what it knows.
  int64_t scratchBytes() const {
    return stateBytes() + (parts() > 1 ? factBytes : 0);
  }
  /// What threads share: the round that each tile was last taken for, how many
  /// have been computed, and behind these numbers a sequence's state.
  static constexpr int64_t doneAt = 256, stateAt = 512; // TENON_SHARED_ZEROS
  static constexpr int64_t maxTiles = doneAt / 8, maxParts = 8;
  static constexpr int64_t partBytes = 512 << 10, cacheBytes = 1536 << 10;
  static constexpr int64_t factBytes = 32;

  /// Of a weight of that shape; nullopt where it has no whole tiles.
  static std::optional<RecurrentView> of(llvm::ArrayRef<int64_t> recurrence);
};

/// nullopt with a reason for cells that it does not suit.
std::optional<RecurrentView> recurrentViewOf(graph::RecurrentOp op,
                                             std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
