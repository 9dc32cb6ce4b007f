//===- Packing.h - The packed layout of matmul weights --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight [K, N] packed for the PackedMatmul schedule is
// [ceil(N / panelColumns)][K][panelColumns]: a panel is one contiguous stream,
// read once per block of rows. Columns past N are zero. The layout is the same
// for all CPU levels.
//
// A row of the launch is one panel times one block of `blockRows` rows of the
// left operand: row r is panel r / blocks and block r % blocks, where blocks =
// ceil(M / blockRows), so that a thread's share is contiguous in the weights.
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

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PACKING_H
