//===- PanelParts.h - Into how many parts panels are cut ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a row of a launch is a panel of a block, a small image has too few of
// them for many threads. Then a row is a part of a panel of a block: part by
// part, panel by panel, block by block.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PANELPARTS_H
#define TENON_DIALECTS_KERNEL_PANELPARTS_H

#include "dialects/Graph/Graph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tenon::kernel {

/// The parts of a panel, at most `most`, that make so many panels of blocks of
/// an image enough rows for as many threads as share it.
inline int64_t panelPartsOf(int64_t panels, int64_t most) {
  constexpr int64_t enough = 64;
  int64_t wanted = llvm::divideCeil(enough, std::max<int64_t>(panels, 1));
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(most, 1));
}

/// A grain of whole panels, in rows: a 16th of all panels of a launch, at least
/// and at most so many.
inline graph::Expr grainOfPanels(graph::Expr panels, int64_t parts,
                                 int64_t least, int64_t most) {
  auto number = [&](int64_t value) {
    return graph::Expr::constant(panels.getContext(), value);
  };
  graph::Expr grain = panels.floorDiv(number(16)).max(number(least));
  return grain.min(number(most)) * number(parts);
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PANELPARTS_H
