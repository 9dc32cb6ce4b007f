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
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PACKING_H
#define TENON_DIALECTS_KERNEL_PACKING_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tenon::kernel {

inline constexpr llvm::StringLiteral packedLayout = "packed48";
inline constexpr int64_t panelColumns = 48;
inline constexpr int64_t blockRows = 64;
inline constexpr int64_t groupBlocks = 2;

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PACKING_H
