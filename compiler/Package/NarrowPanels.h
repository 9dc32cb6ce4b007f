//===- NarrowPanels.h - Panels of numbers that are not f32 ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel reads of a quantized weight (see dialects/Kernel/
// QuantizedRhs.h), matrices [K, N]:
//
//   "lines48"    any elements as [ceil(N / 48)][K][48], padded with 0
//   "nibbles48"  numbers of 4 bits as [ceil(N / 48)][ceil(K / 8)][48] words of
//                32 bits: eight steps of k of a column, the first one lowest,
//                padded with 0
//
// and both with "_halves" behind: of the left and the right half of the
// columns, their panels in turn. In "rows48" a matrix [N, K] of 8 bits lies as
// its transpose does in "lines48".
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PACKAGE_NARROWPANELS_H
#define TENON_COMPILER_PACKAGE_NARROWPANELS_H

#include "compiler/Package/WeightPlan.h"

namespace tenon {

/// Whether that is such a layout, for the weight.
bool isNarrowLayout(llvm::StringRef layout, const Weight &weight);

/// Produces the bytes of the tensor of a weight whose numbers have 4 bits each
/// in the store.
void widenNibbles(const Weight &weight, ByteSink sink);

/// Bytes of a weight in such a layout; nullopt when it cannot have it.
std::optional<uint64_t> narrowBytes(const Weight &weight,
                                    llvm::StringRef layout);

void packNarrow(const PlacedWeight &placed, ByteSink sink);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_NARROWPANELS_H
