//===- Smoothing.h - Large channels move to the weights -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_SMOOTHING_H
#define TENON_TOOLS_TENON_SMOOTHING_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace tenon {

/// The shifts of StaticLhs after which an lhs's channels and the weight's rows
/// stand out equally little, by the largest magnitude of each. The median
/// channel has none; empty where no channel has one.
std::vector<int8_t> smoothingShifts(llvm::ArrayRef<float> channels,
                                    llvm::ArrayRef<float> rows);

} // namespace tenon

#endif // TENON_TOOLS_TENON_SMOOTHING_H
