//===- DepthPieces.h - Several blocks share the steps of k ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a product has too few parts for a large device, several blocks sum a
// part, each over a piece of k. Each leaves its sums in memory that the launch
// shares and counts itself; who counts last adds them all, in the order of k,
// so that results do not depend on who that is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_DEPTHPIECES_H
#define TENON_DIALECTS_KERNEL_DEPTHPIECES_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// Parts of a result have a counter each, of 4 bytes; behind them lie sums.
/// That much memory starts as zeros.
constexpr int64_t countedParts = 128, counterBytes = countedParts * 4;

/// Pieces of k for each of so many parts: 1 where there are parts enough, and
/// never more than `most`.
Expr depthPieces(Expr parts, int64_t wantedBlocks, Expr most);

/// Bytes that the pieces share: counters, and `partBytes` of sums for each.
Expr pieceBytes(Expr parts, Expr pieces, int64_t partBytes);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_DEPTHPIECES_H
