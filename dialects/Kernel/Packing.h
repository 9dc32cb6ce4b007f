//===- Packing.h - The packed layout of matmul weights --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight [K, N] packed for the PackedMatmul schedule is
// [ceil(N / panelColumns)][K][panelColumns]: a panel is one contiguous stream,
// read once per block of rows. Columns past N are zero. The layout is the same
// for all CPU levels.
//
// A row of the launch is one panel times one block of `blockRows` rows of the
// left operand. Blocks come in groups of `groupBlocks` (the last group may be
// smaller); within a group, panels follow each other and each has the group's
// blocks in order. So a thread's share is contiguous in the weights, and the
// group's part of the left operand stays in its cache.
//
// K is cut into blocks of `blockDepth` steps. Where the rows of the left
// operand lie a multiple of 4 KiB apart, they meet in the same few sets of the
// caches: there a group's slice of it is first copied, eight rows interleaved,
// to scratch memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PACKING_H
#define TENON_DIALECTS_KERNEL_PACKING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace tenon::kernel {

inline constexpr llvm::StringLiteral packedLayout = "packed48";
inline constexpr int64_t panelColumns = 48;
inline constexpr int64_t blockRows = 64;
inline constexpr int64_t groupBlocks = 2;
/// Rows of the left operand that a copy interleaves.
inline constexpr int64_t interleavedRows = 8;

/// The steps of k in a block: equal blocks, of a multiple of 16 unless there is
/// one alone, that leave room in the second level of the cache.
inline int64_t blockDepth(int64_t depth) {
  constexpr int64_t maxDepth = 768;
  int64_t blocks = llvm::divideCeil(depth, maxDepth);
  return blocks == 1 ? depth
                     : llvm::alignTo(llvm::divideCeil(depth, blocks), 16);
}

/// Whether the left operand is copied. Such depths are a multiple of 16.
inline bool copiesLhs(int64_t depth) { return depth > 0 && depth % 1024 == 0; }

/// Bytes of scratch memory per thread for the copy.
inline int64_t lhsCopyBytes(int64_t depth) {
  return copiesLhs(depth) ? groupBlocks * blockRows * blockDepth(depth) * 4 : 0;
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PACKING_H
