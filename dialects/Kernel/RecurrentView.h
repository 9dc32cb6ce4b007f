//===- RecurrentView.h - Recurrent cells by vectors of units --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrent cell as the RecurrentTiles schedule runs it: a row of the launch
// is one sequence of one direction. A tile sums all gates of `cellUnits` hidden
// units at once, so that what it reads of the recurrence R [D, G*H, H] for a
// step of the sum lies together:
//
//   [D][H / cellUnits][H][G][cellUnits]
//
// which is the layout named "cells16".
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
#define TENON_DIALECTS_KERNEL_RECURRENTVIEW_H

#include "dialects/Graph/Graph.h"

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
  int64_t scratchBytes() const { return 4 * (sumsCount() + 3 * hidden); }

  /// Of a weight of that shape; nullopt where it has no whole tiles.
  static std::optional<RecurrentView> of(llvm::ArrayRef<int64_t> recurrence);
};

/// nullopt with a reason for cells that it does not suit.
std::optional<RecurrentView> recurrentViewOf(graph::RecurrentOp op,
                                             std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
