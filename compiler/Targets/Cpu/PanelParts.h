//===- PanelParts.h - Pieces that begin and end inside of panels ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of dialects/Kernel/PanelParts.h, as what a kernel loops over.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_PANELPARTS_H
#define TENON_COMPILER_TARGETS_CPU_PANELPARTS_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/PanelCut.h"

namespace tenon::cpu {

class PanelParts {
public:
  /// A block has `panels`, each cut into `parts`.
  PanelParts(Emitter &e, int64_t panels, int64_t parts)
      : e(e), panels(panels), parts(parts) {}

  /// Runs `body` for each block that rows of the piece are of, which is then
  /// the current one.
  void forEachBlock(llvm::function_ref<void(Value block)> body);

  // ---- Of the current block ---------------------------------------------
  /// Its panels of which the piece has a part.
  Value beginPanel() const { return begin; }
  Value endPanel() const { return end; }

  /// Of `count` tiles or lines, some for each part of a panel: those that the
  /// piece has of one panel, or of any.
  struct Range {
    Value from, to;
  };
  Range ofPanel(Value panel, Value count) const;
  Range ofAll(Value count) const;

private:
  /// Parts [first, last), held within those that there are.
  Range tilesOf(Value first, Value last, Value count) const;

  Emitter &e;
  const int64_t panels, parts;
  Value begin, end, from, to; // Panels, and parts of the block.
};

/// Emits for a panel what knows how many columns that has, and is given the
/// first of them.
void forWidthOf(Emitter &e, const kernel::PanelCut &cut, Value panel,
                llvm::function_ref<void(Value first, int64_t columns)> body);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PANELPARTS_H
