//===- CellPanels.h - Recurrences of cells by tiles of units --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts "cells16" and "cells16_quads" of dialects/Kernel/RecurrentView.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PACKAGE_CELLPANELS_H
#define TENON_COMPILER_PACKAGE_CELLPANELS_H

#include "compiler/Package/WeightPlan.h"

namespace tenon {

/// Bytes of a weight in such a layout; nullopt when it cannot have it.
std::optional<uint64_t> cellBytes(const Weight &weight, llvm::StringRef layout);

void packCells(const PlacedWeight &placed, ByteSink sink);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_CELLPANELS_H
