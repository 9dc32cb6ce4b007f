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

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FINEUNITS_H
