//===- FragmentPanels.h - Weights of few bits for devices -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts "nibbles32", "bytes32", "quads32" and "sides32", and those with
// "_halves" behind: see dialects/Kernel/FragmentLayout.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PACKAGE_FRAGMENTPANELS_H
#define TENON_COMPILER_PACKAGE_FRAGMENTPANELS_H

#include "compiler/Package/WeightPlan.h"
#include "dialects/Kernel/FragmentLayout.h"

namespace tenon {

/// Bytes of a weight in such a layout; nullopt when it cannot have it.
std::optional<uint64_t> fragmentBytes(const Weight &weight,
                                      const kernel::FragmentLayout &layout);

void packFragments(const PlacedWeight &placed,
                   const kernel::FragmentLayout &layout, ByteSink sink);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_FRAGMENTPANELS_H
