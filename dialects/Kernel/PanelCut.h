//===- PanelCut.h - Columns in panels -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of a product, or maps of a convolution, go into panels of
// `panelColumns`. 64, 256 and 1024 of them leave one vector of 16 to a last
// panel, whose tiles load a factor for each multiply-add: twice the time of the
// others. There, the last two panels may have two vectors each; in memory both
// are as large as all.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PANELCUT_H
#define TENON_DIALECTS_KERNEL_PANELCUT_H

#include "dialects/Kernel/Packing.h"

namespace tenon::kernel {

struct PanelCut {
  int64_t columns;
  bool isEven = false; // The last two panels.

  int64_t count() const { return llvm::divideCeil(columns, panelColumns); }
  /// Columns that the last panel has of the one before it.
  int64_t moved() const {
    constexpr int64_t vector = 16;
    int64_t rest = columns - (count() - 1) * panelColumns;
    return isEven && count() > 1 && rest <= vector ? vector : 0;
  }
  /// The first column of a panel, or one behind all.
  int64_t first(int64_t panel) const {
    if (panel == count())
      return columns;
    return panel * panelColumns - (panel == count() - 1 ? moved() : 0);
  }
  int64_t width(int64_t panel) const { return first(panel + 1) - first(panel); }
  int64_t panelOf(int64_t column) const {
    int64_t last = count() - 1;
    return column < first(last) ? column / panelColumns : last;
  }
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PANELCUT_H
