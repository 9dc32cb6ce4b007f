//===- FineUnits.h - Rows of a launch that are equal in work --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_FINEUNITS_H
#define TENON_DIALECTS_KERNEL_FINEUNITS_H

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/Packing.h"

namespace tenon::kernel {

/// Rows and columns of a unit.
struct UnitSize {
  int64_t rows, columns;
};
inline constexpr UnitSize blockUnit = {blockRows, panelColumns};
inline constexpr UnitSize fineUnit = {unitRows, unitColumns};

/// How a product [rows, columns] is cut into units of `unitRows` by
/// `unitColumns` (see Packing.h). An expression that overflowed is null.
struct FineUnits {
  static constexpr int64_t perPanel = panelColumns / unitColumns;

  Expr groups; // Of rows.
  Expr high;   // Units of a group, in each column of them,
  Expr wide;   // of which there are so many.

  FineUnits(Expr rows, Expr columns) {
    auto number = [&](int64_t value) {
      return Expr::constant(rows.getContext(), value);
    };
    groups = rows.ceilDiv(number(groupBlocks * blockRows)).max(number(1));
    high = rows.ceilDiv(number(unitRows)).ceilDiv(groups);
    wide = columns.ceilDiv(number(unitColumns));
  }

  Expr all() const { return groups * high * wide; }
  /// Of so many panels of a group.
  Expr ofPanels(Expr panels) const {
    return high * (panels * perPanel).min(wide);
  }
};

/// Blocks of a group that may be tall. Of one matrix, whose last panel has less
/// work than others, so many that there are four groups, or two: a piece that
/// ends between panels may have much more to do than another.
inline int64_t blocksOfTallGroup(Expr rows, Expr columns,
                                 llvm::ArrayRef<Expr> batchDims) {
  constexpr int64_t mostPanels = 3, groups = 4;
  std::optional<int64_t> height = rows.asConstant(),
                         width = columns.asConstant();
  if (!batchDims.empty() || !height || !width || *width % panelColumns == 0 ||
      *width > mostPanels * panelColumns)
    return tallGroupBlocks;
  int64_t blocks = llvm::divideCeil(*height, blockRows);
  int64_t least = std::max<int64_t>(llvm::divideCeil(blocks, groups),
                                    std::min(blocks / 2, groupBlocks));
  return std::clamp<int64_t>(least, 1, tallGroupBlocks);
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FINEUNITS_H
